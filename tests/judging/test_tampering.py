"""Changes to people's answers from outside Tandem are found, row by row."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.integrity import CheckedCounts
from annotation.models import (
    Assignment,
    Decision,
    Draft,
    Label,
    QuerySampling,
    Rater,
    Response,
    Span,
    Tally,
    Unit,
    UnitSampling,
    rater_of,
)
from datasets import digests
from datasets.models import Batch, Report
from judging.invariants import CHECKS, violations
from tests.annotation.adjudication.cast import Dispute, answer, decided, make_dispute
from tests.cast import run
from tests.databases import rolled_back
from tests.page_cast import answers, client_of, page

pytestmark = pytest.mark.django_db
FIRST, SECOND = "hidden-system-0:r", "hidden-system-1:r"


@dataclass
class Cast:
    """Ada answered through her page and changed it; Ben answered, and began his next report."""

    there: Dispute
    ada: Assignment
    ben: Assignment
    begun: Assignment

    def at(self, assignment: Assignment, *words: str) -> str:
        """The name of an assignment in messages."""
        name = assignment.rater.name
        return ", ".join((f"campaign Pilot, {name}, item {assignment.item.key}", *words))


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cast]:
    """The data, created once because that takes longer than most tests, and restored after each."""
    with rolled_back(django_db_blocker):
        yield make_cast()


@pytest.fixture
def cast(made: Cast, db: None) -> Cast:
    return deepcopy(made)


def make_cast() -> Cast:
    there = make_dispute()
    batch = Batch.objects.get()
    Batch.objects.update(digest=digests.recompute_digest(batch), counts={"queries": 1})
    ada, ben = (
        Assignment.objects.get(item=there.item, rater=rater_of(user))
        for user in (there.study.ada, there.study.ben)
    )
    sent = client_of(there.study.ada).post(
        page("submit", ada), answers("yes", "yes", "invalid", seen=1, comment="changed 🛶")
    )
    assert sent.json()["revision"] == 2
    begun = there.study.assignment(there.study.ben)
    kept = client_of(there.study.ben).post(
        page("draft", begun), answers("no", None, None, version=0, seen=0)
    )
    assert kept.json()["version"] == 1
    tie, split, _ = there.units
    decided(there, tie)
    decided(there, split, "no")
    decided(there, split, "yes", seen=1)
    assert digests.add_missing_digests() == ["harbour"]
    return Cast(there, ada, ben, begun)


def found() -> list[str]:
    return [str(violation) for violation in violations(CheckedCounts())]


@pytest.mark.postgresql
def test_an_untampered_study_has_no_violations(cast: Cast) -> None:
    assert found() == []
    assert run("check_invariants").strip() == "The invariants hold."


def test_the_check_counts_the_checked_rows(cast: Cast) -> None:
    seen = CheckedCounts()
    assert list(violations(seen)) == []
    there = (Assignment, Response, Label, Span)
    counted = (seen.assignments, seen.answers, seen.labels, seen.spans)
    assert counted == tuple(model.objects.count() for model in there)
    assert seen.campaigns == 1


def label_of(assignment: Assignment, unit: str = "q:1") -> Label:
    found = Label.objects.filter(response__assignment=assignment, response__current=True)
    return found.get(unit__name=unit)


@pytest.mark.postgresql
def test_a_deleted_answer_is_found(cast: Cast) -> None:
    Response.objects.filter(assignment=cast.ben).delete()
    assert found() == [f"status: {cast.at(cast.ben)}: is done, but its answer is missing"]


def test_a_deleted_label_is_found(cast: Cast) -> None:
    label_of(cast.ben).delete()
    place = cast.at(cast.ben, "revision 1", "unit q:1", "variable answerable")
    assert found() == [f"labels: {place}: its label is missing; the answer has 'yes'"]


@pytest.mark.postgresql
def test_a_flipped_label_is_found(cast: Cast) -> None:
    Label.objects.filter(pk=label_of(cast.ben).pk).update(value="no")
    place = cast.at(cast.ben, "revision 1", "unit q:1", "variable answerable")
    assert found() == [f"labels: {place}: is labelled 'no', but the answer has 'yes'"]


@pytest.mark.postgresql
def test_a_flipped_label_of_an_earlier_revision_is_found(cast: Cast) -> None:
    first = Response.objects.get(assignment=cast.ada, revision=1)
    first.labels.filter(unit__name="q:2").update(value="yes")
    place = cast.at(cast.ada, "revision 1", "unit q:2", "variable answerable")
    assert found() == [f"labels: {place}: is labelled 'yes', but the answer has 'no'"]


@pytest.mark.every_case
@pytest.mark.parametrize("payload", [{}, {"units": None, "comment": None}, []])
def test_an_emptied_answer_is_found(cast: Cast, payload: Any) -> None:
    Response.objects.filter(assignment=cast.ben).update(payload=payload)
    place = cast.at(cast.ben, "revision 1")
    assert found() == [f"labels: {place}: its payload contains no units"]


def test_a_payload_without_its_units_is_found(cast: Cast) -> None:
    emptied: dict[str, Any] = {"units": {}, "comment": None}
    Response.objects.filter(assignment=cast.ben).update(payload=emptied)
    lines = found()
    for unit in ("q:0", "q:1", "q:2"):
        place = cast.at(cast.ben, "revision 1", f"unit {unit}")
        assert f"labels: {place}: was asked, but its payload has no answer to it" in lines
        more = cast.at(cast.ben, "revision 1", f"unit {unit}", "variable answerable")
        assert any(line.startswith(f"labels: {more}: is labelled") for line in lines)


def test_a_payload_without_its_required_quote_is_found(cast: Cast) -> None:
    """A yes without a highlight could not have been sent from the page."""
    response = Response.objects.get(assignment=cast.ben)
    response.payload["units"]["q:1"]["evidence"] = []
    response.save()
    Span.objects.filter(label__response=response).delete()
    (line,) = found()
    place = cast.at(cast.ben, "revision 1", "unit q:1")
    assert line.startswith(f"labels: {place}: its payload would have been refused: evidence")


def test_a_payload_with_an_unknown_code_is_found(cast: Cast) -> None:
    response = Response.objects.get(assignment=cast.ben)
    response.payload["units"]["q:1"]["answerable"] = "perhaps"
    response.save()
    (line,) = found()
    assert line.startswith(
        f"labels: {cast.at(cast.ben, 'revision 1')}: its payload is not an answer"
    )
    assert "'perhaps' is not a code" in line


def test_a_comment_that_differs_from_its_payload_is_found(cast: Cast) -> None:
    Response.objects.filter(assignment=cast.ben).update(comment="planted")
    place = cast.at(cast.ben, "revision 1")
    assert found() == [f"labels: {place}: its comment differs from its payload"]


def test_an_assignment_without_a_current_answer_is_found(cast: Cast) -> None:
    Response.objects.filter(assignment=cast.ada).update(current=False)
    place = cast.at(cast.ada, "revision 2")
    assert found() == [f"revisions: {place}: none of its 2 answers is current"]


def test_an_earlier_revision_made_current_again_is_found(cast: Cast) -> None:
    Response.objects.filter(assignment=cast.ada, revision=2).update(current=False)
    Response.objects.filter(assignment=cast.ada, revision=1).update(current=True)
    place = cast.at(cast.ada, "revision 1")
    assert found() == [f"revisions: {place}: is current, though revision 2 came after it"]


def test_a_gap_in_the_revisions_is_found(cast: Cast) -> None:
    Response.objects.filter(assignment=cast.ada, revision=2).update(revision=7)
    place = cast.at(cast.ada, "revision 7")
    assert found() == [f"revisions: {place}: is revision 7, and follows revision 1"]


def test_a_deleted_first_revision_is_found(cast: Cast) -> None:
    Response.objects.filter(assignment=cast.ada, revision=1).delete()
    place = cast.at(cast.ada, "revision 2")
    assert found() == [f"revisions: {place}: is revision 2, and follows no other"]


@pytest.mark.every_case
@pytest.mark.parametrize("status", ["open", "cancelled", "failed", "leased"])
def test_a_reopened_assignment_with_an_answer_is_found(cast: Cast, status: str) -> None:
    Assignment.objects.filter(pk=cast.ada.pk).update(status=status)
    message = f"status: {cast.at(cast.ada)}: is {status}, though revision 2 answers it"
    assert message in found()


def test_an_unknown_status_is_found(cast: Cast) -> None:
    Assignment.objects.filter(pk=cast.ada.pk).update(status="lost")
    assert f"status: {cast.at(cast.ada)}: is 'lost', which is not a status" in found()


def span_of(assignment: Assignment) -> Span:
    return Span.objects.get(label=label_of(assignment))


def test_a_span_beyond_its_text_is_found(cast: Cast) -> None:
    Span.objects.filter(pk=span_of(cast.ben).pk).update(start=9000, end=9005)
    (line,) = found()
    place = cast.at(cast.ben, "revision 1", "unit q:1", "variable answerable")
    assert line.startswith(f"evidence: {place}: has a span up to 9005, but the report ends at ")


def test_an_invented_quote_is_found(cast: Cast) -> None:
    Span.objects.filter(pk=span_of(cast.ben).pk).update(quote="invented")
    place = cast.at(cast.ben, "revision 1", "unit q:1", "variable answerable")
    says = "quotes 'invented' at 0, where the report has 'Zoë 🛶'"
    assert found() == [f"evidence: {place}: {says}"]


def test_a_span_that_its_answer_does_not_quote_is_found(cast: Cast) -> None:
    Span.objects.create(
        label=label_of(cast.ben), field="report", start=6, end=13, quote="crossed", method="exact"
    )
    place = cast.at(cast.ben, "revision 1", "unit q:1")
    assert found() == [
        f"evidence: {place}, variable answerable: quotes 'crossed', but its answer does not",
        f"evidence: {place}: has 2 spans, but its answer has 1 quotes",
    ]


def test_a_quote_without_a_position_that_its_answer_lacks_is_found(cast: Cast) -> None:
    label = label_of(cast.there.study.campaign.items.get(position=0).assignments.get(
        rater=cast.there.judge))  # fmt: skip
    Span.objects.create(label=label, field="report", quote="invented", method="none")
    lines = found()
    assert any(line.endswith("quotes 'invented', but its answer does not") for line in lines)


@pytest.mark.postgresql
def test_a_missing_span_is_found(cast: Cast) -> None:
    span_of(cast.ben).delete()
    place = cast.at(cast.ben, "revision 1", "unit q:1", "variable answerable")
    assert found() == [f"evidence: {place}: its answer quotes 'Zoë 🛶', but no span does"]


def test_a_span_in_a_text_outside_its_item_is_found(cast: Cast) -> None:
    Span.objects.filter(pk=span_of(cast.ben).pk).update(field="passage:p")
    (line,) = found()
    assert line.endswith("has a span in 'passage:p', which is not a text of its item")


def test_a_changed_text_is_found(cast: Cast) -> None:
    Report.objects.filter(key=SECOND).update(text="Another text.")
    assert found() == [
        "texts: batch harbour: query 'q': the text of report 'hidden-system-1:r' is not the one "
        "that was loaded"
    ]


def test_a_label_for_a_unit_of_another_item_is_found(cast: Cast) -> None:
    other = Unit.objects.get(item=cast.begun.item, name="q:1")
    Label.objects.filter(pk=label_of(cast.ben).pk).update(unit=other)
    lines = found()
    strange = "variable answerable has a label for unit 'q:1', which was not asked"
    assert f"labels: {cast.at(cast.ben, 'revision 1')}: {strange}" in lines


@pytest.mark.postgresql
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"payload": {"comment": None}}, "its draft contains no units"),
        ({"payload": {"units": {"q:9": {}}}}, "is answered in its draft, but was not asked"),
        ({"version": 0}, "its draft has version 0"),
    ],
)
def test_a_tampered_draft_is_found(cast: Cast, change: dict[str, Any], says: str) -> None:
    Draft.objects.update(**change)
    (line,) = found()
    assert line.startswith(f"drafts: {cast.at(cast.begun)}")
    assert line.endswith(says)


def test_a_draft_of_a_judge_is_found(cast: Cast) -> None:
    row = Assignment.objects.get(rater=cast.there.judge)
    Draft.objects.create(assignment=row, payload={"units": {}})
    assert found() == [
        f"drafts: {cast.at(row)}: has a draft, which only people's assignments may have"
    ]


def _without_reason() -> None:
    for response in Response.objects.filter(decision__isnull=False, revision=2):
        response.payload["comment"], response.comment = None, ""
        response.save()


def _of_somebody_else() -> None:
    other = Response.objects.filter(assignment__rater__kind="judge").first()
    Decision.objects.filter(response__revision=2).update(response=other)


@pytest.mark.postgresql
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (lambda: Decision.objects.filter(response__revision=2).delete(), "but has no decision"),
        (
            lambda: Decision.objects.filter(response__revision=2).update(
                unit=Unit.objects.get(item__key=FIRST, name="q:2")
            ),
            "its decision is on another unit than its answer",
        ),
        (
            lambda: Decision.objects.filter(response__revision=2).update(
                by=Rater.objects.get(kind="judge")
            ),
            "its decision is by a rater who is not a person",
        ),
        (_without_reason, "its decision has no reason"),
        (_of_somebody_else, "has a decision, but is not from the Reference"),
    ],
)
def test_a_tampered_decision_is_found(cast: Cast, tamper: Callable[[], object], says: str) -> None:
    tamper()
    lines = found()
    assert any(line.startswith("decisions: campaign Pilot") and line.endswith(says)
               for line in lines)  # fmt: skip
    assert {line.partition(":")[0] for line in lines} == {"decisions"}


@pytest.mark.postgresql
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (lambda: QuerySampling.objects.update(probability=0.5), "with another probability"),
        (lambda: QuerySampling.objects.all().delete(), "query 'q' has no stored sample"),
        (
            lambda: UnitSampling.objects.filter(item__key=FIRST, key="q:1").update(drawn=False),
            "is stored differently from its replay",
        ),
        (
            lambda: UnitSampling.objects.filter(item__key=FIRST).delete(),
            "has no stored sample of units",
        ),
        (
            lambda: Unit.objects.create(
                item=UnitSampling.objects.all()[0].item,
                kind="question",
                key="x",
                name="x",
                position=9,
            ),
            "asks other units than those of its sample",
        ),
    ],
)
def test_a_tampered_sampling_is_found(cast: Cast, tamper: Callable[[], object], says: str) -> None:
    tamper()
    assert any(line.startswith("draws: campaign Pilot: ") and says in line for line in found())


@pytest.mark.postgresql
def test_a_tampered_tally_is_found(cast: Cast) -> None:
    row = Tally.objects.filter(what="items/study")[0]
    Tally.objects.filter(pk=row.pk).update(number=row.number + 1)
    (line,) = found()
    assert line.startswith("Tallies: campaign ")


def test_a_gap_of_revisions_from_an_import_is_allowed(cast: Cast, tmp_path: Any) -> None:
    unit = Unit.objects.get(item__key=SECOND, name="q:0")
    line = {
        "item": SECOND, "unit": unit.key, "kind": unit.kind, "variable": "answerable",
        "value": "no", "rater": "file", "rater_kind": "human", "revision": 3,
    }  # fmt: skip
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps(line) + "\n", "utf-8")
    run("import_labels", path, "--campaign", "Pilot")
    assert Response.objects.get(assignment__rater__name="file").revision == 3
    assert found() == []
    Response.objects.filter(assignment__rater__name="file").update(revision=7)
    place = f"campaign Pilot, file, item {SECOND}, revision 7"
    assert found() == [f"revisions: {place}: is revision 7, and follows no other"]


def test_the_command_fails_and_repairs_nothing(cast: Cast) -> None:
    Label.objects.filter(pk=label_of(cast.ben).pk).update(value="no")
    with pytest.raises(CommandError, match="do not hold: 1 violations"):
        run("check_invariants")
    assert label_of(cast.ben).value == "no"


def as_json() -> dict[str, Any]:
    out = io.StringIO()
    with suppress(CommandError):
        call_command("check_invariants", "--format", "json", stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


@pytest.mark.postgresql
def test_the_json_names_each_row_by_its_keys_with_its_repair(cast: Cast) -> None:
    label = label_of(cast.ben)
    Label.objects.filter(pk=label.pk).update(value="no")
    Response.objects.filter(assignment=cast.ada, revision=2).update(revision=7)
    result = as_json()
    assert set(result) == {"violations", "holds", "checks", "checked", "digested"}
    assert result["holds"] is False
    gap, flipped = result["violations"]
    assert set(gap) == set(flipped) == {"check", "wrong", "where"}
    assert flipped["where"] == {
        "campaign": "Pilot", "rater": cast.ben.rater.name, "item": FIRST, "revision": 1,
        "unit": "q:1", "variable": "answerable", "table": "annotation_label", "id": label.pk,
    }  # fmt: skip
    assert (gap["check"], gap["where"]["revision"]) == ("revisions", 7)
    checks = {check["name"]: check for check in result["checks"]}
    assert set(checks) == {check.name for check in CHECKS}
    assert {name for name, check in checks.items() if check["violations"]} == {
        "labels", "revisions",
    }  # fmt: skip
    assert all(check["mend"] and check["holds"] for check in result["checks"])


def test_the_json_of_an_untampered_study_lists_no_violation(cast: Cast) -> None:
    result = as_json()
    assert (result["holds"], result["violations"], result["digested"]) == (True, [], [])
    assert result["checked"]["labels"] == Label.objects.count()


def test_the_text_says_how_to_repair_each_violation(cast: Cast) -> None:
    Label.objects.filter(pk=label_of(cast.ben).pk).update(value="no")
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("check_invariants", stdout=out)
    assert [line.partition(":")[0] for line in out.getvalue().splitlines()] == [
        "labels", "To repair labels",
    ]  # fmt: skip


@pytest.mark.postgresql
def test_the_number_of_queries_does_not_grow_with_the_answers(cast: Cast) -> None:
    with CaptureQueriesContext(connection) as few:
        assert found() == []
    for number in range(20):
        rater = Rater.objects.create(name=f"person {number}")
        asked = ["q:0", "q:1", "q:2"]
        row = Assignment.objects.create(item=cast.there.item, rater=rater, asked=asked)
        answer(row, "yes", "no", "no")
    with CaptureQueriesContext(connection) as many:
        assert found() == []
    assert len(many) == len(few)
