"""The documentation: it builds, leads nowhere wrong, leaves nothing out and tells the truth."""
