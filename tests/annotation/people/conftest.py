"""Fixtures for the tests of people."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def _fresh_limits() -> Iterator[None]:
    """All tests come from one address, which other tests used a lot."""
    cache.clear()
    yield
    cache.clear()
