"""Notes of what is shown of others' answers while a request is answered or a job is computed.

The functions that read answers add a note (`annotation.exposure.ledger`), and the code that shows
the result collects the notes: a request records them in the ledger. A cache or a job stores
them with its result, since they are plain JSON, and delivers them when somebody gets the result.
This module knows nothing of answers, so that jobs can use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Note = dict[str, Any]
_notes: ContextVar[list[Note] | None] = ContextVar("notes_of_what_is_shown", default=None)


def is_collecting() -> bool:
    """Whether a note would be kept, so that callers can save the work of writing one."""
    return _notes.get() is not None


@contextmanager
def collect_looks() -> Iterator[list[Note]]:
    """Collect the notes that are added inside, without passing them on."""
    notes: list[Note] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def deliver(notes: Iterable[Note]) -> None:
    """Add notes that were collected when a result was computed, since it is shown now."""
    collecting = _notes.get()
    if collecting is not None:
        collecting += [dict(note) for note in notes]
