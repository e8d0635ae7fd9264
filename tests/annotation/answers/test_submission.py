"""Every channel stores answers through one function, and nothing else writes them."""

from __future__ import annotations

import ast
import uuid
from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import (
    REASONS,
    Circumstances,
    LostLeaseError,
    fail,
    submit,
)
from annotation.answers.types import ConflictError
from annotation.models import Assignment, Campaign, Draft, Label, Rater, Response, Span
from tandem.protocols.validation import Channel, RefusedError
from tests.annotation.answering import good_answer, person
from tests.cast import FULL, ROOT, campaign_of, exported

pytestmark = pytest.mark.usefixtures("batch")

STRICT: tuple[Channel, ...] = ("page", "api")


@pytest.fixture
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage")


@pytest.fixture
def mine(coverage: Campaign) -> Assignment:
    """A person's assignment to report `r` with its three questions."""
    return person(coverage.items.get(key="r"), "ann")


def answer(assignment: Assignment, **changes: Any) -> dict[str, Any]:
    units = good_answer(assignment)
    units["🌉"] |= changes
    return {"units": units, "comment": None}


def no(assignment: Assignment) -> dict[str, Any]:
    return answer(assignment, answerable="no", evidence=[])


def quoted(assignment: Assignment, *quotes: dict[str, Any]) -> dict[str, Any]:
    return answer(assignment, evidence=list(quotes))


@pytest.mark.postgresql
def test_an_answer_becomes_labels_and_spans(mine: Assignment) -> None:
    outcome = submit(mine, answer(mine), "page", Circumstances(seconds=7.5))
    assert (outcome.created, outcome.warnings) == (True, ())
    labels = outcome.response.labels.order_by("unit__position")
    assert [(x.unit.name, x.value) for x in labels] == [(n, "yes") for n in mine.asked]
    assert [(s.start, s.end, s.method) for s in Span.objects.filter(label=labels[0])] == [
        (5, 14, "exact"),
        (2, 9, "exact"),
    ]
    mine.refresh_from_db()
    assert (mine.status, mine.seconds, mine.lease) == ("done", 7.5, None)


@pytest.mark.every_case
@pytest.mark.parametrize(("later", "kept"), [(None, 7.5), (0.0, 0.0), (3.0, 3.0)])
def test_the_time_on_task_is_kept_until_a_save_sends_another(
    mine: Assignment, later: float | None, kept: float
) -> None:
    submit(mine, answer(mine), "page", Circumstances(seconds=7.5))
    submit(mine, no(mine), "page", Circumstances(seconds=later))
    mine.refresh_from_db()
    assert mine.seconds == kept


@pytest.mark.postgresql
def test_the_same_key_is_stored_once(mine: Assignment) -> None:
    first = submit(mine, answer(mine), "page", Circumstances(key="a"))
    again = submit(mine, answer(mine), "page", Circumstances(key="a", seen=0))
    assert (again.response, again.created) == (first.response, False)
    assert Response.objects.count() == 1


def test_a_late_replay_does_not_restore_an_old_answer(mine: Assignment) -> None:
    first = submit(mine, answer(mine), "page", Circumstances(key="a"))
    submit(mine, no(mine), "page", Circumstances(key="b", seen=1))
    Draft.objects.create(assignment=mine, payload=answer(mine))
    again = submit(mine, answer(mine), "page", Circumstances(key="a", seen=0))
    assert (again.response, again.created) == (first.response, False)
    assert Response.objects.get(current=True).key == "b"
    assert Draft.objects.exists()


def test_a_save_sent_again_after_the_lease_ended_is_the_stored_one(mine: Assignment) -> None:
    lease = uuid.uuid4()
    Assignment.objects.update(lease=lease, status="leased")
    circumstances = Circumstances(key="call 1", lease=lease)
    first = submit(mine, answer(mine), "judge", circumstances)
    assert submit(mine, answer(mine), "judge", circumstances).response == first.response


def test_an_equal_answer_makes_no_new_revision(mine: Assignment) -> None:
    submit(mine, answer(mine), "page", Circumstances(key="a"))
    again = submit(mine, answer(mine), "page", Circumstances(key="b", seen=1))
    assert not again.created
    assert Response.objects.count() == 1


def test_an_equal_answer_still_deletes_the_draft(mine: Assignment) -> None:
    submit(mine, answer(mine), "page")
    Draft.objects.create(assignment=mine, payload=answer(mine))
    submit(mine, answer(mine), "page")
    assert not Draft.objects.exists()


@pytest.mark.postgresql
def test_revisions_are_added_and_one_is_current(mine: Assignment) -> None:
    first = submit(mine, answer(mine), "page").response
    labels = list(first.labels.values_list("id", "value"))
    submit(mine, no(mine), "page")
    submit(mine, answer(mine), "page")
    stored = Response.objects.order_by("revision").values_list("revision", "current")
    assert list(stored) == [(1, False), (2, False), (3, True)]
    assert list(first.labels.values_list("id", "value")) == labels
    assert len(exported("c", "labels")) == 3


def test_answering_over_an_unseen_answer_is_a_conflict(mine: Assignment) -> None:
    submit(mine, answer(mine), "page", Circumstances(seen=0))
    stands = submit(mine, no(mine), "page", Circumstances(seen=1)).response
    with pytest.raises(ConflictError) as conflict:
        submit(mine, answer(mine), "page", Circumstances(seen=1))
    assert conflict.value.revision == stands.revision
    assert Response.objects.count() == 2


def test_a_lost_lease_is_refused(mine: Assignment) -> None:
    Assignment.objects.update(lease=uuid.uuid4(), status="leased")
    for act in (
        lambda: submit(mine, answer(mine), "judge", Circumstances(lease=uuid.uuid4())),
        lambda: fail(mine, "timeout", uuid.uuid4()),
    ):
        with pytest.raises(LostLeaseError):
            act()
    mine.refresh_from_db()
    assert (mine.status, Response.objects.count()) == ("leased", 0)


def test_an_answer_deletes_the_draft(mine: Assignment) -> None:
    Draft.objects.create(assignment=mine, payload={"units": {}})
    submit(mine, answer(mine), "page")
    assert not Draft.objects.exists()


def test_a_refused_answer_changes_nothing(mine: Assignment) -> None:
    Draft.objects.create(assignment=mine, payload={"units": {}})
    with pytest.raises(RefusedError):
        submit(mine, {"units": {}, "comment": None}, "page")
    mine.refresh_from_db()
    assert (mine.status, Response.objects.count(), Draft.objects.count()) == ("open", 0, 1)


def test_a_misplaced_quote_from_page_or_api_is_refused(mine: Assignment) -> None:
    place = FULL.index("opened")
    moved = {"quote": "opened", "start": place + 1}
    for door in STRICT:
        with pytest.raises(RefusedError, match="unit '🌉' evidence: 'opened' was not found"):
            submit(mine, quoted(mine, moved), door)
    submit(mine, quoted(mine, {"quote": "opened", "start": place}), "page")
    starts = Span.objects.filter(label__unit__name="🌉").values_list("start", flat=True)
    assert (list(starts), Response.objects.count()) == ([place], 1)


def test_offsets_count_code_points(mine: Assignment) -> None:
    bridge, hebrew = FULL.index("🌉"), FULL.index("שלום לכולם")
    quotes = [{"quote": "🌉. It", "start": bridge}, {"quote": "שלום לכולם", "start": hebrew}]
    quotes += [{"quote": "1901.\r\nש", "start": FULL.index("1901.\r\n")}]
    submit(mine, quoted(mine, *quotes), "page")
    spans = Span.objects.filter(label__unit__name="🌉")
    assert [FULL[s.start : s.end] for s in spans] == [q["quote"] for q in quotes]


def test_the_second_of_two_equal_quotes_stays_the_second(mine: Assignment) -> None:
    second = FULL.rindex("It opened in 1901.")
    for door in ("page", "judge"):
        submit(mine, quoted(mine, {"quote": "It opened in 1901.", "start": second}), door)
        spans = Span.objects.filter(label__unit__name="🌉")
        assert set(spans.values_list("start", flat=True)) == {second}


def test_a_judge_s_quote_is_searched_for(mine: Assignment) -> None:
    loose = {"quote": "anna  lee\u0301 BUILT it", "start": None}
    outcome = submit(mine, quoted(mine, loose), "judge")
    span = Span.objects.get(label__unit__name="🌉")
    assert (span.quote, span.method, outcome.warnings) == ("Anna Lee\u0301 built it", "folded", ())


def test_an_import_keeps_an_unfound_quote_without_a_location(mine: Assignment) -> None:
    outcome = submit(mine, quoted(mine, {"quote": "elsewhere entirely"}), "import")
    span = Span.objects.get(label__unit__name="🌉")
    assert (span.start, span.end, span.quote, span.method) == (
        None,
        None,
        "elsewhere entirely",
        "none",
    )
    assert "was not found" in str(outcome.warnings[0])


def test_an_import_may_cover_a_part_of_the_item(mine: Assignment) -> None:
    outcome = submit(mine, {"units": {"🌉": {"answerable": "no"}}, "comment": None}, "import")
    assert outcome.response.labels.count() == 1


@pytest.mark.every_case
@pytest.mark.parametrize("reason", REASONS)
def test_a_failure_stores_a_missing_reason(mine: Assignment, reason: str) -> None:
    fail(mine, reason)
    mine.refresh_from_db()
    assert (mine.status, mine.reason) == ("declined" if reason == "declined" else "failed", reason)
    assert not Label.objects.exists()
    lines = exported("c", "labels")
    assert [(line["unit"], line["missing"]) for line in lines] == [(n, reason) for n in mine.asked]
    assert all("value" not in line for line in lines)


def test_an_import_with_equal_labels_and_quotes_changes_nothing(mine: Assignment) -> None:
    def imported(comment: str | None = None, *quotes: dict[str, Any]) -> bool:
        evidence = list(quotes) or [{"quote": "1901", "start": None}]
        payload = answer(mine, evidence=evidence) | {"comment": comment}
        return submit(mine, payload, "import").created

    assert imported()
    assert not imported("", {"quote": "1901", "start": FULL.index("1901")})
    assert imported("Sure.")
    assert not imported("Sure.")
    assert imported("Sure.", {"quote": "opened", "start": None})
    assert imported("Sure.", {"quote": "opened", "start": None}, {"quote": "1901", "start": None})


def test_a_failure_without_a_known_reason_is_an_error(mine: Assignment) -> None:
    with pytest.raises(ValueError, match="'bored' is not a missing reason"):
        fail(mine, "bored")


def test_a_failure_does_not_remove_an_answer(mine: Assignment) -> None:
    submit(mine, answer(mine), "page")
    with pytest.raises(LostLeaseError):
        fail(mine, "timeout")
    mine.refresh_from_db()
    assert mine.status == "done"
    assert {line["value"] for line in exported("c", "labels")} == {"yes"}


def test_an_answer_after_a_failure_removes_the_missing_reason(mine: Assignment) -> None:
    fail(mine, "timeout")
    submit(mine, answer(mine), "judge")
    mine.refresh_from_db()
    assert (mine.status, mine.reason) == ("done", "")
    assert all("missing" not in line for line in exported("c", "labels"))


def test_a_condition_asked_of_nobody_does_not_hide_what_is_missing(batch: Path) -> None:
    campaign = campaign_of("key-point-verification", "--option", "variables=key", name="k")
    fail(person(campaign.items.get(key="k/1"), "ann"), "refused")
    assert [line["variable"] for line in exported("k", "labels")] == ["key"]


def test_answers_of_two_raters_to_one_item_stay_separate(
    coverage: Campaign, mine: Assignment
) -> None:
    judge = Rater.objects.create(name="jude", kind="judge")
    theirs = Assignment.objects.create(item=mine.item, rater=judge, asked=mine.asked)
    submit(mine, answer(mine), "page")
    submit(theirs, no(theirs), "judge")
    found = {(line["rater"], line["rater_kind"]) for line in exported("c", "labels")}
    assert found == {("ann", "human"), ("jude", "judge")}


def test_only_the_storage_module_writes_answers() -> None:
    """No other module of Tandem creates, changes or deletes a Response, Label or Span."""
    writers = set()
    for app in ("annotation", "audit", "judging", "analysis", "datasets", "config"):
        for path in (ROOT / app).rglob("*.py"):
            text = path.read_text("utf-8")
            # Parsing every module takes seconds; without this import none has the three models.
            if "annotation.models" not in text or "migrations" in path.parts:
                continue
            if _writes(ast.parse(text)):
                writers.add(path.relative_to(ROOT).as_posix())
    assert writers == {"annotation/answers/storage.py"}


def _writes(tree: ast.Module) -> bool:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [ast.unparse(node.func) for node in nodes]
    written = _our_names(tree)
    inserts = [n for n in nodes if ast.unparse(n.func) in ("PreparedInsert", "bulk_write")]
    if any(ast.unparse(insert.args[0]) in written for insert in inserts):
        return True
    verbs = {"create", "bulk_create", "update", "bulk_update", "get_or_create", "update_or_create"}
    return any(call in written for call in calls) or any(
        call.split(".")[0] in written and call.rsplit(".", 1)[-1] in verbs | {"delete"}
        for call in calls
    )


def _our_names(tree: ast.Module) -> set[str]:
    """The local names of the three models, since other classes are called Response too."""
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [f for f in froms if (f.module or "").startswith("annotation.models")]
    names = [name for f in ours for name in f.names]
    return {n.asname or n.name for n in names if n.name in ("Response", "Label", "Span")}
