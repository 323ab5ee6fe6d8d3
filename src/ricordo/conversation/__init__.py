"""Long conversations: the window that is shown, and what came before it in short."""
