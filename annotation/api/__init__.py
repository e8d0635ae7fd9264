"""The REST API of campaigns and of a person's work: the same `submit`, the same permissions."""
