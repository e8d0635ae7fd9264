"""What counts as a wrong guess and for how long, and the exact waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import LogInCount, User
from annotation.people import login_limits
from annotation.people.login_limits import (
    Guess,
    Status,
    digest_of,
    forget,
    give_back,
    network_of,
    remember,
    status,
    statuses,
    take,
    unlock,
    unlock_all,
    wait,
)
from audit.models import Event
from tests.databases import rolling_back

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TICK, SECOND, MINUTE = timedelta(microseconds=1), timedelta(seconds=1), timedelta(minutes=1)
HOUR, DAY, NONE = timedelta(hours=1), timedelta(days=1), timedelta(0)
TRIES = {"address": 2, "device": 2, "account": 3, "network": 4, "code": 2, "codes": 3}
GROWING = [each * MINUTE for each in (1, 2, 4, 8, 16, 32, 60, 60, 60)]
WAITS = {
    "address": GROWING, "device": GROWING, "code": GROWING,
    "account": [MINUTE] * 9, "network": [10 * SECOND] * 9, "codes": [10 * MINUTE] * 9,
}  # fmt: skip
WINDOWS = dict.fromkeys(TRIES, DAY) | {"network": HOUR}
FROM_LAST = ("address", "device", "code")


@pytest.fixture(autouse=True)
def now(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LOGIN_TRIES = TRIES
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def counts_of(kind: str) -> list[tuple[str, str, str]]:
    return [(kind, "name", "source")]


def row(kind: str, account: str = "ada", wrong: int = 0, **changes: Any) -> LogInCount:
    changes = {"since": NOW, "last_at": NOW, "source": "s", **changes}
    return LogInCount.objects.create(kind=kind, account=digest_of(account), wrong=wrong, **changes)


def left() -> set[tuple[str, int]]:
    return set(LogInCount.objects.values_list("kind", "wrong"))


@pytest.mark.every_case
@pytest.mark.parametrize("kind", TRIES)
def test_each_guess_after_the_free_ones_costs_a_longer_wait(kind: str) -> None:
    counts, at, waits = counts_of(kind), NOW, []
    assert [take(counts, NOW) for _ in range(TRIES[kind])] == [NONE] * TRIES[kind]
    for _ in WAITS[kind]:
        waits.append(wait(counts, at))
        assert take(counts, at) == waits[-1]
        at += waits[-1]
        assert take(counts, at - TICK) == SECOND, "in whole seconds, and not counted"
        assert wait(counts, at) == NONE
        assert take(counts, at) == NONE
    assert waits == WAITS[kind]


@pytest.mark.every_case
@pytest.mark.parametrize("kind", TRIES)
def test_guesses_expire_counted_from_the_first_or_the_last_depending_on_the_kind(kind: str) -> None:
    counts, end = counts_of(kind), NOW + WINDOWS[kind]
    for _ in range(TRIES[kind]):
        take(counts, NOW)
    with rolling_back():
        assert take(counts, end - TICK) == NONE
        assert wait(counts, end - TICK) == WAITS[kind][kind in FROM_LAST]
    with rolling_back():
        assert take(counts, end) == NONE
        found = LogInCount.objects.get()
        assert (found.wrong, found.since, found.last_at) == (1, end, end)
    assert take(counts, end - HOUR / 2) == NONE
    assert take(counts, end) == NONE
    assert LogInCount.objects.get().wrong == (TRIES[kind] + 2 if kind in FROM_LAST else 1)


def test_a_wait_ends_no_later_than_its_guesses_expire() -> None:
    row("network", "name", 4, last_at=NOW + HOUR - 5 * SECOND)
    counts = [("network", digest_of("name"), "s")]
    assert wait(counts, NOW + HOUR - TICK) == 5 * SECOND + TICK
    assert wait(counts, NOW + HOUR) == NONE


def test_the_longest_wait_applies_and_a_refused_guess_is_not_counted() -> None:
    row("address", wrong=3)
    row("account", wrong=1)
    row("address", "ben", 9)
    row("address", wrong=9, source="elsewhere")
    ada = digest_of("ada")
    counts = [("account", ada, "s"), ("address", ada, "s")]
    assert take(counts, NOW) == 2 * MINUTE
    assert left() == {("address", 3), ("account", 1), ("address", 9)}
    assert wait([("account", ada, "s")], NOW) == NONE
    assert wait([], NOW) == NONE


class TestSourceOfAGuess:
    def test_a_known_browser_is_counted_separately(self) -> None:
        guess = Guess("ada", "10.0.0.1", "key")
        name, key = digest_of("ada"), digest_of("key")
        assert guess.passwords() == [("device", name, key)]
        assert guess.codes() == [("code", name, key), ("codes", name, "")]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("account", "address", "age", "is_known"),
        [
            ("ada", "10.0.0.1", timedelta(days=180) - TICK, True),
            ("ada", "10.0.0.1", timedelta(days=180), False),
            ("ben", "10.0.0.1", NONE, False),
            ("ada", "10.0.0.2", NONE, False),
        ],
    )
    def test_a_known_address_is_counted_separately_and_with_its_network(
        self, account: str, address: str, age: timedelta, is_known: bool
    ) -> None:
        row("known", account, source=network_of(address), last_at=NOW - age)
        name, source = digest_of("ada"), network_of("10.0.0.1")
        guess = Guess("ada", "10.0.0.1")
        together = [] if is_known else [("account", name, "")]
        assert guess.passwords() == [("address", name, source), *together, ("network", "", source)]
        assert guess.codes() == [("code", name, source), ("codes", name, "")]

    def test_a_wrong_guess_makes_no_address_known(self) -> None:
        row("address", source=network_of("10.0.0.1"))
        assert len(Guess("ada", "10.0.0.1").passwords()) == 3

    def test_ipv6_addresses_are_counted_by_their_64_bit_prefix(self) -> None:
        assert network_of("2001:db8::1") == network_of("2001:db8::ffff:0:0:1")
        assert network_of("2001:db8::1") == digest_of("2001:db8::/64")
        assert network_of("2001:db8::1") != network_of("2001:db8:0:1::1")
        assert network_of("::ffff:10.0.0.1") == network_of("10.0.0.1") == digest_of("10.0.0.1")
        assert network_of("no address") == digest_of("no address") != digest_of("")
        assert len(digest_of("ada")) == 32


def test_a_right_password_clears_its_own_count_and_lowers_shared_counts_by_one() -> None:
    for kind in TRIES:
        row(kind, wrong=2)
    row("address", "ben", 2)
    row("network", "ben", 0)
    give_back([(kind, digest_of("ada"), "s") for kind in TRIES])
    give_back([("network", digest_of("ben"), "s")])
    assert left() == {
        ("account", 1), ("network", 1), ("codes", 1), ("address", 2), ("network", 0),
    }  # fmt: skip


class TestRemembering:
    def test_expired_counts_are_deleted(self) -> None:
        for age in (timedelta(days=180), timedelta(days=180) + TICK):
            row("known", source=str(age), last_at=NOW - age)
        for age in (2 * DAY, 2 * DAY + TICK):
            row("address", source=str(age), last_at=NOW - age)
        remember("ben", "10.0.0.1")
        assert set(LogInCount.objects.values_list("kind", "source")) == {
            ("known", str(timedelta(days=180))),
            ("address", str(2 * DAY)),
            ("known", network_of("10.0.0.1")),
        }

    @pytest.mark.every_case
    @pytest.mark.parametrize(("age", "noted"), [(DAY, False), (DAY + TICK, True)])
    def test_a_known_address_is_updated_once_a_day(self, age: timedelta, noted: bool) -> None:
        before = NOW - age
        known = row("known", source=network_of("10.0.0.1"), since=before, last_at=before)
        other = row("known", "ben", source=network_of("10.0.0.1"), last_at=before)
        remember("ada", "10.0.0.1")
        known.refresh_from_db()
        other.refresh_from_db()
        assert (known.since, known.last_at) == (before, NOW if noted else before)
        assert other.last_at == before
        assert LogInCount.objects.count() == 2

    def test_a_new_address_is_known_from_now_on(self) -> None:
        remember("ada", "10.0.0.1")
        found = LogInCount.objects.get()
        assert (found.kind, found.account, found.source) == (
            "known", digest_of("ada"), network_of("10.0.0.1")
        )  # fmt: skip
        assert (found.since, found.last_at, found.wrong) == (NOW, NOW, 0)


@pytest.fixture
def ada() -> User:
    return User.objects.create(username="ada")


class TestStatus:
    def test_the_status_counts_guesses_by_source_and_says_if_the_account_is_slowed(
        self, ada: User
    ) -> None:
        ben = User.objects.create(username="ben")
        row("address", wrong=3, source="a")
        row("address", wrong=2, source="b")
        row("device", wrong=1)
        row("code", wrong=1)
        row("account", wrong=2)
        row("codes", wrong=2)
        row("known", wrong=9)
        row("network", wrong=9)
        row("address", "ben", 0)
        assert statuses([ada, ben]) == {ada.pk: Status(7, 4, NOW + 2 * MINUTE, slowed=False)}
        assert status(ben) is None
        row("account", "ben", 3)
        assert status(ben) == Status(0, 0, None, slowed=True)
        row("address", "ben", 1, source="b")
        assert status(ben) == Status(1, 1, None, slowed=True)

    def test_codes_are_slowed_down_like_passwords(self, ada: User) -> None:
        row("codes", wrong=3)
        assert status(ada) == Status(0, 0, None, slowed=True)

    def test_guesses_do_not_count_after_a_day(self, ada: User) -> None:
        row("address", wrong=5, last_at=NOW - DAY)
        assert status(ada) is None
        row("address", wrong=5, source="b", last_at=NOW - DAY + TICK)
        assert status(ada) == Status(5, 1, None, slowed=False)

    def test_a_wait_that_is_over_blocks_nothing(self, ada: User) -> None:
        row("address", wrong=2, last_at=NOW - MINUTE)
        assert status(ada) == Status(2, 1, None, slowed=False)
        row("device", wrong=2, last_at=NOW - MINUTE + TICK)
        assert status(ada) == Status(4, 2, NOW + TICK, slowed=False)


class TestUnlocking:
    def test_an_account_is_unlocked_once_and_its_addresses_stay_known(self, ada: User) -> None:
        row("address", wrong=2)
        row("codes", wrong=2)
        row("known")
        row("address", "ben", 4)
        assert unlock(ada)
        assert left() == {("known", 0), ("address", 4)}
        assert not unlock(ada)
        event = Event.objects.get(event="login.unlocked")
        assert (event.object_kind, event.object_id) == ("account", str(ada.pk))

    def test_an_unlocking_that_cannot_be_recorded_is_undone(
        self, ada: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row("address", wrong=2)
        monkeypatch.setattr(login_limits, "record", Mock(side_effect=RuntimeError))
        with pytest.raises(RuntimeError):
            unlock(ada)
        assert left() == {("address", 2)}

    def test_all_are_unlocked_at_once(self) -> None:
        row("address", wrong=2)
        row("network", wrong=2)
        row("known")
        assert unlock_all() == 2
        assert left() == {("known", 0)}
        assert Event.objects.get(event="login.unlocked").facts == {"counts": 2}

    def test_deleting_an_account_deletes_its_counts(self, ada: User) -> None:
        row("address", wrong=2)
        row("known")
        row("known", "ben")
        forget(ada)
        assert LogInCount.objects.get().account == digest_of("ben")
