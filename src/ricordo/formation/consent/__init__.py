"""What is sensitive, and the say of the user on it."""
