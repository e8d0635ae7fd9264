"""Assigning items to people, and what a person may see beside an item."""
