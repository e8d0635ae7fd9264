"""Reading very many rows, without a search for garbage among them meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """While objects are made that all stay, Python does not look for cycles among them.

    Each such search goes through all that was made before, a tenth of the time of a report. It is
    the whole process that does not search; of two threads in here, the first to end lets it go on.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
