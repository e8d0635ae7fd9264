"""A campaign's status, how each person works, and quality flags."""
