"""Raters that are models: judges, their runs over campaigns, and every call they made."""
