"""Seals after each change in a test, and checks in the end that nothing looks like tampering.

`SEAL_EACH_CHANGE=1 pytest tests/annotation` runs any tests in this way. It takes several times as
long, and tests that count queries fail. Tests whose name says that they tamper are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from audit.sealed.checking import SealedCounts, find_changes
from audit.seals import find_broken_seals, seal

ON = os.environ.get("SEAL_EACH_CHANGE") == "1"


@contextmanager
def sealed_after_each_change() -> Iterator[None]:
    """Seal whenever a transaction ends within the block."""
    depth, enter, leave = 0, transaction.Atomic.__enter__, transaction.Atomic.__exit__
    sealing = False

    def entering(self: Any) -> None:
        nonlocal depth
        enter(self)
        depth += 1

    def leaving(self: Any, *error: Any) -> None:
        nonlocal depth, sealing
        depth -= 1
        leave(self, *error)
        if depth or sealing or error[0] is not None or connection.needs_rollback:
            return
        sealing = True
        try:
            seal()
        finally:
            sealing = False

    transaction.Atomic.__enter__, transaction.Atomic.__exit__ = entering, leaving  # type: ignore[method-assign]
    try:
        yield
    finally:
        transaction.Atomic.__enter__, transaction.Atomic.__exit__ = enter, leave  # type: ignore[method-assign]


def untampered() -> list[str]:
    """Return what the checks of seals say of this database: nothing, after legitimate changes."""
    return [str(each) for each in find_changes(SealedCounts())] + list(find_broken_seals())
