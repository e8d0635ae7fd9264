"""The REST face: what all its addresses share, and batches."""
