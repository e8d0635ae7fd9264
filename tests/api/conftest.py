"""Fixtures shared by the tests of the API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from tests.analysis.conftest import _few_resamples  # noqa: F401
from tests.once import once
from tests.page_cast import Study, make_study


@pytest.fixture(autouse=True)
def _fresh_limits() -> Iterator[None]:
    """Reset the limits, which accounts with the same ids in other tests have used up."""
    cache.clear()
    yield
    cache.clear()


@once
def study() -> Study:
    return make_study()
