"""Rate limits are exact, separate for each account and campaign, and renewed in each window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from rest_framework.settings import api_settings

from datasets.api import concurrency
from datasets.api.concurrency import PerExport, PerUser, seconds_to_wait

MOMENT = 7200


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Allow three requests a minute per account and two exports an hour; no limit on others."""
    now = [MOMENT]
    rates = {"user": "3/min", "export": "2/h"}
    monkeypatch.setattr(api_settings, "DEFAULT_THROTTLE_RATES", rates)
    monkeypatch.setattr(concurrency, "_now", lambda: now[0])
    return now


def asks(limit: PerUser, user: int = 1, campaign: int = 1) -> bool:
    request: Any = SimpleNamespace(user=SimpleNamespace(pk=user), query_params={})
    view: Any = SimpleNamespace(kwargs={"pk": campaign})
    return limit.allow_request(request, view)


def test_requests_up_to_the_limit_pass_in_each_window(clock: list[int]) -> None:
    assert [asks(PerUser()) for _ in range(5)] == [True, True, True, False, False]
    assert asks(PerUser(), user=2)
    clock[0] += 59
    assert not asks(PerUser())
    clock[0] += 1
    assert [asks(PerUser()) for _ in range(4)] == [True, True, True, False]


def test_exports_are_counted_for_each_campaign(clock: list[int]) -> None:
    assert [asks(PerExport(), campaign=1) for _ in range(3)] == [True, True, False]
    assert asks(PerExport(), campaign=2)
    assert asks(PerUser())


def test_a_refused_request_says_when_the_window_ends(clock: list[int]) -> None:
    limit = PerUser()
    asks(limit)
    assert limit.wait() == 60
    clock[0] += 59
    assert limit.wait() == 1


def test_pages_and_api_share_one_count(clock: list[int]) -> None:
    assert asks(PerExport(), user=1, campaign=5)
    clock[0] += 600
    assert seconds_to_wait("export", 1, 5) is None
    assert seconds_to_wait("export", 1, 5) == 3000
    assert not asks(PerExport(), user=1, campaign=5)
    assert seconds_to_wait("export", 2, 5) is None
    assert seconds_to_wait("export", 1, 6) is None


def test_a_kind_of_request_without_a_limit_is_never_refused(clock: list[int]) -> None:
    class PerNothing(PerUser):
        scope = "nothing"

    assert all(asks(PerNothing()) for _ in range(9))
    assert {seconds_to_wait("nothing", 1) for _ in range(9)} == {None}


def test_a_count_that_the_cache_dropped_starts_again(
    clock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def dropped(key: str) -> int:
        raise ValueError(key)

    with monkeypatch.context() as patch:
        patch.setattr(cache, "incr", dropped)
        assert asks(PerUser())
    assert [asks(PerUser()) for _ in range(3)] == [True, True, False]
