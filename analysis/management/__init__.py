"""Commands of `manage.py` for reports, measures, progress and the demonstration."""
