"""How the database came to be what it is: Alembic migrations, applied at start."""
