"""MySQL and MariaDB, asked about themselves."""
