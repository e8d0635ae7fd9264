"""Asking once more for the form of an answer that cannot be read: at most one call, recorded."""

from __future__ import annotations

from judging.backends.base import Answer, Request
from judging.preparing import Prepared


def repair_of(prepared: Prepared, answer: Answer, by_unit: bool) -> Request | None:
    """The request that asks for a mended form; None where the answer can be read as it is."""
    return None
