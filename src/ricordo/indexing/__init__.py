"""Keeping the search index filled: which model makes a user's vectors, and making them."""
