"""Annotations from Label Studio as labels: the unit of a task, and the meaning of its controls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from annotation.answers.submission import REASONS
from annotation.imports.index import KnownItems
from annotation.imports.label_studio import Choice, Highlight, StudioAnswer
from annotation.imports.label_studio_rows import EMPTY, SKIPPED, WITHDRAWN, rows_of_answers
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.labels.file.rows import LabelRow, SpanRow

pytestmark = pytest.mark.every_case

PLACE = Place("tasks.json", 7)
LOST = "highlights that belong to no label"


def known(protocol: str, **items: tuple[str, list[tuple[str, str]]]) -> KnownItems:
    """A campaign of these items by key: the query of each, and kind and key of its units."""
    found: Any = KnownItems.__new__(KnownItems)
    found.campaign = SimpleNamespace(name="c")
    found.schema = schema_of(PROTOCOLS[protocol])
    found.items, found.units = {}, {}
    for pk, (key, (query, units)) in enumerate(items.items()):
        found.items[key] = SimpleNamespace(pk=pk, query=SimpleNamespace(key=query))
        found.units[pk] = [(kind, unit, unit) for kind, unit in units]
    checked: KnownItems = found
    return checked


def said(*choices: Choice, task: str = "7", **more: Any) -> StudioAnswer:
    given: dict[str, Any] = {
        **dict.fromkeys(("item", "unit", "kind")), "rater": "ada", "rater_kind": "human",
        "replicate": 0, "place": PLACE, "choices": choices,
    }  # fmt: skip
    return StudioAnswer(task, **(given | more))


def rows(
    campaign: KnownItems, *answers: StudioAnswer, notes: ReadNotes | None = None
) -> list[LabelRow]:
    return list(rows_of_answers(answers, campaign, notes or ReadNotes()))


def refused(campaign: KnownItems, answer: StudioAnswer) -> str:
    with pytest.raises(InputError) as caught:
        rows(campaign, answer)
    assert caught.value.place == PLACE
    return caught.value.wrong


COVERAGE = known("report-coverage", r=("7", [("question", "q1")]), s=("8", [("question", "q2")]))
TYPING = known("question-typing", i=("7", [("query", "u")]))
GROUNDING = known("key-point-verification", k=("7", [("key-point", "k1")]))
WRITING = known("key-point-writing", i=("7", [("passage", "p"), ("key-point", "k")]))


def test_a_row_has_every_fact_of_the_answer() -> None:
    facts: dict[str, Any] = {
        "rater": "bo", "rater_kind": "judge", "replicate": 3, "revision": 2,
        "created_at": "2024-05-31", "seconds": 1.5, "assisted_by": "al",
    }  # fmt: skip
    answer = said(Choice("answerable", "yes", 0.75), meta={"answerable": {"a": 1}}, **facts)
    (row,) = rows(COVERAGE, answer)
    assert row == LabelRow(
        "r", "q1", "answerable", value="yes", kind="question", score=0.75, meta={"a": 1}, **facts
    )
    assert row.place == PLACE
    (bare,) = rows(COVERAGE, said(Choice("answerable", "no")))
    assert (bare.spans, bare.meta, bare.score, bare.missing) == (None, None, None, None)


@pytest.mark.parametrize(
    ("answer", "unit"),
    [
        (said(Choice("holds_points", "yes")), ("i", "p", "passage")),
        (said(Choice("matched", "yes")), ("i", "k", "key-point")),
        (said(Choice("matched", "yes"), Choice("mood", "good")), ("i", "k", "key-point")),
        (said(Choice("matched", "yes"), item="i", unit="p"), ("i", "p", "passage")),
        (said(Choice("matched", "yes"), item="i", unit="p", kind="key-point"),
         ("i", "p", "key-point")),
        (said(Choice("matched", "yes"), item="i", unit="x"), ("i", "x", None)),
        (said(Choice("matched", "yes"), item="x", unit="p"), ("x", "p", None)),
        (said(Choice("matched", "yes"), item="x"), ("i", "k", "key-point")),
        (said(Choice("matched", "yes"), unit="x"), ("i", "k", "key-point")),
    ],
)  # fmt: skip
def test_a_task_belongs_to_the_unit_that_it_names_or_that_its_controls_ask_about(
    answer: StudioAnswer, unit: tuple[str, str, str | None]
) -> None:
    row = rows(WRITING, answer)[0]
    assert (row.item, row.unit, row.kind) == unit


def test_a_task_without_controls_is_the_only_unit_with_questions() -> None:
    (row,) = rows(COVERAGE, said(missing={"answerable": "declined"}))
    assert (row.unit, row.variable, row.value, row.missing) == (
        "q1",
        "answerable",
        None,
        "declined",
    )
    beside = known("report-coverage", r=("7", [("title", "t"), ("question", "q1")]))
    (row,) = rows(beside, said(missing={"answerable": "declined"}))
    assert row.unit == "q1"


def test_a_key_shared_by_two_kinds_of_unit_gets_no_kind() -> None:
    twice = known("key-point-writing", i=("7", [("passage", "u"), ("key-point", "u")]))
    (row,) = rows(twice, said(Choice("matched", "yes"), item="i", unit="u"))
    assert row.kind is None


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (said(Choice("matched", "yes"), task="8"), 'task "8" is not a unit of campaign \'c\''),
        (said(Choice("mood", "good")), 'task "7" is not a unit of campaign \'c\''),
        (said(missing={"matched": "unreadable"}),
         'task "7" could be any of 2 units of campaign \'c\''),
        (said(Choice("matched", "yes"), Choice("holds_points", "yes")),
         'task "7" could be any of 2 units of campaign \'c\''),
    ],
)  # fmt: skip
def test_a_task_that_matches_no_unit_or_several_is_refused(
    answer: StudioAnswer, wrong: str
) -> None:
    assert refused(WRITING, answer) == wrong


def test_two_items_of_one_query_are_told_apart_by_their_questions() -> None:
    two = known("key-point-writing", i=("7", [("passage", "p")]), j=("7", [("key-point", "k")]))
    assert [row.item for row in rows(two, said(Choice("matched", "yes")))] == ["j"]
    assert "any of 2 units" in refused(two, said(missing={"matched": "unreadable"}))


@pytest.mark.parametrize(
    ("control", "chosen", "code"),
    [
        ("complexity", "simple-with-condition", "simple-with-condition"),
        ("complexity", "Simple  WITH_condition", "simple-with-condition"),
        ("complexity", "multi hop", "multi-hop"),
        ("complexity", "Multi-Hop", "multi-hop"),
        ("valid", "YES", "yes"),
        ("valid", "Perhaps", "Perhaps"),
        ("mood", "Good", "Good"),
    ],
)
def test_a_choice_is_a_code_or_its_words(control: str, chosen: str, code: str) -> None:
    row = rows(TYPING, said(Choice("valid", "yes"), Choice(control, chosen)))[1]
    assert (row.variable, row.value) == (control, code)


def test_a_choice_may_be_the_words_shown_to_people() -> None:
    rated = known("rubric-passage", i=("7", [("question", "q")]))
    (row,) = rows(rated, said(Choice("rating", "3 – The main part")))
    assert row.value == "3"
    answered = known("report-coverage", i=("7", [("question", "q")]))
    (row,) = rows(answered, said(Choice("answerable", "makes no sense")))
    assert row.value == "invalid"


def test_highlights_become_spans_of_the_variable_they_name() -> None:
    spans = [SpanRow("passage", n, n + 1, "x") for n in range(4)]
    answer = said(
        Choice("grounded", "yes"), Choice("key", "agree"),
        highlights=(
            Highlight("marks", "key", spans[0]),
            Highlight("key-evidence", "other", spans[1]),
            Highlight("marks", "other", spans[2]),
            Highlight("key", "", spans[3]),
        ),
    )  # fmt: skip
    grounded, key = rows(GROUNDING, answer)
    assert grounded.spans == (spans[2],)
    assert key.spans == (spans[0], spans[1], spans[3])


def test_highlights_without_a_label_are_counted() -> None:
    span = SpanRow("passage", 0, 1, "x")
    notes = ReadNotes()
    marks = (Highlight("marks", "", span), Highlight("marks", "key", span),
             Highlight("marks", "key", span))  # fmt: skip
    (row,) = rows(GROUNDING, said(Choice("grounded", "yes"), highlights=marks), notes=notes)
    assert (row.spans, notes.skipped) == ((span,), {LOST: 2})
    notes = ReadNotes()
    rows(GROUNDING, said(Choice("grounded", "yes"), highlights=marks[:1]), notes=notes)
    assert notes.skipped == {}
    rows(TYPING, said(Choice("valid", "yes"), highlights=marks[:1]), notes=notes)
    assert notes.skipped == {LOST: 1}


@pytest.mark.parametrize("reason", REASONS)
def test_a_missing_label_has_the_reason_from_the_file(reason: str) -> None:
    first, second = rows(COVERAGE, said(Choice("answerable", "no"), missing={"rating": reason}))
    assert (first.variable, first.value, first.missing) == ("answerable", "no", None)
    assert (second.variable, second.value, second.missing) == ("rating", None, reason)


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (said(declined=True), {"valid", "false_premise", "information_seeking"}),
        (said(declined=True, missing={"valid": "declined"}), {"valid"}),
        (
            said(Choice("valid", "yes"), declined=True),
            {"valid", "false_premise", "information_seeking"},
        ),
        (said(declined=False), set()),
        (said(declined=True, item="x", unit="y"), set()),
    ],
)
def test_a_skipped_task_declines_all_unconditional_variables(
    answer: StudioAnswer, missing: set[str]
) -> None:
    found = [row for row in rows(TYPING, answer) if row.missing]
    assert {row.variable for row in found} == missing
    assert {row.missing for row in found} <= {"declined"}


@pytest.mark.parametrize(
    ("reason", "message"), [("bored", '"bored"'), (None, '"None"'), (3, '"3"'), ("", '""')]
)
def test_an_unknown_reason_is_refused(reason: Any, message: str) -> None:
    assert refused(TYPING, said(missing={"valid": reason})) == f"missing is {message}"


@pytest.mark.parametrize(
    ("answer", "skipped"),
    [
        (said(empty=True), {f"annotations {EMPTY}": 1}),
        (said(empty=True, rater_kind="judge"), {f"predictions {EMPTY}": 1}),
        (said(empty=True, task="8"), {f"annotations {EMPTY}": 1}),
        (said(), {}),
        (said(declined=True), {SKIPPED: 1}),
        (said(Choice("valid", "yes"), declined=True), {SKIPPED: 1, WITHDRAWN: 1}),
        (said(Choice("valid", "yes"), Choice("false_premise", "no"), declined=True),
         {SKIPPED: 1, WITHDRAWN: 2}),
        (said(declined=True, missing={"valid": "unreadable"}), {}),
    ],
)  # fmt: skip
def test_an_answer_without_a_label_is_counted_with_its_meaning(
    answer: StudioAnswer, skipped: dict[str, int]
) -> None:
    notes = ReadNotes()
    found = rows(TYPING, answer, notes=notes)
    assert notes.skipped == skipped
    assert all(row.value is None for row in found)


def test_a_skipped_task_with_several_units_is_counted_and_does_not_refuse_the_file() -> None:
    notes = ReadNotes()
    assert rows(WRITING, said(declined=True), notes=notes) == []
    assert notes.skipped == {
        "annotations of skipped tasks with several units, of which the file names none": 1
    }
    assert refused(WRITING, said(declined=True, task="8")).startswith('task "8" is not a unit')
