"""Fixtures for the tests of people."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def _fresh_limits() -> Iterator[None]:
    """Reset the limits of the network address that all tests share."""
    cache.clear()
    yield
    cache.clear()
