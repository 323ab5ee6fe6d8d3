"""Looking over what is stored."""
