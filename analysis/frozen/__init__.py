"""Frozen reports: stored as they were, and two of them compared."""
