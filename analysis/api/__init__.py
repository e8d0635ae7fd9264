"""The REST face of reports: the live one, and those that were frozen."""
