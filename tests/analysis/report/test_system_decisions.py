"""Between neighbours in the order of systems, a report says what people's labels show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tandem.formats import FORMATS
from tandem.labels.facts import LabelFact, Scale
from tandem.labels.people_sample import PeopleSample
from tandem.sections.base import Shown
from tandem.sections.system_decisions import (
    PART,
    decisions,
    evidence_text,
    more_words,
    standing_words,
)
from tandem.sections.systems import scores_of_items
from tandem.types import JSON
from tests.analysis.cast import JUDGE, fact, frame_of
from tests.analysis.report.test_verdict import report_of

SHARES = {"poor": 0.2, "near": 0.65, "rich": 0.7}


def labels(
    queries: int = 40, labelled: int | None = None, shares: dict[str, float] = SHARES
) -> Iterator[LabelFact]:
    """Eight questions to each system's report; Ada labels the first queries, the judge all."""
    random = np.random.default_rng(3)
    for query in range(queries):
        for system, share in shares.items():
            for question in range(8):
                value = "yes" if random.random() < share else "no"
                for rater in ("ada", JUDGE):
                    if rater == JUDGE or query < (queries if labelled is None else labelled):
                        item = f"{system}/q{query}"
                        yield fact(
                            item, f"{item}/{question}", rater, value,
                            query=f"q{query}", system=system,
                        )  # fmt: skip


def found_in(facts: Iterator[LabelFact], sampled: PeopleSample | None = None) -> JSON:
    of = scores_of_items(frame_of(facts))["coverage"]
    return decisions(of, sampled, 0, ["rich", "near", "poor"])


def queries(*numbers: int) -> frozenset[str]:
    return frozenset(f"q{number}" for number in numbers)


def test_neighbours_stand_in_the_order_of_the_systems_and_nothing_is_called_decided() -> None:
    report = report_of(labels())
    (block,) = PART.shown(Shown(report, "coverage"))
    (table,) = block.tables
    assert [row[0] for row in table.rows] == ["rich – near", "near – poor"]
    close, clear = (str(row[-1]) for row in table.rows)
    assert close.startswith("exploratory: not yet; likely ")
    assert clear.startswith("exploratory: evidence for near after ")
    assert "Exploratory" in block.about
    for form in FORMATS.values():
        text = form.render({**report, "check": {"status": "skipped", "reason": ""}})
        assert "decided: " not in text


def test_labels_of_all_queries_are_read_as_if_drawn_from_more() -> None:
    found = found_in(labels())
    assert (found["drawn"], found["compared"], found["labelled"]) == ("all", 3, 40)
    assert found["pairs"][0]["queries"] is None


def test_labels_of_some_queries_are_no_evidence_unless_these_were_sampled() -> None:
    unknown = found_in(labels(labelled=25))
    assert unknown["drawn"] == "unknown"
    assert {pair["state"] for pair in unknown["pairs"]} == {"no evidence"}
    sampled = found_in(labels(labelled=25), PeopleSample(queries(*range(25))))
    assert (sampled["drawn"], sampled["labelled"]) == ("even", 25)
    assert sampled["pairs"][0]["queries"] == 40


def test_the_order_ends_before_the_first_sampled_query_that_is_not_finished() -> None:
    everything = PeopleSample(queries(*range(25)))
    rest = PeopleSample(everything.drawn, queries(7))
    whole, part = (found_in(labels(labelled=25), each) for each in (everything, rest))
    assert part["labelled"] < whole["labelled"]


def test_a_score_without_ends_has_a_reason() -> None:
    facts = [
        fact(f"{of}/q{n}", f"{of}/q{n}", "ada", str(n), "length", query=f"q{n}", system=of)
        for of in "AB"
        for n in range(12)
    ]
    score = scores_of_items(frame_of(facts, length=Scale((), "interval")))["mean length"]
    assert "no known ends" in decisions(score, None, 0, ["A", "B"])["reason"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"value": 1, "low": 1, "high": 4}, "not yet; likely 1 more query (1 to 4)"),
        ({"value": 90, "low": 9, "high": None}, "not yet; likely 90 more queries (at least 9)"),
        ({"value": None, "reason": "why"}, "not yet; why"),
    ],
)
def test_how_many_more_queries_in_words(more: JSON, words: str) -> None:
    assert more_words(more) == words


def test_what_is_decided_is_so_only_by_a_committed_draw() -> None:
    pair = {"state": "decided", "better": "B", "after": 58, "exploratory": False}
    assert standing_words(pair) == "decided: B is better, after 58 queries"
    pair |= {"state": "exploratory", "exploratory": True}
    assert standing_words(pair) == "exploratory: evidence for B after 58 queries"


def test_evidence_is_printed_as_a_number() -> None:
    texts = [evidence_text(value) for value in (0.0, float(np.log(40)), 50.0, None)]
    assert texts == ["1", "40", "over 1,000,000", "over 1,000,000"]
