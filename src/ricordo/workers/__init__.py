"""Processes of their own that run background jobs."""
