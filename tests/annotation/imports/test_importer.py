"""Files with parts of answers that are already stored, or with different labels for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import fail, submit
from annotation.assignments.queue import next_assignment
from annotation.imports.importer import taken_names
from annotation.models import Assignment, Campaign, Item, Label, Rater, Response, Unit
from tests.annotation.answering import good_answer, person
from tests.cast import FULL, Line, campaign_of, exported, run, write_lines

pytestmark = pytest.mark.usefixtures("batch")

YES: Line = {"item": "r", "unit": "🌉", "variable": "answerable", "value": "yes", "rater": "ann"}
SPAN = {"field": "report", "start": 20, "end": 28, "text": FULL[20:28]}


@pytest.fixture
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage")


def take(folder: Path, *rows: Line, what: str = "labels.jsonl", name: str = "c") -> str:
    return run("import_labels", write_lines(folder / what, rows), "--campaign", name)


def facts(*names: str) -> list[tuple[Any, ...]]:
    return [tuple(line.get(name) for name in names) for line in exported("c", "labels")]


def test_two_files_may_hold_parts_of_one_item(coverage: Campaign, tmp_path: Path) -> None:
    first = YES | {"spans": [SPAN]}
    second = YES | {"unit": "a/b#1", "value": "no"}
    take(tmp_path, first)
    take(tmp_path, second)
    assert facts("unit", "value") == [("a/b#1", "no"), ("🌉", "yes")]
    assert take(tmp_path, first).startswith("Nothing to do for 1 labels")
    assert take(tmp_path, second).startswith("Nothing to do for 1 labels")
    assert exported("c", "labels")[1]["spans"] == [SPAN]


def test_an_equal_label_without_quotes_keeps_the_stored_quotes(
    coverage: Campaign, tmp_path: Path
) -> None:
    take(tmp_path, YES | {"spans": [SPAN], "score": 0.5})
    assert take(tmp_path, YES).startswith("Nothing to do")
    assert facts("score", "spans") == [(0.5, [SPAN])]


def test_a_new_value_drops_the_old_quotes_and_score(coverage: Campaign, tmp_path: Path) -> None:
    take(tmp_path, YES | {"spans": [SPAN], "score": 0.5, "meta": {"a": 1}})
    take(tmp_path, YES | {"value": "no"})
    assert facts("value", "score", "spans", "meta", "revision") == [("no", None, None, None, 2)]


def test_another_score_or_free_data_is_a_new_revision(coverage: Campaign, tmp_path: Path) -> None:
    take(tmp_path, YES | {"value": "no", "score": 0.5})
    take(tmp_path, YES | {"value": "no", "score": 0.25})
    take(tmp_path, YES | {"value": "no", "meta": {"why": "🌉"}})
    assert facts("score", "meta", "revision") == [(None, {"why": "🌉"}, 3)]


def test_a_variables_score_stays_when_another_variable_is_imported(
    batch: Path, tmp_path: Path
) -> None:
    campaign_of("key-point-verification")
    row = {"item": "k/1", "unit": "k/1", "rater": "j", "rater_kind": "judge"}
    take(tmp_path, row | {"variable": "grounded", "value": "yes", "score": 0.75})
    take(tmp_path, row | {"variable": "key", "value": "agree", "score": 0.5})
    assert facts("variable", "score") == [("grounded", 0.75), ("key", 0.5)]


def test_importing_over_a_page_answer_does_not_duplicate_quotes(
    coverage: Campaign, tmp_path: Path
) -> None:
    item = coverage.items.get(key="r")
    assignment = person(item, "ann")
    submit(assignment, {"units": good_answer(assignment), "comment": None}, "page")
    before = exported("c", "labels")
    take(tmp_path, before[0] | {"score": 1.0})
    after = exported("c", "labels")
    assert [line["spans"] for line in after] == [line["spans"] for line in before]
    assert after[0]["score"] == 1.0


def test_spans_may_be_offsets_alone(coverage: Campaign, tmp_path: Path) -> None:
    take(tmp_path, YES | {"spans": [{"start": 20, "end": 28}]})
    assert facts("spans") == [([SPAN],)]


def test_offsets_outside_the_text_are_refused(coverage: Campaign, tmp_path: Path) -> None:
    row = YES | {"spans": [{"start": 20, "end": len(FULL) + 1}]}
    with pytest.raises(
        Exception, match=r"line 1: there are no words from 20 to \d+ of the text; give"
    ):
        take(tmp_path, row)
    assert not Label.objects.exists()


def test_a_quote_joined_from_two_places_is_split(coverage: Campaign, tmp_path: Path) -> None:
    first, second = "Anna Lee\u0301 built it", "שלום לכולם"
    quote = f"{first} {second}"
    take(tmp_path, YES | {"spans": [{"text": quote}]})
    assert [s["text"] for s in facts("spans")[0][0]] == [first, second]
    assert take(tmp_path, *exported("c", "labels")).startswith("Nothing to do")
    assert Response.objects.count() == 1


def test_an_unfound_quote_is_kept_with_a_warning(coverage: Campaign, tmp_path: Path) -> None:
    said = take(tmp_path, YES | {"spans": [{"text": "Quite another thing, by far"}]})
    assert "Warning:" in said
    assert "line 1: unit '🌉' evidence: 'Quite another thing, by far' was not found" in said
    lost = {"field": "report", "start": None, "end": None, "text": "Quite another thing, by far"}
    assert facts("spans") == [([lost],)]


def test_a_quote_of_an_unknown_text_is_kept_with_a_warning(
    coverage: Campaign, tmp_path: Path
) -> None:
    said = take(tmp_path, YES | {"spans": [SPAN | {"field": "passage:p"}]})
    assert "'passage:p' is not a text of this item" in said
    lost = {"field": "passage:p", "start": None, "end": None, "text": SPAN["text"]}
    assert facts("spans") == [([lost],)]
    assert take(tmp_path, *exported("c", "labels")).startswith("Nothing to do")


def test_a_label_without_its_owed_quote_is_kept_with_a_warning(
    coverage: Campaign, tmp_path: Path
) -> None:
    said = take(tmp_path, YES)
    assert "Imported 1 labels from ann." in said
    assert "evidence: answerable is yes without its quote" in said


def test_evidence_that_the_protocol_does_not_ask_for_is_imported_and_exported(
    batch: Path, tmp_path: Path
) -> None:
    campaign_of("grounding-relevance")
    span = {"field": "passage:p2", "start": 0, "end": 4, "text": "Anna"}
    row = {"item": "q 2", "unit": "q 2/p2", "rater": "ann", "variable": "relevant", "value": "yes"}
    take(tmp_path, row | {"spans": [span]})
    responses = exported("c", "responses")
    campaign_of("grounding-relevance", name="again")
    take(tmp_path, *responses, name="again")
    assert exported("again", "labels")[0]["spans"] == [span]


def test_a_missing_label_can_get_its_value_later(coverage: Campaign, tmp_path: Path) -> None:
    gone = {k: v for k, v in YES.items() if k != "value"} | {"missing": "timeout"}
    other = gone | {"unit": "a/b#1"}
    take(tmp_path, gone, other)
    assert Assignment.objects.get().status == "failed"
    take(tmp_path, YES)
    assert facts("unit", "value", "missing") == [("a/b#1", None, "timeout"), ("🌉", "yes", None)]
    assert Assignment.objects.get().missing == {"a/b#1": {"answerable": "timeout"}}


def test_a_missing_reason_may_replace_an_earlier_answers_label(
    coverage: Campaign, tmp_path: Path
) -> None:
    take(tmp_path, YES)
    gone = YES | {"unit": "a/b#1", "missing": "refused"}
    del gone["value"]
    assert "Imported 1 missing labels" in take(tmp_path, gone)
    assert facts("unit", "value", "missing") == [("a/b#1", None, "refused"), ("🌉", "yes", None)]
    assert take(tmp_path, gone).startswith("Nothing to do")


def test_importing_the_export_of_a_failed_answer_changes_nothing(
    batch: Path, tmp_path: Path
) -> None:
    campaign = campaign_of("key-point-recall")
    assignment = person(campaign.items.get(key="r"), "ann")
    fail(assignment, "declined")
    out = exported("c", "labels")
    expected = [("k/1", "entailed", "declined"), ("k#2", "entailed", "declined")]
    assert facts("unit", "variable", "missing") == expected
    assert take(tmp_path, *out).startswith("Nothing to do for 2 labels")
    assignment.refresh_from_db()
    assert (assignment.status, assignment.missing) == ("declined", {})


def by_unit(item: Item) -> None:
    judge = Rater.objects.create(name="jude", kind="judge")
    for unit in item.units.all():
        row = Assignment.objects.create(item=item, rater=judge, scope=unit.name, asked=[unit.name])
        submit(row, {"units": good_answer(row), "comment": None}, "judge")


@pytest.mark.first_case
@pytest.mark.parametrize("what", ["labels", "responses"])
def test_importing_the_export_of_a_unit_by_unit_judge_changes_nothing(
    coverage: Campaign, tmp_path: Path, what: str
) -> None:
    by_unit(coverage.items.get(key="r"))
    assert take(tmp_path, *exported("c", what)).startswith("Nothing to do for 3 labels")
    assert Assignment.objects.count() == 3
    assert len(exported("c", "labels")) == 3


def test_an_imported_unit_by_unit_judge_has_one_assignment_per_item(
    coverage: Campaign, tmp_path: Path
) -> None:
    by_unit(coverage.items.get(key="r"))
    lines = exported("c", "labels")
    campaign_of("report-coverage", name="again")
    take(tmp_path, *lines, name="again")
    assert Assignment.objects.filter(item__campaign__name="again").count() == 1


def test_an_unknown_name_becomes_a_rater_without_a_slot(coverage: Campaign, tmp_path: Path) -> None:
    take(tmp_path, YES | {"rater": "שרה", "rater_kind": "reference"})
    assert Rater.objects.get().kind == "reference"
    assert Assignment.objects.get().slot is None
    assert coverage.items.get(key="r").taken == 0


def test_a_rater_may_be_named_for_the_whole_file(coverage: Campaign, tmp_path: Path) -> None:
    row = {k: v for k, v in YES.items() if k != "rater"}
    path = write_lines(tmp_path / "l.jsonl", [row])
    run("import_labels", path, "--campaign", "c", "--rater", "zoë")
    assert facts("rater") == [("zoë",)]


@pytest.mark.postgresql
def test_an_older_imported_revision_does_not_become_current(
    coverage: Campaign, tmp_path: Path
) -> None:
    old, new = YES | {"value": "no", "revision": 1}, YES | {"value": "invalid", "revision": 4}
    take(tmp_path, new, old)
    assert facts("value", "revision") == [("invalid", 4)]
    assert list(Response.objects.order_by("id").values_list("revision", flat=True)) == [1, 4]
    assert take(tmp_path, new, old).startswith("Nothing to do for 2 labels")


def test_a_changed_comment_is_imported(coverage: Campaign, tmp_path: Path) -> None:
    take(tmp_path, YES)
    (response,) = exported("c", "responses")
    take(tmp_path, response | {"comment": "on second thoughts 🌉"})
    assert Response.objects.get(current=True).comment == "on second thoughts 🌉"


def test_a_campaign_whose_answers_are_all_imported_asks_nobody_again(
    tmp_path: Path,
) -> None:
    campaign = campaign_of("report-coverage", "--raters-per-item", "2")
    units = list(Unit.objects.filter(item__campaign=campaign).values_list("item__key", "key"))

    def rows(rater: str) -> list[Line]:
        answer = {"variable": "answerable", "value": "no", "rater": rater}
        return [{"item": item, "unit": unit, **answer} for item, unit in units]

    take(tmp_path, *rows("ada outside"))
    # Each item is asked for one more answer, so people here still get it.
    assert set(campaign.items.values_list("taken", flat=True)) == {0}
    take(tmp_path, *rows("ben outside"))
    assert set(campaign.items.values_list("taken", flat=True)) == {2}
    assert next_assignment(campaign, Rater.objects.create(name="someone")) is None
    # The raters are still nobody of this site, so that their labels may come again.
    assert not taken_names(["ada outside", "ben outside"])
    assert take(tmp_path, *rows("ben outside")).startswith("Nothing to do")
