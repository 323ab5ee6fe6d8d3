"""A year in the life of a store, simulated: what users say, and what must hold of what is kept."""
