"""Many clients of the service at once, and what became of each of their requests."""
