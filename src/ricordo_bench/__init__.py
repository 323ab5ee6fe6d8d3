"""Measuring: how well the right turns are found, and how fast. ``ricordo bench`` shows it."""
