"""Measurements. ``python -m bench`` prints them; nothing here asserts a time."""
