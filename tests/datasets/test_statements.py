"""Statements are not kept, not even in development, unless somebody counts them."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from datasets.models import Batch


def test_no_statement_is_kept_with_debug(db: None, settings: pytest.FixtureRequest) -> None:
    settings.DEBUG = True  # type: ignore[attr-defined]
    before = len(connection.queries_log)
    assert not Batch.objects.filter(name="none").exists()
    assert len(connection.queries_log) == before
    with CaptureQueriesContext(connection) as counted:
        assert not Batch.objects.filter(name="none").exists()
    assert len(counted) == 1
