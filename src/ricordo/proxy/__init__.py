"""Chats with memory in front of any model: what is said passes as it is, and is remembered."""
