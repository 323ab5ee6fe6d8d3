"""A service that people work with while strangers send it all that they can think of."""
