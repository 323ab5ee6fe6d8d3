"""What programs keep beside memories: states of conversations and graphs, entries of stores."""
