"""Commands of `manage.py` for batches."""
