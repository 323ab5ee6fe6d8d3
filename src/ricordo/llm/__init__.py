"""Asking a language model over the OpenAI wire format."""
