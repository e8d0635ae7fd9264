"""The database: bulk writing, queries prepared once, and which version has migrated it."""
