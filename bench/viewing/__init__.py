"""The pages of a large store: filling it, and asking for each page."""
