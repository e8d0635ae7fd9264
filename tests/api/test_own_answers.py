"""A script reads its own answers and drafts, and conflicting changes are reported."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.models import Assignment, Campaign, Draft, Item, Response
from tests.api.cast import Script, assert_error, body, place, script_of
from tests.page_cast import Study, payload

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(study: Study) -> Script:
    return script_of(study.ada)


def test_an_item_comes_with_the_raters_own_answer_and_draft_and_their_versions(
    study: Study, ada: Script
) -> None:
    Draft.objects.create(assignment=study.assignment(study.ben), payload=payload("yes", "his"))
    mine = study.assignment(study.ada)
    submit(mine, payload("no", "first"), "page")
    answer = submit(mine, payload("invalid", "second"), "page").response
    Assignment.objects.update(seconds=9.5)
    draft = Draft.objects.create(assignment=mine, payload=payload("no", "later"), version=3)
    item = ada.get(place(mine)).json()
    assert (item["status"], item["seconds"]) == ("done", 9.5)
    saved = {"saved_at": item["response"]["saved_at"]}
    assert item["response"] == saved | payload("invalid", "second") | {
        "revision": 2, "current": True, "assisted_by": None,
    }  # fmt: skip
    assert datetime.fromisoformat(saved["saved_at"]) == answer.created_at
    saved = {"saved_at": item["draft"]["saved_at"]}
    assert item["draft"] == saved | payload("no", "later") | {"version": 3}
    assert datetime.fromisoformat(saved["saved_at"]) == draft.saved_at


def test_feedback_exists_on_practice_items_only_and_after_the_answer(
    study: Study, ada: Script
) -> None:
    mine = study.assignment(study.ada)
    submit(mine, payload("no"), "page")
    assert_error(ada.get(place(mine, "feedback/")), 404)
    Item.objects.filter(pk=mine.item_id).update(use=Item.Use.PRACTICE)
    assert ada.get(place(mine, "feedback/")).json()["answers"] == []
    Assignment.objects.filter(pk=mine.pk).update(status="open")
    assert_error(ada.get(place(mine, "feedback/")), 404)


def test_assignments_are_listed_by_campaign_with_revision_and_draft(
    study: Study, ada: Script
) -> None:
    done = study.assignment(study.ada)
    submit(done, payload("no"), "page")
    answer = submit(done, payload("invalid"), "page").response
    begun = study.assignment(study.ada)
    Draft.objects.create(assignment=begun, payload=payload("no"))
    submit(study.assignment(study.ben), payload("no"), "page")
    first = Campaign.objects.create(
        name="A first", protocol="report-coverage", batch=study.campaign.batch
    )
    rows = ada.get("assignments/").json()["results"]
    listed = [(row["uid"], row["status"], row["revision"], row["has_draft"]) for row in rows]
    assert listed == [(str(done.uid), "done", 2, False), (str(begun.uid), "open", 0, True)]
    when = [row["submitted_at"] and datetime.fromisoformat(row["submitted_at"])
            for row in rows]  # fmt: skip
    assert when == [answer.created_at, None]
    Item.objects.filter(pk=begun.item_id).update(campaign=first)
    rows = ada.get("assignments/").json()["results"]
    assert [row["uid"] for row in rows] == [str(begun.uid), str(done.uid)]
    only = ada.get(f"assignments/?campaign={study.campaign.pk}").json()["results"]
    assert [row["uid"] for row in only] == [str(done.uid)]


def test_the_same_key_returns_the_same_next_item_even_after_its_answer(
    study: Study, ada: Script
) -> None:
    place_of_next = f"campaigns/{study.campaign.pk}/next/"
    item = ada.post(place_of_next, Idempotency_Key="k").json()
    ada.put(f"assignments/{item['uid']}/response/", body("no", "no", "no"))
    assert ada.post(place_of_next, Idempotency_Key="k").json() == item
    other = ada.post(place_of_next, Idempotency_Key="l").json()
    assert other["uid"] != item["uid"]
    assert Assignment.objects.count() == 2


class TestRefusedAnswers:
    def refused(self, study: Study, mine: Assignment) -> list[str]:
        sent = script_of(study.ada).put(place(mine, "response/"), body("no", "no", "no"))
        return [each["wrong"] for each in assert_error(sent, 422)]

    def test_the_reason_says_what_to_do(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        Campaign.objects.update(deadline=timezone.now() - timedelta(minutes=1))
        past = "the campaign's deadline is past; ask its researcher for more time"
        assert self.refused(study, mine) == [past]
        Campaign.objects.update(is_open=False)
        closed = "the campaign is closed; ask its researcher to open it again"
        assert self.refused(study, mine) == [closed]
        assert not Response.objects.exists()

    def test_an_earlier_answer_is_confirmed_after_the_campaign_closed(self, study: Study) -> None:
        mine, ada = study.assignment(study.ada), script_of(study.ada)
        first = ada.put(place(mine, "response/"), body("no", "no", "no"), Idempotency_Key="k")
        Campaign.objects.update(is_open=False)
        again = ada.put(place(mine, "response/"), body("no", "no", "no"), Idempotency_Key="k")
        assert (first.status_code, again.status_code) == (201, 200)
        other = ada.put(place(mine, "response/"), body("no", "no", "no"), Idempotency_Key="l")
        assert_error(other, 422)


def test_a_conflict_returns_the_newest_answer_and_its_versions(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    sentence = "there is a newer {} of your answer; read it, and send yours again"
    submit(mine, payload("no", "first"), "page")
    late = ada.put(place(mine, "response/"), body("invalid", "no", "no"))
    assert_error(late, 409)
    assert sentence.format("revision 1") in late.content.decode()
    current = late.json()["current"]
    saved = {"saved_at": current["saved_at"]}
    assert current == saved | payload("no", "first") | {"revision": 1, "draft": 0}
    Draft.objects.create(assignment=mine, payload=payload("invalid", "later"), version=2)
    late = ada.put(place(mine, "response/"), body("no", "no", "no", revision=1))
    assert sentence.format("draft 2") in late.content.decode()
    current = late.json()["current"]
    saved = {"saved_at": current["saved_at"]}
    assert current == saved | payload("invalid", "later") | {"revision": 1, "draft": 2}
