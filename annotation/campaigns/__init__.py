"""A campaign's fixed design, its changeable settings, and the seeded sampling behind it."""
