"""Which events a filter selects, in which words they are shown, and how answers are counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models.signals import post_init

from annotation.answers.submission import submit
from annotation.audit_log import (
    BY_RATER,
    EventFilter,
    ShownEvent,
    changes_of,
    count_answers,
    describe_events,
    filter_events,
    visible_events,
)
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Campaign, Rater, User, rater_of
from annotation.people.membership import set_pool
from audit.models import Event, Seal
from audit.recording import Actor, on_behalf, record
from audit.seals import seal
from datasets.models import Batch
from tests.audit.test_seals import a_thief
from tests.page_cast import Study, make_study, payload
from tests.team_cast import join_team

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def second(study: Study) -> Study:
    """Another campaign of the same people, over the same batch."""
    made = create_campaign(
        "Main", "report-coverage", Batch.objects.get(), Design(raters_per_item=2), pool="open"
    )
    return Study(made.campaign, study.ada, study.ben, study.rita, study.root)


def selected(selection: EventFilter, whole: bool = True) -> list[int]:
    return [event.pk for event in filter_events(Event.objects.all(), selection, whole)]


def happened(event: str, campaign: int | None = None, **facts: Any) -> int:
    record(event, campaign, **facts)
    return Event.objects.latest("pk").pk


def shown(event: Event, whole: bool = False) -> ShownEvent:
    (found,) = describe_events([event], whole)
    return found


def test_since_and_until_are_inclusive_and_before_is_exclusive() -> None:
    first, middle, last = (
        Event.objects.create(event="login", at=NOW + timedelta(minutes=n)).pk for n in (-1, 0, 1)
    )
    assert selected(EventFilter(event="login")) == [last, middle, first]
    assert selected(EventFilter(event="login", since=NOW)) == [last, middle]
    assert selected(EventFilter(event="login", until=NOW)) == [middle, first]
    assert selected(EventFilter(event="login", before=middle)) == [first]
    assert selected(EventFilter(event="logout")) == []


def test_a_reader_of_one_campaign_sees_no_events_of_another(second: Study, study: Study) -> None:
    join_team(study.rita)
    set_pool(study.campaign, "named")
    assert {event.campaign for event in visible_events(study.rita, second.campaign)} == {
        second.campaign.pk
    }
    assert not visible_events(study.rita, study.campaign).exists()
    happened("login")
    all_of_them = {event.campaign for event in visible_events(study.root)}
    assert all_of_them == {study.campaign.pk, second.campaign.pk, None}


def test_the_filter_by_person_takes_the_name_that_is_shown(study: Study) -> None:
    as_rater = rater_of(study.rita).name
    with on_behalf(Actor(lambda: study.rita.pk)):
        acted, researched = happened("answer.changed", 5), happened("member.added", 5)
    with on_behalf(Actor(lambda: study.ada.pk)):
        by_ada = happened("member.added", 5)
    assert selected(EventFilter(person=as_rater), whole=False) == [acted]
    assert selected(EventFilter(person="rita"), whole=False) == [researched]
    assert selected(EventFilter(person="ada"), whole=False) == []
    assert selected(EventFilter(person="rita")) == [researched, acted]
    assert selected(EventFilter(person="ada")) == [by_ada]
    assert selected(EventFilter(person=as_rater)) == []


def test_an_event_has_the_seal_of_its_own_chain() -> None:
    early, site = happened("login", 7), happened("login")
    seal()
    other = happened("login", 9)
    again = happened("login", 7)
    seal()
    waits = happened("login", 7)
    rows = filter_events(Event.objects.all(), EventFilter(), whole=True)
    assert [(event.pk, getattr(event, "seal")) for event in rows] == [  # noqa: B009
        (waits, None), (again, 2), (other, 1), (site, 1), (early, 1)
    ]  # fmt: skip
    with a_thief():
        Seal.objects.filter(chain=0, number=1).delete()
        Seal.objects.filter(chain=7, number=1).delete()
    assert [getattr(event, "seal") for event in rows.all()] == [None, 2, 1, None, None]  # noqa: B009


class TestCountingAnswers:
    def counted(self) -> list[tuple[int | None, str, dict[str, Any]]]:
        rows = Event.objects.filter(event="answers.counted").order_by("pk")
        return [(each.campaign, each.object_id, each.facts) for each in rows]

    def test_each_campaign_with_new_answers_is_counted_by_channel(
        self, study: Study, second: Study
    ) -> None:
        assert (count_answers(), self.counted()) == (0, [])
        one = submit(study.assignment(study.ada), payload("no"), "page").response.pk
        assert count_answers() == 1
        first = (study.campaign.pk, str(study.campaign.pk), {"upto": one, "page": 1})
        assert self.counted() == [first]
        submit(second.assignment(study.ada), payload("no"), "api")
        submit(second.assignment(study.ben), payload("no"), "page")
        two = submit(second.assignment(study.ada), payload("no"), "page").response.pk
        assert count_answers() == 1
        key = second.campaign.pk
        then = (key, str(key), {"upto": two, "api": 1, "page": 2})
        assert self.counted() == [first, then]
        assert count_answers() == 0
        submit(second.assignment(study.ben), payload("no"), "page")
        last = submit(study.assignment(study.ben), payload("no"), "page").response.pk
        assert count_answers() == 2
        assert self.counted()[2:] == [
            (*first[:2], {"upto": last, "page": 2}),
            (*then[:2], {"upto": last, "api": 1, "page": 3}),
        ]
        assert count_answers() == 0


class TestChanges:
    def test_changes_are_the_latest_twenty_since_the_campaign_was_created(self) -> None:
        happened("campaign.people", 77)
        happened("campaign.made", 77)
        changes = [happened("member.added", 77) for _ in range(2)]
        happened("run.started", 77)
        happened("campaign.opened", 78)
        found = changes_of(Campaign(pk=77))
        assert [each.event.pk for each in found] == changes[::-1]
        assert {each.who for each in found} == {"a command or worker"}
        changes += [happened("places.freed", 77) for _ in range(19)]
        assert [each.event.pk for each in changes_of(Campaign(pk=77))] == changes[:0:-1]

    def test_a_campaign_older_than_the_trail_has_changes_from_its_first_event_on(
        self,
    ) -> None:
        first = Event.objects.create(pk=1, event="member.added", campaign=77)
        assert [each.event for each in changes_of(Campaign(pk=77))] == [first]

    def test_annotators_are_not_named_among_the_changes(self, study: Study) -> None:
        Event.objects.create(event="member.added", campaign=77, who=study.ada.pk)
        assert [each.who for each in changes_of(Campaign(pk=77))] == ["an annotator"]


class TestWords:
    def test_an_event_without_an_account_says_who_acted(self) -> None:
        assert shown(Event(event="login.failed", address="public")).who == "nobody logged in"
        assert shown(Event(event="login.failed", address="command")).who == "a command or worker"

    def test_a_rater_has_the_pseudonym_or_for_admins_the_account_name(self, study: Study) -> None:
        pseudonym = rater_of(study.ada).name
        event = Event(event="answer.changed", who=study.ada.pk)
        assert (shown(event).who, shown(event, whole=True).who) == (pseudonym, "ada")
        event.who = study.ben.pk
        assert not Rater.objects.filter(user=study.ben).exists()
        assert (shown(event).who, shown(event, whole=True).who) == ("a deleted account", "ben")
        event.event = "an event of an older version"
        assert (shown(event).who, shown(event).title) == ("an annotator", event.event)

    def test_only_researchers_and_admins_are_named_to_researchers(self, study: Study) -> None:
        found = [
            (shown(event).who, shown(event, whole=True).who)
            for user in (study.ada, study.rita, study.root)
            for event in [Event(event="login", who=user.pk)]
        ]
        assert found == [("an annotator", "ada"), ("rita", "rita"), ("root", "root")]
        gone = Event(event="login", who=10**6)
        assert shown(gone).who == "a deleted account"
        assert shown(gone, whole=True).who == "account 1000000, deleted"

    def test_only_accounts_that_occur_in_the_events_are_looked_up(self, study: Study) -> None:
        looked_up: list[str] = []

        def note(instance: User, **_: object) -> None:
            looked_up.append(instance.username)

        events = [Event(event="login", who=study.rita.pk), Event(event="login")]
        post_init.connect(note, sender=User)
        try:
            assert [each.who for each in describe_events(events, whole=False)] == [
                "rita", "nobody logged in"
            ]  # fmt: skip
        finally:
            post_init.disconnect(note, sender=User)
        assert looked_up == ["rita"]

    def test_an_event_names_the_object_that_it_is_about(self, study: Study) -> None:
        rater = rater_of(study.ada)
        about = {
            ("account", str(study.ada.pk)): ("an annotator", "an annotator"),
            ("account", str(study.rita.pk)): ("rita", "rita"),
            ("account", ""): ("account", "account"),
            ("rater", str(rater.pk)): (rater.name, rater.name),
            ("rater", "1000000"): ("rater 1000000, deleted", "rater 1000000, deleted"),
            ("rater", ""): ("rater", "rater"),
            ("campaign", "4"): ("campaign 4", "campaign 4"),
            ("prolificstudy", "4"): ("prolificstudy 4", "Prolific study 4"),
            ("judgerun", "5"): ("judgerun 5", "run 5"),
            ("frozenreport", "6"): ("frozenreport 6", "frozen report 6"),
            ("", ""): ("", ""),
        }
        events = [Event(event="login", object_kind=kind, object_id=key) for kind, key in about]
        found = list(describe_events(events, whole=False))
        assert [(each.object, each.of) for each in found] == list(about.values())

    def test_facts_are_shown_in_words_and_missing_ones_are_left_out(self) -> None:
        facts = {"new_account": True, "again": False, "was": None, "places": 0, "form": "csv"}
        event = shown(Event(event="export", facts=facts))
        assert event.facts == ["new account yes", "again no", "places 0", "form csv"]
        assert event.title == "Exported"

    def test_empty_fields_are_null_in_json(self) -> None:
        full = Event(
            pk=3, event="login", at=NOW, campaign=7, facts={"n": 1}, before="b", after="a",
            request="r", address="public", object_kind="campaign", object_id="7",
        )  # fmt: skip
        full.seal = 2  # type: ignore[attr-defined]
        expected = {
            "id": 3, "at": "2026-03-01T12:00:00+00:00", "event": "login",
            "who": "nobody logged in", "object": "campaign 7", "campaign": 7, "facts": {"n": 1},
            "before": "b", "after": "a", "request": "r", "address": "public", "seal": 2,
        }  # fmt: skip
        assert shown(full).as_json() == expected
        empty = Event(pk=4, event="login", at=NOW)
        assert shown(empty).as_json() == {
            **dict.fromkeys(expected), "id": 4, "at": expected["at"], "event": "login",
            "who": "nobody logged in", "object": "", "facts": {},
        }  # fmt: skip

    def test_events_by_raters_are_shown_under_a_pseudonym(self) -> None:
        assert set(BY_RATER) == {
            "prolific.arrived", "answer.changed", "adjudication.decided", "adjudication.changed",
            "consent.given", "consent.revoked",
        }  # fmt: skip
