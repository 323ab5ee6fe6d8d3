"""Workers on Celery, as real processes over real brokers."""
