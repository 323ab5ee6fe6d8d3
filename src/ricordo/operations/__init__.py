"""One description of each operation, from which every surface is derived."""
