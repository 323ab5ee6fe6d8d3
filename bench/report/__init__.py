"""One report of everything that is measured: each section in a process of its own, then pages."""
