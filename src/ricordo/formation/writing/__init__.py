"""How a memory is written, and what it rests on."""
