"""How much one answer may hold. Files are not held to it: what was once written is history."""

from __future__ import annotations

LONGEST_COMMENT = 10_000
LONGEST_TEXT = 50_000
LONGEST_QUOTE = 200_000
MOST_QUOTES = 200
MOST_CITATIONS = 200
MOST_POINTS = 100
LONGEST_POINT = 2_000


def too_long(most: int) -> str:
    return f"is longer than {most:,} characters; shorten it"


def too_many(most: int, what: str) -> str:
    return f"holds more than {most} {what}; keep those that matter most"
