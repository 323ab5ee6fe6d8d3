"""The web page: what is remembered, for people to look at."""
