"""Long conversations: the window that is shown, and a summary of what came before it."""
