"""A person who cannot judge an item gives a reason, and another person gets the item."""

from __future__ import annotations

import json

import pytest

from annotation.integrity import CheckedCounts, violations
from annotation.models import Assignment, Item, rater_of
from annotation.progress.person import Progress, minutes_left, progress_here
from annotation.views.intake import gone_address
from tests.cast import run
from tests.once import once
from tests.page_cast import Study, client_of, make_study, page

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study(reports=1, people=1)


def test_the_reason_is_stored_exported_and_the_slot_goes_to_another_person(study: Study) -> None:
    mine, ada = study.assignment(study.ada), client_of(study.ada)
    answer = ada.post(page("cannot-judge", mine), {"reason": "unreadable"})
    assert answer.headers["Location"] == f"/tasks/finished/{study.campaign.pk}/"
    mine.refresh_from_db()
    assert (mine.status, mine.reason, mine.slot) == ("declined", "unreadable", None)
    assert Item.objects.get().taken == 0
    labels = run("export", "--campaign", study.campaign.name, "--what", "labels").splitlines()
    rows = [json.loads(line) for line in labels]
    assert {(row["rater"], row["missing"], row.get("value")) for row in rows} == {
        (rater_of(study.ada).name, "unreadable", None)
    }
    assert progress_here(study.ada, study.campaign).left == 0
    assert study.assignment(study.ben).item_id == mine.item_id
    assert list(violations((), CheckedCounts())) == []


def test_an_item_is_answered_after_all_while_its_slot_is_free(study: Study) -> None:
    mine, ada = study.assignment(study.ada), client_of(study.ada)
    ada.post(page("cannot-judge", mine), {"reason": "ambiguous"})
    finished = f"/tasks/finished/{study.campaign.pk}/"
    assert finished in ada.get("/tasks/").content.decode()
    assert "Items that you could not judge" in ada.get(finished).content.decode()
    assert client_of(study.ben).post(page("take-up", mine)).status_code == 404
    assert ada.post(page("take-up", mine)).headers["Location"] == page("item", mine)
    assert Assignment.objects.get().status == "open"
    ada.post(page("cannot-judge", mine), {"reason": "ambiguous"})
    study.assignment(study.ben)
    assert ada.post(page("take-up", mine)).headers["Location"] == gone_address()


def test_neither_an_unknown_reason_nor_an_answered_item_is_declined(study: Study) -> None:
    mine, ada = study.assignment(study.ada), client_of(study.ada)
    assert ada.post(page("cannot-judge", mine), {"reason": "boring"}).status_code == 302
    Assignment.objects.update(status="done")
    assert ada.post(page("cannot-judge", mine), {"reason": "declined"}).status_code == 302
    assert Assignment.objects.get().status == "done"


def test_minutes_left_follow_the_persons_own_pace() -> None:
    assert minutes_left(Progress(done=3, free=12), 125.0) == 25
    assert minutes_left(Progress(done=3, free=1), 20.0) == 1
    assert minutes_left(Progress(done=3), 20.0) is None
    assert minutes_left(Progress(done=3, free=1), None) is None
