"""The databases: one description of the schema, one filter builder, two dialects."""
