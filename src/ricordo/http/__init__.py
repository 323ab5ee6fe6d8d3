"""The HTTP service: ``app.py`` puts it together, ``routes/`` has what it offers."""
