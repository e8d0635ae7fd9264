"""What the tests of the API share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from tests.analysis.conftest import _few_resamples  # noqa: F401
from tests.once import once
from tests.page_cast import Study, make_study


@pytest.fixture(autouse=True)
def _fresh_limits() -> Iterator[None]:
    """Accounts of other tests had the same numbers, and asked a lot."""
    cache.clear()
    yield
    cache.clear()


@once
def study() -> Study:
    return make_study()
