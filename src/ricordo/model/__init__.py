"""Pure values: what a memory is, how it may change, who may ask. No I/O, no dependencies."""
