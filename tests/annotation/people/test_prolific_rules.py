"""Each rule for Prolific's participants holds: identity, duration and the browser's cookie."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core import signing
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import (
    Assignment,
    Campaign,
    Membership,
    Participant,
    ProlificStudy,
    Rater,
    User,
    rater_of,
)
from annotation.people.membership import PeopleError, end_membership
from annotation.people.prolific import (
    Arrival,
    completion,
    end,
    enter,
    mark_browser,
    open_once,
    participants,
    participants_in,
    set_study,
)
from audit.models import Event
from datasets.models import Batch
from tests.once import once
from tests.page_cast import Study, make_study

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
ELSEWHERE = (
    "you have begun this study in another browser, so continue there; if you cannot, write to the "
    "researcher on Prolific"
)
FULL = "this study has all its people; return your submission on Prolific"
NAMES = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


@once
def study() -> Study:
    return make_study(reports=3)


@pytest.fixture
def known(study: Study) -> ProlificStudy:
    return set_study(study.campaign, "study1", "C0DE", 2)


@pytest.fixture
def other(study: Study) -> ProlificStudy:
    made = create_campaign("Other", "report-coverage", Batch.objects.get(), Design())
    return set_study(made.campaign, "study1", "0THER", 1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of signatures."""
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def arrival(pid: str = "p1", session: str = "s1", of: str = "study1", signed: bool = False) -> Any:
    return Arrival(pid, of, session, signed)


def refused(study: ProlificStudy, *given: Any) -> str:
    with pytest.raises(PeopleError) as wrong:
        enter(study, *given)
    return str(wrong.value)


class TestLink:
    def test_a_link_has_three_parameters_of_up_to_64_characters(self) -> None:
        for good in ("a", "Z-9_", "x" * 64):
            given = dict(zip(NAMES, (good, "s", "t"), strict=True))
            assert Arrival.read(given) == Arrival(good, "s", "t", signed=False)
        for wrong in ("", "x" * 65, "a b", "ü", "a\n"):
            for name in NAMES:
                given = dict.fromkeys(NAMES, "a") | {name: wrong}
                with pytest.raises(PeopleError, match="lacks what Prolific adds to it"):
                    Arrival.read(given)
        with pytest.raises(PeopleError):
            Arrival.read(dict.fromkeys(NAMES[:2], "a"))

    def test_the_start_page_is_valid_for_four_hours(self, clock: list[float]) -> None:
        sealed = arrival("p", "t", "s").sealed()
        clock[0] += 4 * 3600
        assert Arrival.unseal(sealed) == Arrival("p", "s", "t", signed=True)
        clock[0] += 1
        for text in (sealed, "x", signing.dumps(["p", "s", "t"])):
            with pytest.raises(PeopleError, match="this page is too old; open the study on"):
                Arrival.unseal(text)


class TestArriving:
    def test_a_new_person_gets_an_account_without_a_password_for_this_campaign(
        self, known: ProlificStudy
    ) -> None:
        found = enter(known, arrival())
        stored = Participant.objects.get()
        assert stored == found
        assert (stored.study, stored.pid, stored.session_id) == (known, "p1", "s1")
        assert (stored.status, stored.open_until) == ("active", None)
        guest = stored.user
        assert re.fullmatch(r"guest-[a-z0-9]{16}", guest.username)
        assert (guest.role, guest.is_guest, guest.is_active) == ("annotator", True, True)
        assert not guest.has_usable_password()
        assert Rater.objects.filter(user=guest).exists()
        member = Membership.objects.get()
        assert (member.campaign, member.user, member.role) == (known.campaign, guest, "annotator")
        event = Event.objects.filter(event="prolific.arrived").values("who", "campaign", "facts")
        expected = {"who": guest.pk, "campaign": known.campaign_id, "facts": {"again": False}}
        assert list(event) == [expected]

    def test_a_study_accepts_only_its_own_links(self, known: ProlificStudy) -> None:
        assert refused(known, arrival(of="study2")) == (
            "this link belongs to another study; open the study on Prolific again"
        )
        known.signed = True
        assert refused(known, arrival()) == (
            "this study takes links that Prolific has signed; open it there again"
        )
        assert enter(known, arrival(signed=True)).pid == "p1"
        known.campaign.is_open = False
        assert refused(known, arrival(signed=True)) == (
            "this study is closed; return your submission on Prolific"
        )

    def test_a_deleted_study_admits_nobody(self, known: ProlificStudy) -> None:
        ProlificStudy.objects.filter(pk=known.pk).delete()
        with pytest.raises(ProlificStudy.DoesNotExist):
            enter(known, arrival())
        assert not User.objects.filter(is_guest=True).exists()

    def test_a_study_admits_its_maximum_not_counting_other_studies(
        self, known: ProlificStudy, other: ProlificStudy
    ) -> None:
        first = enter(known, arrival("p1"))
        enter(other, arrival("p1"))
        enter(known, arrival("p2"))
        assert refused(known, arrival("p3")) == refused(other, arrival("p2")) == FULL
        assert User.objects.filter(is_guest=True).count() == 3
        end(first, "returned")
        enter(known, arrival("p3"))
        assert refused(known, arrival("p1", "s2", signed=True)) == FULL
        first.refresh_from_db()
        assert (first.status, first.user.is_active) == ("returned", False)


class TestReturning:
    @pytest.fixture
    def mine(self, known: ProlificStudy) -> Participant:
        return enter(known, arrival())

    def test_a_participant_is_recognised_by_a_signed_link_or_the_same_browser(
        self, known: ProlificStudy, mine: Participant
    ) -> None:
        theirs = enter(known, arrival("p2"))
        assert enter(known, arrival(signed=True)) == mine
        assert enter(known, arrival(), frozenset([theirs.pk, mine.pk])) == mine
        assert refused(known, arrival(), frozenset([theirs.pk])) == ELSEWHERE
        assert refused(known, arrival()) == ELSEWHERE
        events = Event.objects.filter(event="prolific.arrived").order_by("pk")
        assert [each.facts["again"] for each in events] == [False, False, True, True]

    def test_a_researcher_can_let_a_participant_in_once_within_a_day(
        self, known: ProlificStudy, mine: Participant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        theirs = enter(known, arrival("p2"))
        monkeypatch.setattr(timezone, "now", lambda: NOW)
        open_once(mine)
        until = Participant.objects.values_list("open_until", flat=True)
        assert set(until) == {NOW + timedelta(days=1), None}
        event = Event.objects.get(event="prolific.opened")
        assert (event.campaign, event.object_id) == (known.campaign_id, str(mine.pk))
        monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(days=1) + TICK)
        assert refused(known, arrival()) == ELSEWHERE
        monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(days=1))
        assert enter(known, arrival()) == mine
        mine.refresh_from_db()
        assert mine.open_until is None
        assert refused(known, arrival()) == ELSEWHERE
        assert refused(known, arrival("p2")) == ELSEWHERE
        assert theirs.open_until is None

    def test_another_submission_of_the_same_person_is_noted(
        self, known: ProlificStudy, mine: Participant
    ) -> None:
        enter(known, arrival(session="s2", signed=True))
        mine.refresh_from_db()
        assert (mine.session_id, mine.status) == ("s2", "active")

    def test_an_ended_submission_is_refused_and_a_new_one_starts_again(
        self, known: ProlificStudy, mine: Participant
    ) -> None:
        end(mine, "timed-out")
        assert refused(known, arrival(signed=True)) == (
            "this submission has ended; reserve a new place on Prolific"
        )
        before = Event.objects.count()
        again = enter(known, arrival(session="s2", signed=True))
        assert again == mine
        mine.refresh_from_db()
        assert (mine.status, mine.session_id, mine.user.is_active) == ("active", "s2", True)
        assert Event.objects.count() == before + 1
        assert Event.objects.latest("pk").event == "prolific.arrived"

    def test_a_disabled_participant_is_told_to_write_to_the_researcher(
        self, known: ProlificStudy, mine: Participant
    ) -> None:
        User.objects.filter(pk=mine.user.pk).update(is_active=False)
        assert refused(known, arrival(session="s2", signed=True)) == (
            "this submission has ended; write to the researcher on Prolific"
        )
        mine.refresh_from_db()
        assert mine.session_id == "s1"


class TestCookie:
    def request(self, cookie: str = "", user: User | None = None) -> Any:
        request = RequestFactory().get("/", headers={"cookie": f"participant={cookie}"})
        request.user = user or User()
        return request

    def marked(self, participant: int, cookie: str = "", secure: bool = True) -> Any:
        response = HttpResponse()
        mark_browser(self.request(cookie), response, Participant(pk=participant), secure)
        return response.cookies["participant"]

    def test_the_cookie_keeps_the_last_twenty_participants_for_ninety_days(
        self, clock: list[float]
    ) -> None:
        cookie = ""
        for pk in [*range(1, 23), 5]:
            cookie = self.marked(pk, cookie).value
        kept = [5, *(pk for pk in range(22, 2, -1) if pk != 5)]
        assert participants_in(self.request(cookie)) == set(kept)
        assert signing.loads(cookie, salt="tandem.participants") == kept
        clock[0] += 90 * 24 * 3600
        assert len(participants_in(self.request(cookie))) == 20
        clock[0] += 1
        assert participants_in(self.request(cookie)) == frozenset()

    def test_the_cookie_is_limited_to_the_sites_prolific_page(self) -> None:
        for secure in (True, False):
            found = self.marked(1, secure=secure)
            assert bool(found["secure"]) is secure
            assert (found["path"], found["httponly"], found["samesite"]) == (
                "/prolific/", True, "Lax"
            )  # fmt: skip
            assert int(found["max-age"]) == 90 * 24 * 3600

    def test_a_logged_in_participant_is_recognised_without_a_cookie(
        self, known: ProlificStudy, other: ProlificStudy
    ) -> None:
        mine = enter(known, arrival())
        enter(other, arrival())
        assert participants_in(self.request(user=mine.user)) == {mine.pk}
        assert participants_in(self.request("made-up", mine.user)) == {mine.pk}
        cookie = self.marked(10**6).value
        assert participants_in(self.request(cookie, mine.user)) == {mine.pk, 10**6}


class TestEnd:
    def test_ending_a_participant_releases_only_their_items(
        self, study: Study, known: ProlificStudy
    ) -> None:
        mine, theirs = (enter(known, arrival(pid)) for pid in ("p1", "p2"))
        held = [study.assignment(each.user) for each in (mine, theirs)]
        before = Event.objects.count()
        assert end(mine, "returned") == 1
        assert Event.objects.count() == before + 1
        assert dict(Participant.objects.values_list("pid", "status")) == {
            "p1": "returned", "p2": "active"
        }  # fmt: skip
        assert mine.status == "returned"
        states = [Assignment.objects.get(pk=each.pk) for each in held]
        assert [(each.status, each.reason) for each in states] == [
            ("cancelled", "left"),
            ("open", ""),
        ]
        active = (
            User.objects.filter(is_guest=True).order_by("pk").values_list("is_active", flat=True)
        )
        assert list(active) == [False, True]

    def test_only_an_active_participant_of_the_campaign_gets_the_code(
        self, study: Study, known: ProlificStudy, other: ProlificStudy
    ) -> None:
        mine = enter(known, arrival())
        expected = {
            "code": "C0DE", "address": "https://app.prolific.com/submissions/complete?cc=C0DE",
        }  # fmt: skip
        assert completion(mine.user, study.campaign) == expected
        enter(known, arrival("p2"))
        Membership.objects.create(campaign=other.campaign, user=mine.user)
        assert completion(mine.user, other.campaign) is None
        assert completion(enter(other, arrival()).user, study.campaign) is None
        assert completion(study.ada, study.campaign) is None
        Participant.objects.filter(pk=mine.pk).update(status="returned")
        assert completion(mine.user, study.campaign) is None
        Participant.objects.filter(pk=mine.pk).update(status="active")
        assert completion(mine.user, study.campaign) == expected
        end_membership(study.campaign, mine.user)
        assert completion(mine.user, study.campaign) is None

    def test_participants_are_listed_with_answered_and_reserved_items(
        self, study: Study, known: ProlificStudy, other: ProlificStudy
    ) -> None:
        enter(other, arrival())
        mine, theirs = (enter(known, arrival(pid)) for pid in ("p1", "p2"))
        first, second, third = study.campaign.items.order_by("position")
        rows: tuple[tuple[Any, str, int | None], ...] = (
            (first, "done", 1), (second, "open", 1), (third, "open", None),
        )  # fmt: skip
        for item, status, slot in rows:
            Assignment.objects.create(
                item=item, rater=rater_of(mine.user), asked=[], status=status, slot=slot
            )
        found = participants(known).order_by("pid")
        counts = [(each, vars(each)["done"], vars(each)["held"]) for each in found]
        assert counts == [(mine, 1, 1), (theirs, 0, 0)]


def test_a_campaign_has_one_study_whose_settings_can_be_changed(
    study: Study, other: ProlificStudy
) -> None:
    first = set_study(study.campaign, "s", "C", 2)
    again = set_study(study.campaign, "x" * 64, "D" * 64, 9, signed=True)
    assert first == again
    assert (again.study_id, again.completion_code) == ("x" * 64, "D" * 64)
    assert (again.most_people, again.signed) == (9, True)
    assert Campaign.objects.filter(prolific__isnull=False).count() == 2
    for of, code, why in (
        *((of, "C", "the study's id is the last part of its address on Prolific; correct it")
          for of in ("x" * 65, "a b", "")),
        *(("s", code, "the completion code is letters, digits, - and _; correct it")
          for code in ("D" * 65, "C 1", "<b>")),
    ):  # fmt: skip
        with pytest.raises(PeopleError) as wrong:
            set_study(study.campaign, of, code, 1)
        assert str(wrong.value) == why


def test_only_a_campaign_with_a_study_has_a_start_page(study: Study, other: ProlificStudy) -> None:
    client, there = Client(), reverse("prolific", args=[other.campaign_id])
    assert client.get(reverse("prolific", args=[study.campaign.pk])).status_code == 404
    asked = {"PROLIFIC_PID": "p", "STUDY_ID": "study1", "SESSION_ID": "s"}
    shown = client.get(there, asked)
    context = [shown.context[name] for name in ("campaign", "wrong", "sealed", "signed")]
    assert (shown.status_code, context) == (200, [other.campaign, "", "", False])
    assert client.put(there).status_code == 405
    before = Event.objects.count()
    address = f"{there}?{urlencode(asked)}"
    assert Client().post(address).status_code == 302
    assert Event.objects.count() == before + 1
    assert Event.objects.latest("pk").event == "prolific.arrived"
    lacking = client.get(there)
    assert (lacking.status_code, lacking.context["wrong"]) == (
        422, "This link lacks what Prolific adds to it; open the study there."
    )  # fmt: skip
    client.force_login(study.ada)
    refused = client.get(there, asked)
    assert (refused.status_code, refused.context["wrong"]) == (
        422, "You are logged in with an account; log out, then open the link again."
    )  # fmt: skip
