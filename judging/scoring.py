"""Scores from the probabilities that a server gives with its tokens."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.answer import Detail
from judging.backends.base import Answer
from judging.preparing import Prepared

Details = Mapping[tuple[str, str], Detail]


def details_of(prepared: Prepared, answer: Answer, by_unit: bool) -> Details:
    """Score and label mass for each variable, by unit name (the stored one) and variable."""
    return {}
