"""Which agent may read which categories, as a policy file says."""
