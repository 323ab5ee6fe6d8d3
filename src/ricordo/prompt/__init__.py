"""What reaches a model: prompts within a budget of tokens."""
