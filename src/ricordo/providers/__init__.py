"""Models behind one guarded client: embeddings, local or remote, and chat."""
