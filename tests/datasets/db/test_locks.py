"""A process that freezes within a brief transaction loses it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.db import connection

from datasets.db import locks


@pytest.mark.django_db
def test_postgresql_ends_a_transaction_whose_process_freezes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statements: list[tuple[str, int]] = []

    class Cursor:
        def __enter__(self) -> Cursor:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def execute(self, statement: str) -> None:
            statements.append((statement, len(connection.savepoint_ids)))

    outside, fake = len(connection.savepoint_ids), SimpleNamespace(vendor="sqlite", cursor=Cursor)
    monkeypatch.setattr(locks, "connection", fake)
    with locks.brief_transaction():
        assert len(connection.savepoint_ids) == outside + 1
    assert statements == []
    fake.vendor = "postgresql"
    with locks.brief_transaction():
        pass
    limit = "SET LOCAL idle_in_transaction_session_timeout = '30s'"
    assert statements == [(limit, outside + 1)], "it ends with the transaction"
