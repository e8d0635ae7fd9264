"""The REST API of reports and measures."""
