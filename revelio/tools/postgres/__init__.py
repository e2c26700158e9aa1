"""PostgreSQL, asked about itself."""
