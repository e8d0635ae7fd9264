"""CLAPnq's people: which passages two or more of them call needed, by hand."""

from __future__ import annotations

from analysis.papers.clapnq import _by_two
from tests.analysis.cast import frame_of, table


def test_a_passage_counts_if_two_of_those_who_saw_it_call_it_needed() -> None:
    # Two passages a question; only Ada saw the last one, so that it does not count.
    variable = frame_of(table({"Ada": "yyny", "Bram": "ynn.", "Chidi": "nnn."}))
    passages, questions, seen = _by_two(variable.variables["answerable"])
    assert isinstance(passages, dict)
    assert isinstance(questions, dict)
    assert (round(passages["value"], 4), questions["value"], seen) == (0.3333, 0.5, 3)
