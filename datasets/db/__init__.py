"""Fast ways to the database: bulk writing, and queries prepared once."""
