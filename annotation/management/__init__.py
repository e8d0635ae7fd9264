"""Commands of `manage.py` for campaigns, people and labels."""
