"""A passage counts as needed if two people call it so, in cases counted by hand."""

from __future__ import annotations

from analysis.papers.base import Cell
from analysis.papers.clapnq import needed_by_two
from tandem.files import rows
from tests.analysis.cast import fact, frame_of, table


def value_of(cell: Cell) -> float:
    assert isinstance(cell, dict)
    return round(cell["value"], 4)


def test_a_passage_counts_if_two_people_who_saw_it_call_it_needed() -> None:
    # Two passages per question; only Ada saw the last one, so it does not count.
    frame = frame_of(table({"Ada": "yyny", "Bram": "ynn.", "Chidi": "nnn."}))
    passages, questions, seen = needed_by_two(frame.variables["answerable"], ())
    assert (value_of(passages), value_of(questions), seen) == (0.3333, 0.5, 3)


def test_passages_shown_with_several_answers_are_counted_for_each_answer() -> None:
    texts = tuple(rows.Passage(key, "It is old.") for key in ("p1", "p/2"))
    reports = tuple(rows.Report(key, "Old.") for key in ("a", "b", "c"))
    query = rows.Query("q", "What of it?", passages=texts, reports=reports)
    # Both people say that the first answer needs both passages, and the second one needs one.
    needed = {"a/p1": "yy", "a/p/2": "yy", "b/p1": "yn", "b/p/2": "yy", "c/p1": "nn", "c/p/2": "nn"}
    facts = [
        fact("q", unit, rater, {"y": "yes", "n": "no"}[said], kind="report-passage")
        for unit, both in needed.items()
        for rater, said in zip(("Ada", "Bram"), both, strict=True)
    ]
    passages, answers, seen = needed_by_two(frame_of(facts).variables["answerable"], [query])
    assert (value_of(passages), value_of(answers), seen) == (0.5, 0.6667, 6)
