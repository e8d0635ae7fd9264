"""Addresses as operators write them, and waits as servers write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from judging.backends.addresses import join_path, parse_base_url
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
        ("https://h/v1/?api-version=2024-10-21", "https://h/v1?api-version=2024-10-21"),
        ("https://h/openai/deployments/gpt-4o", "https://h/openai/deployments/gpt-4o"),
        (
            "https://h/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
            "https://h/openai/deployments/gpt-4o?api-version=2024-10-21",
        ),
        ("https://h/models?api-version=2024-05-01", "https://h/models?api-version=2024-05-01"),
        ("https://h/llm?team=a", "https://h/llm/v1?team=a"),
        ("https://h/v1?key={MY_KEY}", "https://h/v1?key={MY_KEY}"),
    ],
)
def test_a_missing_api_version_is_added_to_the_address(written: str, base: str) -> None:
    assert parse_base_url(written, PUBLIC_URL) == base


@pytest.mark.every_case
@pytest.mark.parametrize(
    "written",
    [
        "127.0.0.1:8000",
        "ftp://h",
        "http://",
        "http://u:p@h",
        "http://h/?key=x",
        "http://h:99999",
        "http://h/#x",
        "http://h/v1?api-key=x",
        "http://h/v1?a=b&access_token=x",
        "http://h/v1?Subscription-Key=x",
        "http://h/v1?key={my key}",
        "http://h/v1?a={B}c",
    ],
)
def test_an_invalid_address_is_refused(written: str) -> None:
    with pytest.raises(SetupError):
        parse_base_url(written, PUBLIC_URL)


def test_a_secret_in_an_address_is_refused_without_repeating_it() -> None:
    for written in ("http://h/v1?key=sk-secret", "ftp://h/?key=sk-secret", "http://[/?k=sk-secret"):
        with pytest.raises(SetupError) as caught:
            parse_base_url(written, PUBLIC_URL)
        assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "path", "whole"),
    [
        ("https://h/v1", "chat/completions", "https://h/v1/chat/completions"),
        ("https://h/a/v1/b?x=1", "/version", "https://h/a/version?x=1"),
        ("https://h/v1?x=1", "models?limit=9", "https://h/v1/models?x=1&limit=9"),
    ],
)
def test_a_path_comes_before_the_query(base: str, path: str, whole: str) -> None:
    assert join_path(base, path) == whole


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
        ({"retry-after": "3600"}, 3600.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "7200000"}, 7200.0),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
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
