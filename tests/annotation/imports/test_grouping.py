"""Imported labels are grouped to answers, and split for a judge asked unit by unit."""

from __future__ import annotations

import pytest

from tandem.files.rows import InputError, Place
from tandem.labels.file.grouping import Group, fill_quotes, moment, split_by_scope
from tandem.labels.file.rows import CheckedRow, LabelRow, SpanRow


def row(unit: str, *spans: SpanRow, **more: object) -> CheckedRow:
    place = Place("l.jsonl", 1)
    found = LabelRow(place, "i", "question", unit, "v", "judge", "yes", spans=spans or None, **more)  # type: ignore[arg-type]
    return CheckedRow(found, unit)


def group(*rows: CheckedRow) -> Group:
    return Group("judge", "i", 0, None, list(rows))


def test_a_group_is_split_by_scope_with_each_parts_texts_and_comments() -> None:
    whole = group(row("a"), row("b"), row("c"))
    whole.written, whole.comments = {"b": {"text": "So."}}, {"a": "odd", "c": "even"}
    assert list(split_by_scope(whole, {})) == [whole]
    first, second = split_by_scope(whole, {"a": "1", "b": "2", "c": "1"})
    assert (first.scope, [each.name for each in first.rows]) == ("1", ["a", "c"])
    assert (first.written, first.comments) == ({}, {"a": "odd", "c": "even"})
    assert (second.scope, second.written, second.comments) == ("2", {"b": {"text": "So."}}, {})
    assert (second.rater, second.item) == ("judge", "i")


def test_a_span_without_a_quote_gets_the_words_of_its_text() -> None:
    texts = {"report": "So it is.", "passage": "No."}
    quoted, ranged = SpanRow("report", None, None, "it"), SpanRow("report", 3, 5, "")
    bare = SpanRow("", 0, 2, " ")
    found = group(row("a", quoted, ranged), row("b", bare), row("c"))
    fill_quotes(found, texts)
    spans = [[span.text for span in each.row.spans or ()] for each in found.rows]
    assert spans == [["it", "it"], ["So"], []]
    to_the_end = group(row("a", SpanRow("passage", 0, 3, "")))
    fill_quotes(to_the_end, texts)
    assert to_the_end.rows[0].row.spans == (SpanRow("passage", 0, 3, "No."),)
    for start, end in ((0, 4), (0, None), (2, 2)):
        with pytest.raises(InputError, match=f"no words from {start} to {end} of passage"):
            fill_quotes(group(row("a", SpanRow("passage", start, end, ""))), texts)


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert moment("2024-05-31T12:30:00") == moment("2024-05-31T14:30:00+02:00")


def test_an_answers_time_is_the_latest_moment_of_its_labels_whatever_their_zones() -> None:
    """As texts, the earlier moment would sort last."""
    later, earlier = "2024-05-31T12:30:00+00:00", "2024-05-31T13:00:00+02:00"
    for times in ((later, earlier), (earlier, later)):
        labels = [row(str(n), created_at=time) for n, time in enumerate(times)]
        assert group(*labels).created_at == later
    assert group(row("a")).created_at is None
