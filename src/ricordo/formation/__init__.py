"""Formation: turns conversations into memories."""
