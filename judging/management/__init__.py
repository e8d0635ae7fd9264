"""Commands of `manage.py` for judges and preparation."""
