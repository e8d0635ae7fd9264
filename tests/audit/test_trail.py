"""The audit trail: what an event holds, what a seal covers, and how faults are reported."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db import IntegrityError
from django.test import RequestFactory
from django.utils import timezone

from annotation.models import Campaign, User
from audit import seals
from audit.models import Event, Seal
from audit.recording import (
    COMMAND,
    Actor,
    address_class,
    build_event,
    current_actor,
    digest_of,
    folded,
    on_behalf,
    record,
    record_export,
    was_exported,
    write,
)
from audit.seals import (
    count_unsealed,
    describe_seal,
    digest_over,
    find_broken_seals,
    is_seal,
    line,
    seal,
)
from tests.audit.test_seals import a_thief
from tests.page_cast import _user

SITE = 0
START = "0" * 64

database = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class TestEvents:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("of", "kind", "key"),
        [(None, "", ""), (("account", 5), "account", "5"), (("account", None), "account", ""),
         (("account", 0), "account", "0"), (Campaign(pk=9), "campaign", "9"),
         (User(pk=3), "user", "3")],
    )  # fmt: skip
    def test_an_event_names_the_object_that_it_changed(self, of: Any, kind: str, key: str) -> None:
        event = build_event("login", 4, of, {"a": 1}, {"a": 2}, by=6, n=1)
        assert (event.event, event.campaign, event.who) == ("login", 4, 6)
        assert (event.object_kind, event.object_id) == (kind, key)
        assert event.before == digest_of(kind, key, {"a": 1})
        assert event.after == digest_of(kind, key, {"a": 2}) != event.before
        assert event.facts == {"n": 1}

    def test_the_actor_is_the_requests_account_unless_another_is_named(self) -> None:
        with on_behalf(Actor(lambda: 4, "r", "private")):
            assert (build_event("login").who, build_event("login", by=0).who) == (4, 0)
            assert (build_event("login").request, build_event("login").address) == ("r", "private")
        nobody = build_event("login")
        assert (nobody.who, nobody.request, nobody.address) == (None, "", "command")
        assert current_actor() is COMMAND

    def test_the_actor_is_reset_when_a_request_fails(self) -> None:
        with pytest.raises(RuntimeError), on_behalf(Actor(lambda: 4)):
            raise RuntimeError
        assert current_actor() is COMMAND
        with on_behalf(Actor(lambda: 4)):
            with on_behalf(Actor(lambda: 5)):
                assert current_actor().who() == 5
            assert current_actor().who() == 4

    @pytest.mark.every_case
    @pytest.mark.parametrize("fact", [None, 0, 7, True, False, "", "x" * 60, "a.b_c:d+e-f9"])
    def test_numbers_and_plain_words_are_accepted_as_facts(self, fact: Any) -> None:
        assert build_event("login", fact=fact).facts == {"fact": fact}

    @pytest.mark.every_case
    @pytest.mark.parametrize("fact", ["x" * 65, "a b", "a\n", "é", 0.5, b"a", ["a"]])
    def test_other_values_are_refused_as_facts(self, fact: Any) -> None:
        with pytest.raises(ValueError, match="the fact fact is neither"):
            build_event("login", fact=fact)

    @pytest.mark.every_case
    @pytest.mark.parametrize("state", ["", 0, False, [], {}])
    def test_an_empty_state_has_a_digest_and_no_state_has_none(self, state: object) -> None:
        assert len(digest_of("a", "1", state)) == 64
        assert digest_of("a", "1", None) == ""

    def test_a_digest_depends_on_kind_key_and_state_but_not_on_the_order_of_names(self) -> None:
        digests = {digest_of(*each) for each in (
            ("a", "1", {"x": 1, "y": 2}), ("b", "1", {"x": 1, "y": 2}),
            ("a", "2", {"x": 1, "y": 2}), ("a", "1", {"x": 1, "y": 3}),
        )}  # fmt: skip
        assert len(digests) == 4
        assert digest_of("a", "1", {"y": 2, "x": 1}) in digests
        assert len(digest_of("a", "1", NOW)) == 64

    @database
    def test_events_are_recorded_again_after_a_folded_block(self) -> None:
        def fails() -> None:
            record("login")
            raise RuntimeError

        with pytest.raises(RuntimeError), folded():
            fails()
        record("logout")
        with folded():
            with folded():
                record("login")
            record("login")
        write([])
        write([build_event("login"), build_event("logout")])
        events = Event.objects.order_by("pk").values_list("event", flat=True)
        assert list(events) == ["logout", "login", "logout"]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("address", "found"),
        [("127.0.0.1", "loopback"), ("::1", "loopback"), ("10.0.0.7", "private"),
         ("fe80::1", "private"), ("8.8.8.8", "public"), ("2001:4860:4860::8888", "public"),
         ("0.0.0.0", "private"), ("x", "unknown")],
    )  # fmt: skip
    def test_an_address_is_reduced_to_its_class(self, address: str, found: str) -> None:
        assert address_class(address) == found

    @database
    def test_logins_and_logouts_are_recorded_with_their_account(self) -> None:
        ada = _user("ada", "annotator")
        request = RequestFactory().get("/")
        request.session = type("Session", (dict,), {"cycle_key": lambda self: None})()
        user_logged_in.send(User, user=ada, request=request)
        user_logged_out.send(User, user=ada, request=request)
        user_logged_out.send(User, user=None, request=request)
        events = Event.objects.order_by("pk").values_list(
            "event", "object_kind", "object_id", "who"
        )
        pk = str(ada.pk)
        assert list(events) == [("login", "account", pk, ada.pk), ("logout", "account", pk, ada.pk)]


@database
class TestExports:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("method", "campaign", "of", "expected"),
        [("GET", 7, None, [(7, "campaign", "7")]), ("GET", None, None, [(None, "", "")]),
         ("GET", 7, ("report", 3), [(7, "report", "3")]), ("HEAD", 7, None, []),
         ("GET", 0, None, [(0, "campaign", "0")])],
    )  # fmt: skip
    def test_an_export_is_recorded_with_the_object_that_was_exported(
        self, method: str, campaign: int | None, of: Any, expected: list[Any]
    ) -> None:
        record_export(RequestFactory().generic(method, "/"), campaign, "labels", "csv", of)
        found = Event.objects.values_list("campaign", "object_kind", "object_id")
        assert list(found) == expected
        assert [each.facts for each in Event.objects.all()] == [
            {"what": "labels", "form": "csv"} for _ in expected
        ]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [({}, True), ({"event": "login"}, False), ({"campaign": 8}, False), ({"who": 2}, False),
         ({"facts": {"what": "items", "form": "csv"}}, False),
         ({"facts": {"what": "labels", "form": "jsonl"}}, False),
         ({"at": NOW - timedelta(days=1)}, True),
         ({"at": NOW - timedelta(days=1, seconds=1)}, False)],
    )  # fmt: skip
    def test_the_same_export_by_the_same_account_is_recorded_once_a_day(
        self, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], expected: bool
    ) -> None:
        monkeypatch.setattr(timezone, "now", lambda: NOW)
        request = RequestFactory().get("/")
        request.user = User(pk=1)
        facts = {"what": "labels", "form": "csv"}
        Event.objects.create(
            **{"event": "export", "campaign": 7, "who": 1, "at": NOW, "facts": facts, **changes}
        )
        assert was_exported(request, 7, "labels", "csv") is expected


class TestSealDigests:
    def test_a_digest_covers_the_previous_digest_each_line_and_the_heads(self) -> None:
        events = [
            Event(pk=n, event="login", at=NOW, who=n, campaign=None, facts={"ü": 1}) for n in (1, 2)
        ]
        heads: seals.Heads = {"7": [1, "d"]}
        content = (START + line(events[0]) + line(events[1]) + '{"7":[1,"d"]}').encode()
        assert digest_over(START, iter(events), heads) == (2, hashlib.sha256(content).hexdigest())
        assert digest_over("x", [], {}) == (0, hashlib.sha256(b"x{}").hexdigest())

    def test_a_line_holds_every_column_sorted_by_name(self) -> None:
        east = NOW.astimezone(timezone.get_fixed_timezone(60))
        event = Event(pk=3, event="login", at=east, who=1, campaign=2, facts={"ü": 1})
        assert line(event).endswith("}\n")
        assert '"ü":1' in line(event)
        columns = json.loads(line(event))
        assert list(columns) == sorted(columns)
        assert columns == {
            "id": 3, "event": "login", "at": "2026-03-01T12:00:00.000000+00:00", "who": 1,
            "campaign": 2, "object_kind": "", "object_id": "", "before": "", "after": "",
            "request": "", "address": "", "facts": {"ü": 1},
        }  # fmt: skip


@database
class TestSealing:
    def test_each_chain_continues_where_the_site_was_sealed_last(self) -> None:
        assert seal() == []
        for campaign in (9, None, 3):
            record("login", campaign)
        first = seal()
        last = Event.objects.latest("pk").pk
        assert [(s.chain, s.number, s.since, s.last, s.count) for s in first] == [
            (3, 1, 0, last, 1), (9, 1, 0, last, 1), (SITE, 1, 0, last, 1),
        ]  # fmt: skip
        assert [s.previous for s in first] == [START] * 3
        assert first[-1].heads == {"3": [1, first[0].digest], "9": [1, first[1].digest]}
        assert first[0].heads == {}
        assert seal() == []
        record("login", 9)
        record("login", 9)
        second = seal()
        assert [(s.chain, s.number, s.since, s.last, s.count) for s in second] == [
            (9, 2, last, last + 2, 2), (SITE, 2, last, last + 2, 0),
        ]  # fmt: skip
        assert [s.previous for s in second] == [first[1].digest, first[2].digest]
        assert second[-1].heads == {"9": [2, second[0].digest]}
        assert list(find_broken_seals()) == []
        for each in [*first, *second]:
            rows = seals.of_chain(each.chain).filter(pk__gt=each.since, pk__lte=each.last)
            assert digest_over(each.previous, rows, each.heads) == (each.count, each.digest)

    def test_nothing_is_sealed_beyond_the_horizon_of_committed_events(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record("login")
        upto = Event.objects.latest("pk").pk
        record("logout")
        monkeypatch.setattr(seals, "horizon", lambda: upto)
        assert [(s.last, s.count) for s in seal()] == [(upto, 1)]
        assert count_unsealed() == 1
        assert seal() == []
        monkeypatch.setattr(seals, "horizon", lambda: None)
        assert seal() == []
        assert count_unsealed() == 1

    def test_a_sealer_that_comes_second_seals_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def quicker(upto: int) -> list[Seal]:
            Seal.objects.create(chain=5, number=1, since=0, last=1, count=0)
            raise IntegrityError

        record("login")
        monkeypatch.setattr(seals, "_sealed", quicker)
        assert seal() == []
        assert not Seal.objects.exists()

    def test_each_seal_is_logged_with_its_digest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        logged: list[Any] = []
        monkeypatch.setattr(seals.logger, "info", lambda what, extra: logged.append(extra))
        record("login", 4)
        created = seal()
        assert logged == [{"seal": str(each), "digest": each.digest} for each in created]


@database
class TestChecking:
    @pytest.fixture
    def trail(self) -> list[Seal]:
        """Three seals of campaign 7 and of the site."""
        found = []
        for _ in range(3):
            record("login", 7)
            record("login")
            found += seal()
        return found

    def test_a_seal_is_named_by_its_campaign_or_the_site(self) -> None:
        assert describe_seal(SITE, 2) == "seal 2 of the site"
        assert describe_seal(7, 3) == "seal 3 of campaign 7"

    def test_a_digest_is_a_seal_if_a_stored_seal_has_it(self, trail: list[Seal]) -> None:
        assert is_seal(trail[0].digest)
        assert not is_seal("0" * 64)

    def test_events_sealed_by_a_campaign_but_not_by_the_site_still_wait(
        self, trail: list[Seal]
    ) -> None:
        assert count_unsealed() == 0
        with a_thief():
            trail[-1].delete()
        assert count_unsealed() == 2

    def test_a_missing_seal_is_named_and_later_seals_are_still_checked(
        self, trail: list[Seal]
    ) -> None:
        with a_thief():
            Seal.objects.filter(chain=7, number=2).delete()
        assert list(find_broken_seals()) == [
            "seal 2 of campaign 7 is missing",
            "campaign 7 has 3 events, but its seals cover 2",
            "seal 2 of campaign 7 is not the one that the site's seals name",
        ]
        with a_thief():
            Seal.objects.filter(chain=7, number=3).update(digest="0" * 64)
        assert "seal 3 of campaign 7 covers other events than those stored now" in list(
            find_broken_seals()
        )

    def test_a_seal_that_does_not_follow_from_the_one_before_is_named(
        self, trail: list[Seal]
    ) -> None:
        with a_thief():
            Seal.objects.filter(chain=7, number=2).update(previous="1" * 64)
        assert list(find_broken_seals()) == [
            "seal 2 of campaign 7 does not follow from the one before",
            "seal 2 of campaign 7 covers other events than those stored now",
        ]

    def test_a_first_seal_must_follow_from_no_other_seal(self, trail: list[Seal]) -> None:
        with a_thief():
            Seal.objects.filter(chain=SITE, number=1).update(previous="1" * 64)
        assert "seal 1 of the site does not follow from the one before" in list(find_broken_seals())

    def test_changed_heads_break_the_sites_seal_and_contradict_the_campaigns(
        self, trail: list[Seal]
    ) -> None:
        with a_thief():
            Seal.objects.filter(chain=SITE, number=2).update(heads={"7": [2, "0" * 64]})
        assert list(find_broken_seals()) == [
            "seal 2 of the site covers other events than those stored now",
            "seal 2 of campaign 7 is not the one that the site's seals name",
        ]

    def test_a_wrong_count_is_reported_with_the_actual_one(self, trail: list[Seal]) -> None:
        with a_thief():
            Seal.objects.filter(chain=7, number=1).update(count=5)
        assert list(find_broken_seals()) == [
            "seal 1 of campaign 7 covers 5 events, but there is 1",
            "campaign 7 has 3 events, but its seals cover 7",
        ]

    def test_events_of_a_chain_without_seals_are_reported(self, trail: list[Seal]) -> None:
        with a_thief():
            Event.objects.filter(pk=trail[0].last).update(campaign=8)
            Event.objects.filter(pk=trail[0].last - 1).update(campaign=8)
        problems = list(find_broken_seals())
        assert "campaign 8 has 2 events, but its seals cover 0" in problems
        assert "the site has 2 events, but its seals cover 3" in problems
        assert "campaign 7 has 2 events, but its seals cover 3" in problems

    def test_events_waiting_for_a_seal_are_no_fault(self, trail: list[Seal]) -> None:
        record("login", 8)
        assert list(find_broken_seals()) == []
