"""Redis, asked about itself."""
