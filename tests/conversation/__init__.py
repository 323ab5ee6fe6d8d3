"""Long conversations and chatting."""
