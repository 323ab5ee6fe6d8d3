"""Backups: one SQLite file with every row of a store, and what its rows must add up to."""
