"""State of programs: checkpoints of conversations and graphs, entries of key-value stores."""
