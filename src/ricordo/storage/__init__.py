"""The databases: one schema, one filter builder, two dialects."""
