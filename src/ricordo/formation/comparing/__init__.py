"""Holding what was said against what is known."""
