"""Adding, reading, changing, sharing and deleting memories."""
