"""A database of version 0.5.0 with a running campaign is upgraded, and the work goes on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Assignment, Campaign, Item, Label, Response, Span, User
from audit.models import Event
from datasets.models import QueryDigest, Team
from judging.models import Judge, JudgeCall
from judging.runs import ledger
from tests.api.cast import script_of
from tests.cast import run
from tests.judging.cast import run_scripted
from tests.migrating import quickly
from tests.upgrades.version_0_5_0 import RESERVED, STORED, installed

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


def stored(label: str) -> list[dict[str, Any]]:
    return [row for name, row in STORED if name == label]


@pytest.fixture(scope="module", autouse=True)
def upgraded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The database as version 0.5.0 left it, migrated to this version."""
    with installed(django_db_blocker):
        with quickly():
            call_command("migrate", verbosity=0)
        yield


def as_stored(model: Any, *names: str) -> list[dict[str, Any]]:
    found = model.objects.order_by("pk").values(*names)
    return [
        {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in row.items()
        }
        for row in found
    ]


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (Response, ("id", "assignment_id", "revision", "current", "payload", "created_at")),
        (Label, ("id", "response_id", "unit_id", "variable", "value")),
        (Span, ("id", "label_id", "field", "start", "end", "quote", "method")),
        (JudgeCall, ("id", "assignment_id", "request_hash", "state", "completion")),
    ],
    ids=["answers", "labels", "spans", "calls"],
)
@pytest.mark.every_case
def test_no_answer_and_no_call_is_changed(model: Any, names: tuple[str, ...]) -> None:
    expected = [{name: row[name] for name in names} for row in stored(model._meta.label)]
    assert as_stored(model, *names) == expected != []


def test_the_only_account_that_could_create_anything_has_it_all() -> None:
    team = Team.objects.get()
    assert (team.name, Campaign.objects.get().team, Judge.objects.get().team) == (
        "rita",
        team,
        team,
    )
    roles = dict(team.members.values_list("user__username", "role"))
    assert roles == {"rita": "owner", "ada": "member", "ben": "member"}


def test_people_keep_the_items_that_they_began() -> None:
    begun = Assignment.objects.filter(status="open", slot__isnull=False)
    assert list(begun.values_list("held_until", flat=True)) == [RESERVED, RESERVED]
    assert list(Item.objects.order_by("position").values_list("taken", flat=True)) == [2, 2, 0, 0]


def test_the_database_is_consistent_and_its_texts_get_digests() -> None:
    assert run("check_invariants").endswith("The invariants hold.\n")
    assert QueryDigest.objects.count() == 2


def test_the_audit_trail_holds_and_notes_the_gap_in_numbers_from_a_file() -> None:
    assert "2 seals hold" in run("check_audit")
    (gap,) = Event.objects.filter(event="answer.numbered")
    (cyd,) = Assignment.objects.filter(rater__name="Cyd")
    assert (gap.object_id, gap.facts) == (str(cyd.pk), {"revision": 3})


def test_a_person_answers_the_item_that_was_begun_before() -> None:
    begun = Assignment.objects.get(rater__user__username="ben", status="open")
    script = script_of(User.objects.get(username="ben"))
    answer = {"units": {name: {"answerable": "no", "evidence": []} for name in begun.asked}}
    sent = script.put(f"assignments/{begun.uid}/response/", answer)
    assert sent.status_code == 201, sent.content
    begun.refresh_from_db()
    assert begun.status == "done"
    after = script.post(f"campaigns/{Campaign.objects.get().pk}/next/").json()
    assert after["uid"] != str(begun.uid)
    run("check_invariants")


def test_the_judge_is_asked_only_for_what_it_had_not_answered() -> None:
    campaign, judge = Campaign.objects.get(), Judge.objects.get()
    (left,) = Assignment.objects.filter(rater=judge.rater, status="open")
    resumed, ending, backend = run_scripted(campaign, judge)
    assert ending.how == "finished"
    assert [[unit.name for unit in asked.facts.units] for asked in backend.asked] == [left.asked]
    assert (resumed.done, resumed.calls) == (1, 1)
    assert ledger.count_by_status(campaign, judge) == {"done": 4}
    run("check_invariants")
