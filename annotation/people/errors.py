"""What cannot be done with people."""

from __future__ import annotations


class PeopleError(ValueError):
    """What is wrong, and what to do, in one sentence without a full stop."""
