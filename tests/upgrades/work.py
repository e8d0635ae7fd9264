"""What must be true after an upgrade from version 0.5.0, whatever else the database holds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from annotation.models import Assignment, Campaign, Item, Label, Response, Span, User
from audit.models import Event
from datasets.models import QueryDigest
from judging.models import Judge, JudgeCall
from judging.runs import ledger
from tests.api.cast import script_of
from tests.cast import run
from tests.judging.cast import run_scripted
from tests.upgrades.version_0_5_0 import ADAS_COOKIE, RESERVED, STORED


def stored(label: str) -> list[dict[str, Any]]:
    return [row for name, row in STORED if name == label]


def as_stored(model: Any, *names: str) -> list[dict[str, Any]]:
    found = model.objects.order_by("pk").values(*names)
    return [
        {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in row.items()
        }
        for row in found
    ]


def pilot() -> Campaign:
    """The campaign that commands created, which every database in these tests has."""
    return Campaign.objects.get(name="Pilot")


class WorkGoesOn:
    """Tests that modules inherit after they have upgraded a database."""

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
    def test_no_answer_and_no_call_is_changed(self, model: Any, names: tuple[str, ...]) -> None:
        expected = [{name: row[name] for name in names} for row in stored(model._meta.label)]
        assert as_stored(model, *names) == expected != []

    def test_people_keep_the_items_that_they_began(self) -> None:
        begun = Assignment.objects.filter(status="open", slot__isnull=False)
        held = begun.filter(item__campaign=pilot()).values_list("held_until", flat=True)
        assert list(held) == [RESERVED, RESERVED]
        items = Item.objects.filter(campaign=pilot()).order_by("position")
        assert list(items.values_list("taken", flat=True)) == [2, 2, 0, 0]

    def test_a_person_stays_logged_in_though_the_key_of_the_session_is_no_longer_stored(
        self,
    ) -> None:
        (stored_key,) = Session.objects.values_list("pk", flat=True)
        assert stored_key not in ADAS_COOKIE
        browser = Client()
        browser.cookies["sessionid"] = ADAS_COOKIE
        assert browser.get("/tasks/").context["user"].username == "ada"

    def test_names_and_addresses_of_wrong_log_ins_are_gone(self) -> None:
        assert "axes" not in " ".join(connection.introspection.table_names())
        applied = MigrationRecorder(connection).applied_migrations()
        assert "axes" not in {app for app, _ in applied}

    def test_the_database_is_consistent_and_its_texts_get_digests(self) -> None:
        assert run("check_invariants").endswith("The invariants hold.\n")
        assert QueryDigest.objects.count() == 2

    def test_the_audit_trail_is_valid_and_records_the_gap_in_imported_revisions(self) -> None:
        assert "2 seals are valid" in run("check_audit")
        (gap,) = Event.objects.filter(event="answer.numbered")
        (cyd,) = Assignment.objects.filter(rater__name="Cyd")
        assert (gap.object_id, gap.facts) == (str(cyd.pk), {"revision": 3})

    def test_a_person_answers_the_item_that_was_begun_before(self) -> None:
        begun = Assignment.objects.get(rater__user__username="ben", status="open")
        script = script_of(User.objects.get(username="ben"))
        answer = {"units": {name: {"answerable": "no", "evidence": []} for name in begun.asked}}
        sent = script.put(f"assignments/{begun.uid}/response/", answer)
        assert sent.status_code == 201, sent.content
        begun.refresh_from_db()
        assert begun.status == "done"
        after = script.post(f"campaigns/{pilot().pk}/next/").json()
        assert after["uid"] != str(begun.uid)
        run("check_invariants")

    def test_the_judge_is_asked_only_for_what_it_had_not_answered(self) -> None:
        campaign, judge = pilot(), Judge.objects.get()
        (left,) = Assignment.objects.filter(rater=judge.rater, status="open")
        resumed, ending, backend = run_scripted(campaign, judge)
        assert ending.how == "finished"
        asked = [[unit.name for unit in each.facts.units] for each in backend.asked]
        assert asked == [left.asked]
        assert (resumed.done, resumed.calls) == (1, 1)
        assert ledger.count_by_status(campaign, judge) == {"done": 4}
        run("check_invariants")
