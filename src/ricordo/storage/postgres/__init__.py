"""PostgreSQL through psycopg 3, for many users and machines."""
