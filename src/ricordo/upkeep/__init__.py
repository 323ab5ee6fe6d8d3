"""The work that keeps memory clean, done in the background."""
