"""People from Prolific join one campaign by its link, up to its limit, and leave with its code."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.core import signing
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.exports import rows
from annotation.models import Assignment, Participant, ProlificStudy, User, rater_of
from annotation.people.leases import set_lease
from annotation.people.membership import PeopleError, set_most_items, set_pool
from annotation.people.prolific import Arrival, end, enter, set_study
from tests.annotation.people.cast import assert_whole, run_out
from tests.page_cast import Study, answers, client_of, make_study, page

pytestmark = pytest.mark.django_db
CODE = "C0MPLETE"


@pytest.fixture
def study() -> Study:
    """Two people with two items each, in a named pool."""
    study = make_study(reports=3)
    set_pool(study.campaign, "named")
    set_most_items(study.campaign, 2)
    set_study(study.campaign, "study1", CODE, 2)
    return study


def link(study: Study, pid: str = "p1", session: str = "s1", of: str = "study1") -> str:
    asked = f"PROLIFIC_PID={pid}&STUDY_ID={of}&SESSION_ID={session}"
    return f"{reverse('prolific', args=[study.campaign.pk])}?{asked}"


def come(study: Study, *who: str, browser: Client | None = None) -> tuple[Client, Any]:
    client = browser or Client()
    return client, client.post(link(study, *who))


def work(client: Client, address: str) -> str:
    """Answer the item at an address; return the address that comes next."""
    mine = Assignment.objects.get(uid=address.strip("/").rpartition("/")[2])
    sent = client.post(page("submit", mine), answers("no", "no", "no", version=0, seen=0))
    assert sent.status_code == 200, sent.content
    return str(sent.json()["next"])


class TestArrival:
    def test_opening_the_link_creates_no_participant(self, study: Study) -> None:
        answer = Client().get(link(study))
        assert answer.status_code == 200
        assert "Start" in answer.content.decode()
        assert not Participant.objects.exists()

    def test_the_start_leads_to_an_item_without_an_account(self, study: Study) -> None:
        client, answer = come(study)
        assert client.get(answer["Location"]).status_code == 200
        there = Participant.objects.get()
        assert (there.pid, there.session_id, there.status) == ("p1", "s1", "active")
        assert there.user.is_guest
        assert not there.user.has_usable_password()

    def test_a_returning_participant_keeps_their_item(self, study: Study) -> None:
        client, first = come(study)
        _, again = come(study, browser=client)
        client.post(reverse("logout"))
        _, later = come(study, browser=client)
        assert first["Location"] == again["Location"] == later["Location"]
        assert Participant.objects.count() == 1


class TestAnotherBrowser:
    @pytest.mark.first_case
    @pytest.mark.parametrize("session", ["s1", "s2"])
    def test_a_link_in_another_browser_opens_nobodys_answers(
        self, study: Study, session: str
    ) -> None:
        client, first = come(study)
        stranger, answer = come(study, "p1", session)
        assert answer.status_code == 422
        assert "another browser" in answer.content.decode()
        assert stranger.get(first["Location"]).status_code == 302
        assert Participant.objects.get().session_id == "s1"
        assert client.get(first["Location"]).status_code == 200

    def test_a_made_up_cookie_opens_nothing(self, study: Study) -> None:
        come(study)
        forged = Client()
        for value in ("1", f"[{Participant.objects.get().pk}]", signing.dumps([1])):
            forged.cookies["participant"] = value
            assert come(study, browser=forged)[1].status_code == 422

    def test_a_browser_shared_by_two_participants_knows_both(self, study: Study) -> None:
        browser, first = come(study)
        _, second = come(study, "p2", browser=browser)
        assert come(study, browser=browser)[1]["Location"] == first["Location"]
        assert come(study, "p2", browser=browser)[1]["Location"] == second["Location"]
        assert browser.cookies["participant"]["path"] == "/prolific/"
        assert browser.cookies["participant"]["httponly"]


class TestGuestLimits:
    def test_a_guest_sees_the_one_campaign_and_nothing_else(self, study: Study) -> None:
        other = make_other(study)
        client, _ = come(study)
        content = client.get(reverse("work")).content.decode()
        assert "Pilot" in content
        assert "Other" not in content
        assert client.post(reverse("take-next", args=[other])).status_code == 404
        for name in ("campaigns", "batches", "judges", "people"):
            assert client.get(reverse(name)).status_code == 403

    def test_nobody_can_log_in_as_a_guest_with_a_password(self, study: Study) -> None:
        come(study)
        name = User.objects.get(is_guest=True).username
        for password in ("", "!", "p1", "s1"):
            entry = {"username": name, "password": password}
            client = Client()
            assert client.post(reverse("login"), entry).status_code == 200
            assert client.get(reverse("work")).status_code == 302

    def test_exports_contain_no_ids_from_prolific(self, study: Study) -> None:
        client, answer = come(study, "pid-5f3a", "session-77b1")
        work(client, answer["Location"])
        lines = [*rows.labels(study.campaign), *rows.responses(study.campaign)]
        text = str(lines)
        guest = User.objects.get(is_guest=True)
        assert rater_of(guest).name in text
        for secret in ("pid-5f3a", "session-77b1", guest.username):
            assert secret not in text


def make_other(study: Study) -> int:
    made = create_campaign("Other", "report-coverage", study.campaign.batch, Design())
    return made.campaign.pk


class TestRateLimits:
    def test_arrivals_from_one_network_address_are_limited(self, study: Study) -> None:
        set_study(study.campaign, "study1", CODE, 1000)
        codes = [come(study, f"made-up-{n}")[1].status_code for n in range(61)]
        assert codes == [302] * 60 + [429]
        assert Participant.objects.count() == 60
        other = Client().post(link(study, "another"), REMOTE_ADDR="10.0.0.2")
        assert other.status_code == 302


class TestCompletion:
    def test_the_completion_code_is_shown_only_after_the_last_answer(self, study: Study) -> None:
        client, answer = come(study)
        over = reverse("finished", args=[study.campaign.pk])
        following = work(client, answer["Location"])
        assert CODE not in client.get(over).content.decode()
        assert work(client, following) == over
        content = client.get(over).content.decode()
        assert CODE in content
        assert f"https://app.prolific.com/submissions/complete?cc={CODE}" in content

    @pytest.mark.first_case
    @pytest.mark.parametrize("status", ["returned", "timed-out"])
    def test_a_participant_who_left_makes_room(self, study: Study, status: str) -> None:
        client, answer = come(study)
        following = work(client, answer["Location"])
        come(study, "p2")
        rita = client_of(study.root)
        order = {
            "order": "ended",
            "participant": Participant.objects.get(pid="p1").pk,
            "status": status,
        }
        rita.post(reverse("campaign-people-change", args=[study.campaign.pk]), order)
        gone = Participant.objects.get(pid="p1")
        assert (gone.status, gone.user.is_active) == (status, False)
        statuses = list(gone.user.rater.assignments.values_list("status", flat=True))
        assert sorted(statuses) == ["cancelled", "done"]
        assert client.get(following).status_code == 302
        assert come(study, "p3")[1].status_code == 302
        assert_whole(study.campaign)

    def test_a_participant_who_returns_gets_their_released_item_again(self, study: Study) -> None:
        browser, _ = come(study)
        first = Assignment.objects.get()
        end(Participant.objects.get(), "returned")
        come(study, "p1", "s2", browser=browser)
        first.refresh_from_db()
        assert first.status == "open"
        assert_whole(study.campaign)

    def test_leases_of_vanished_participants_expire(self, study: Study) -> None:
        set_lease(study.campaign, 30)
        _, answer = come(study)
        mine = Assignment.objects.get()
        run_out(mine)
        come(study, "p2")
        mine.refresh_from_db()
        assert (mine.status, mine.reason) == ("cancelled", "expired")
        assert_whole(study.campaign)
        assert answer.status_code == 302


class TestSetUp:
    def test_a_researcher_sets_up_a_study_on_the_page(self, study: Study) -> None:
        set_pool(study.campaign, "open")
        where = reverse("campaign-people-change", args=[study.campaign.pk])
        form = {"order": "prolific", "study_id": "s9", "completion_code": "X1", "most_people": 9}
        rita = client_of(study.rita)
        assert rita.post(where, form).status_code == 302
        assert ProlificStudy.objects.get().study_id == "s9"
        shown = rita.get(reverse("campaign-people", args=[study.campaign.pk])).content.decode()
        assert f"/prolific/{study.campaign.pk}/?PROLIFIC_PID=" in shown
        assert rita.post(where, form | {"study_id": "a b"}).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_simultaneous_arrivals_do_not_exceed_the_studys_size() -> None:
    study = make_study(reports=3)
    prolific = set_study(study.campaign, "study1", CODE, 2)
    barrier, said = threading.Barrier(6), list[str]()

    def arrive(pid: str) -> None:
        barrier.wait()
        try:
            enter(prolific, Arrival(pid, "study1", "s", signed=True))
            said.append("in")
        except PeopleError as error:
            said.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=arrive, args=(f"p{n % 3}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Participant.objects.count() == 2
    assert User.objects.filter(is_guest=True).count() == 2
    assert said.count("in") == 4
