"""Chromium, for the module here that needs a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.analysis.conftest import _few_resamples  # noqa: F401
from tests.browser.chromium import started
from tests.browser.conftest import context, requests  # noqa: F401


@pytest.fixture(scope="module")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    """Close the browser after its module, since other modules here start event loops."""
    with started() as browser:
        yield browser
