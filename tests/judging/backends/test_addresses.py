"""Addresses as operators write them, and waits as servers write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from judging.backends.addresses import parse_base_url
from judging.backends.base import SetupError
from judging.backends.openai import PUBLIC_URL
from judging.backends.transport import parse_retry_wait

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("written", "base"),
    [
        ("", PUBLIC_URL),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("https://h/llm", "https://h/llm/v1"),
        ("https://h/v1beta/openai", "https://h/v1beta/openai"),
        ("https://h/v1/chat/completions", "https://h/v1"),
    ],
)
def test_a_missing_api_version_is_added_to_the_address(written: str, base: str) -> None:
    assert parse_base_url(written, PUBLIC_URL) == base


@pytest.mark.every_case
@pytest.mark.parametrize(
    "written",
    ["127.0.0.1:8000", "ftp://h", "http://", "http://u:p@h", "http://h/?key=x", "http://h:99999"],
)
def test_an_invalid_address_is_refused(written: str) -> None:
    with pytest.raises(SetupError):
        parse_base_url(written, PUBLIC_URL)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after": "200ms"}, 0.2),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, None),
        ({"retry-after": "1000000000"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "after lunch"}, None),
        ({"x-ratelimit-reset-requests": "2s", "x-ratelimit-reset-tokens": "6m0s"}, 2.0),
        ({"x-ratelimit-reset-requests": "2s", "x-ratelimit-reset-tokens": "9s"}, 9.0),
        ({"retry-after": "1", "x-ratelimit-reset-tokens": "9s"}, 1.0),
    ],
)
def test_every_form_of_a_retry_wait_is_read(headers: dict[str, str], wait: float | None) -> None:
    assert parse_retry_wait(headers, NOW) == wait
