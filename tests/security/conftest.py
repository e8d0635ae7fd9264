"""Chromium, as the tests of the pages use it."""

from __future__ import annotations

from tests.browser.conftest import chromium, context  # noqa: F401
