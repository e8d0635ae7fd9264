"""Names that the prepared study and its client share."""

from __future__ import annotations

PASSWORD = "a-word-for-a-benchmark"
QUOTE = 40


def name_of(number: int) -> str:
    return f"person{number}"
