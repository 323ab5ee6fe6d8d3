"""Bringing memories in and out as files."""
