"""Background work: a durable queue in the database and a thread that works it off."""
