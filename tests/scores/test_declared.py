"""Declared measures match TREC's formulas worked by hand, and a plain second implementation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from tandem.protocols.base import DeclaredMeasure
from tandem.scores.base import Measure, estimate
from tandem.scores.declared import (
    FAILED,
    NO_REPORT,
    NO_SENTENCE,
    NO_UNIT,
    NOT_APPLICABLE,
    NOT_ASKED,
    NOT_SAMPLED,
    Labelled,
    ReportUnits,
    ReportValues,
    UnitLabels,
    bounds_of,
    declared_values,
)
from tandem.scores.options import Options

pytestmark = pytest.mark.every_case

JSON = dict[str, Any]
NUGGETS = {"none": 0.0, "partial": 0.5, "support": 1.0}
STRICT = {"support": 1.0}
SUPPORT = {"none": 0.0, "partial": 0.5, "full": 1.0}
VITAL: JSON = {"where": {"importance": ("vital",)}}
WEIGHTS: JSON = {"weight": {"importance": {"vital": 1.0, "okay": 0.5}}}
DEFAULT = Options()
ANSWERS = ("none", "partial", "support", "full", "cannot-tell")
"""The last answer is an escape."""


def measure(scores: dict[str, float] = NUGGETS, **declared: Any) -> DeclaredMeasure:
    return DeclaredMeasure("m", "v", scores, **declared)


def citation(**declared: Any) -> DeclaredMeasure:
    return measure(SUPPORT, **declared)


def labelled(
    rows: Sequence[int],
    labels: Sequence[Any],
    importance: Sequence[str] = (),
    sentence: Sequence[int] = (),
    sentences: Sequence[int] = (),
    queries: Sequence[int] = (),
    absent: Sequence[int] = (),
    lacks: Sequence[int] = (),
    answers: Sequence[str] = ANSWERS,
    **more: Any,
) -> Labelled:
    """Units of reports; a label is an answer, a code below 0, or a tuple of several people's."""
    number = len(sentences) or max([*rows, *lacks], default=-1) + 1
    codes = {name: n for n, name in enumerate(answers)}
    each = [label if isinstance(label, tuple) else (label,) for label in labels]
    units = ReportUnits(
        np.array(rows, np.int64),
        np.array(sentence or [0] * len(rows), np.int64),
        np.isin(np.arange(len(rows)), absent),
        {"importance": np.array(importance, str)} if importance else {},
        np.array(sentences or [0] * number, np.int64),
        np.array(queries or range(number), np.int64),
        np.isin(np.arange(number), lacks),
    )
    escapes = np.array([answer == "cannot-tell" for answer in answers], bool)
    made = [[codes.get(code, code) for code in of] for of in each]
    table = np.array(made, np.int64).reshape(len(rows), -1)
    return Labelled(units, UnitLabels(tuple((a,) for a in answers), escapes, table, **more))


def values(
    declared: DeclaredMeasure, data: Labelled, options: Options = DEFAULT
) -> list[float | None]:
    """The value of each report, None without one."""
    found = declared_values(declared, data, options).values
    return [None if np.isnan(value) else value for value in found.tolist()]


def reasons(
    declared: DeclaredMeasure, data: Labelled, options: Options = DEFAULT
) -> tuple[str | None, ...]:
    return declared_values(declared, data, options).reasons


class TestNuggets:
    """Three vital nuggets with support, partial and none; two okay ones with support and none."""

    DATA = labelled(
        [0] * 5,
        ["support", "partial", "none", "support", "none"],
        ["vital", "vital", "vital", "okay", "okay"],
    )

    @pytest.mark.parametrize(
        ("scores", "declared", "by_hand"),
        [
            (NUGGETS, {}, (1 + 0.5 + 0 + 1 + 0) / 5),
            (STRICT, {}, 2 / 5),
            (NUGGETS, VITAL, 1.5 / 3),
            (STRICT, VITAL, 1 / 3),
            (NUGGETS, WEIGHTS, (1.5 + 0.5 * 1) / (3 + 0.5 * 2)),
            (STRICT, WEIGHTS, (1 + 0.5 * 1) / (3 + 0.5 * 2)),
        ],
    )
    def test_trecs_six_scores_are_those_worked_by_hand(
        self, scores: dict[str, float], declared: JSON, by_hand: float
    ) -> None:
        assert values(measure(scores, **declared), self.DATA) == pytest.approx([by_hand])

    def test_without_a_vital_nugget_it_is_null_with_a_reason_or_zero_as_declared(self) -> None:
        data = labelled([0, 0], ["support", "none"], ["okay", "okay"])
        assert values(measure(**VITAL), data) == [None]
        assert reasons(measure(**VITAL), data) == (NO_UNIT,)
        assert values(measure(**VITAL, empty="zero"), data) == [0]
        assert reasons(measure(**VITAL, empty="zero"), data) == (None,)

    def test_a_nugget_whose_importance_has_no_weight_does_not_count(self) -> None:
        data = labelled([0, 0, 0], ["support", "none", "none"], ["vital", "okay", "unknown"])
        assert values(measure(**WEIGHTS), data) == pytest.approx([1 / 1.5])


class TestCitations:
    """Four sentences: two citations, one, none, and one whose passage the batch lacks."""

    DATA = labelled(
        [0, 0, 0, 0],
        ["partial", "full", "none", NOT_ASKED],
        sentence=[1, 1, 2, 4],
        sentences=[4],
        absent=[3],
    )

    @pytest.mark.parametrize(
        ("over", "precision", "recall"),
        [
            ("units", 1.5 / 3, 1.5 / 3),
            ("first-per-sentence", 0.5 / 2, 0.5 / 3),
            ("best-per-sentence", 1 / 2, 1 / 3),
            ("mean-per-sentence", 0.75 / 2, 0.75 / 3),
        ],
    )
    def test_precision_is_over_citations_and_recall_over_sentences(
        self, over: Any, precision: float, recall: float
    ) -> None:
        # The last sentence is not known to have no support, so it leaves the denominator, too.
        assert values(citation(over=over), self.DATA) == pytest.approx([precision])
        by_sentences = citation(over=over, denominator="sentences")
        assert values(by_sentences, self.DATA) == pytest.approx([recall])

    def test_a_passage_that_the_batch_lacks_is_missing_with_that_reason(self) -> None:
        data = labelled([0, 1], [NOT_ASKED, "full"], queries=[0, 0], absent=[0])
        found = declared_values(citation(), data, replace(DEFAULT, missing="zero", unrated="zero"))
        assert np.isnan(found.values[0])
        assert found.reasons[0] == "units, of 1: 1 about a text that the batch lacks"
        assert (found.states["absent"], found.states["counted"]) == (1, 1)

    def test_an_answer_without_citations_has_recall_0_and_no_precision(self) -> None:
        data = labelled([0], ["full"], sentence=[1], sentences=[1, 3], queries=[0, 0])
        assert values(citation(denominator="sentences"), data) == [1, 0]
        assert values(citation(), data) == [1, None]
        assert values(citation(empty="zero"), data) == [1, 0]

    def test_without_citations_a_query_that_was_not_sampled_has_no_recall(self) -> None:
        data = labelled([0], ["full"], sentence=[1], sentences=[1, 3])
        recall = citation(denominator="sentences")
        assert (values(recall, data), reasons(recall, data)) == ([1, None], (None, NOT_SAMPLED))

    def test_an_empty_answer_has_no_recall_unless_declared_as_zero(self) -> None:
        data = labelled([0], ["full"], sentence=[1], sentences=[1, 0], queries=[0, 0])
        recall = citation(denominator="sentences")
        assert (values(recall, data)[1], reasons(recall, data)[1]) == (None, NO_SENTENCE)
        assert values(replace(recall, empty="zero"), data) == [1, 0]

    def test_the_best_of_a_sentence_is_unknown_if_an_unknown_citation_may_be_better(self) -> None:
        best = citation(over="best-per-sentence")
        data = labelled([0, 0, 0, 0], ["partial", FAILED, "full", FAILED], sentence=[1, 1, 2, 2])
        assert values(best, data) == [1]
        assert values(best, data, replace(DEFAULT, missing="zero")) == [0.75]


class TestMissing:
    def test_an_escape_is_missing_or_zero_as_declared(self) -> None:
        data = labelled([0, 0], ["support", "cannot-tell"])
        assert values(measure(), data) == [1]
        assert values(measure(escape="zero"), data) == [0.5]
        # The option is about labels that could not be read.
        assert values(measure(), data, replace(DEFAULT, missing="zero")) == [1]

    def test_an_unreadable_label_is_left_out_or_zero_by_the_option(self) -> None:
        data = labelled([0, 0], ["support", FAILED])
        assert values(measure(), data) == [1]
        assert values(measure(), data, replace(DEFAULT, missing="zero")) == [0.5]

    def test_a_report_whose_units_all_lack_points_says_what_they_have(self) -> None:
        data = labelled([0, 0, 0], ["cannot-tell", FAILED, FAILED])
        words = "units, of 3: 2 without a readable label, 1 with an escape"
        assert (values(measure(), data), reasons(measure(), data)) == ([None], (words,))

    @pytest.mark.parametrize(
        ("unrated", "found"), [("refuse", None), ("bounds", None), ("condensed", 1), ("zero", 0.5)]
    )
    def test_a_unit_that_nobody_was_asked_about_follows_the_option_unrated(
        self, unrated: str, found: float | None
    ) -> None:
        data = labelled([0, 0], ["support", NOT_ASKED])
        assert values(measure(), data, replace(DEFAULT, unrated=unrated)) == [found]

    def test_refused_reports_have_a_mean_without_value_and_bounds_if_chosen(self) -> None:
        data = labelled([0, 0, 1], ["support", NOT_ASKED, "none"])
        of = Measure("m", "f", "S.", "c", lambda *_: 0, "no value")  # type: ignore[arg-type]
        made = estimate(of, declared_values(measure(), data, DEFAULT), np.arange(2))
        assert made.value is None
        assert made.reason == (
            "33 % of the units were never rated; choose unrated=bounds, unrated=condensed or "
            "unrated=zero"
        )
        found = declared_values(measure(), data, replace(DEFAULT, unrated="bounds"))
        assert found.no is not None
        assert found.yes is not None
        assert (found.no.tolist(), found.yes.tolist()) == ([0.5, 0], [1, 0])

    def test_a_report_about_which_nobody_was_asked_has_no_value(self) -> None:
        data = labelled([0, 1], ["support", NOT_ASKED], queries=[0, 0])
        assert values(measure(), data) == [1, None]
        assert reasons(measure(), data) == (None, NOT_SAMPLED)

    def test_a_unit_whose_condition_is_not_met_is_no_unit_of_the_measure(self) -> None:
        data = labelled([0, 0, 1], ["support", NOT_APPLICABLE, NOT_APPLICABLE])
        assert values(measure(), data) == [1, None]
        assert reasons(measure(), data)[1] == NO_UNIT

    def test_a_topic_that_a_system_lacks_is_null_or_zero_by_the_option(self) -> None:
        data = labelled([0, 1], ["support", "cannot-tell"], queries=[0, 1, 0, 1], lacks=[2, 3])
        assert values(measure(), data) == [1, None, None, None]
        assert reasons(measure(), data)[2] == NO_REPORT
        # Nobody has a value on the second topic, so nobody has 0 there.
        chosen = replace(DEFAULT, missing_topics="zero")
        assert values(measure(), data, chosen) == [1, None, 0, None]
        assert reasons(measure(), data, chosen)[2] is None


class TestPeople:
    def test_together_they_have_their_most_frequent_points(self) -> None:
        people = [("support", "none", "none"), ("partial", "partial", "support")]
        assert values(measure(), labelled([0, 0], people)) == [0.25]

    def test_labels_with_equal_points_do_not_tie(self) -> None:
        data = labelled([0], [("none", "partial")])
        assert (values(measure(), data), values(measure(STRICT), data)) == ([None], [0])
        assert reasons(measure(), data) == ("units, of 1: 1 with a tie of people",)

    def test_an_escape_is_a_vote_only_if_it_is_zero(self) -> None:
        data = labelled([0], [("support", "cannot-tell", "cannot-tell")])
        assert (values(measure(), data), values(measure(escape="zero"), data)) == ([1], [0])

    def test_one_readable_label_is_enough(self) -> None:
        assert values(measure(), labelled([0], [("support", FAILED, NOT_ASKED)])) == [1]

    def test_numbers_of_a_scale_are_their_own_points_and_have_a_mean(self) -> None:
        scale = ("0", "50", "100", "cannot-tell")
        data = labelled([0, 0], [("0", "50"), ("100", "cannot-tell")], answers=scale, numbers=True)
        assert values(measure({}), data) == [(25 + 100) / 2]

    def test_a_set_of_codes_has_the_sum_of_its_points(self) -> None:
        data = labelled([0, 0], ["none", "support"])
        sets = replace(data.labels, answers=((), ("x",), ("x", "y"), ("y",), ("cannot-tell",)))
        found = values(measure({"x": -1, "y": -5}), replace(data, labels=sets))
        assert found == [(0 - 6) / 2]


@pytest.mark.parametrize(
    ("declared", "codes", "several", "unit", "bounds"),
    [
        (measure(), tuple(NUGGETS), False, "report-nugget", (0, 1)),
        (measure({"minor": -1, "major": -5}), ("minor", "major"), False, "sentence", (-5, 0)),
        (measure({"minor": -1, "major": -5}), ("minor", "major"), True, "sentence", (-6, 0)),
        (measure({}), ("0", "50", "100"), False, "report", (0, 100)),
        (citation(denominator="sentences"), tuple(SUPPORT), False, "sentence", (0, 1)),
        (citation(denominator="sentences"), tuple(SUPPORT), False, "sentence-citation", (0, inf)),
        (
            citation(denominator="sentences", over="first-per-sentence"),
            tuple(SUPPORT),
            False,
            "sentence-citation",
            (0, 1),
        ),
        (measure(**WEIGHTS), tuple(NUGGETS), False, "report-nugget", (0, 1)),
        (measure(weight={"a": {"b": -1}}), tuple(NUGGETS), False, "report-nugget", (-inf, inf)),
    ],
)
def test_values_lie_within_the_bounds_that_points_allow(
    declared: DeclaredMeasure,
    codes: tuple[str, ...],
    several: bool,
    unit: str,
    bounds: tuple[float, float],
) -> None:
    assert bounds_of(declared, codes, several, unit) == bounds


def second(declared: DeclaredMeasure, units: list[JSON], sentences: int) -> float:
    """A declared measure of one sampled report, unit by unit; all units were asked about."""
    kept = [
        unit | {"weight": weight}
        for unit in units
        if all(unit[name] in of for name, of in declared.where.items())
        and (weight := declared.weight.get("importance", {unit["importance"]: 1}).get(
            unit["importance"], 0))
    ]  # fmt: skip
    for unit in kept:
        label = unit["label"]
        unit["points"] = (
            (0 if declared.escape == "zero" else nan)
            if label == "cannot-tell"
            else nan
            if label == FAILED
            else declared.scores.get(label, 0)
        )
    nothing = not sentences if declared.denominator == "sentences" else not kept
    if nothing:
        return 0 if declared.empty == "zero" else nan
    groups: dict[int, list[JSON]] = {}
    for unit in kept:
        groups.setdefault(unit["sentence"], []).append(unit)
    entries, lost = [], 0
    for group in groups.values():
        known = [(u["points"], u["weight"]) for u in group if u["points"] == u["points"]]
        if declared.over == "first-per-sentence":
            known = [(p, w) for p, w in [(group[0]["points"], group[0]["weight"])] if p == p]
        elif declared.over == "best-per-sentence" and known:
            best = max(p for p, _ in known)
            top = [w for p, w in known if p == best]
            known = [(best, top[-1])] if len(known) == len(group) or best == 1 else []
        elif declared.over == "mean-per-sentence" and known:
            total = sum(p * w for p, w in known) / sum(w for _, w in known)
            known = [(total, sum(u["weight"] for u in group) / len(group))]
        lost += not known
        entries += known
    top_sum = sum(p * w for p, w in entries)
    if declared.denominator == "sentences":
        return top_sum / (sentences - lost) if sentences > lost else nan
    return top_sum / sum(w for _, w in entries) if entries else nan


@pytest.mark.parametrize("seed", range(60))
def test_a_second_implementation_gives_the_same(seed: int) -> None:
    chance = random.Random(seed)
    declared = DeclaredMeasure(
        "m",
        "v",
        {"partial": 0.5, "full": 1.0, "support": 1.0},
        chance.choice([{}, {"importance": ("vital",)}]),
        chance.choice([{}, {"importance": {"vital": 1.0, "okay": 0.5}}]),
        chance.choice(["units", "first-per-sentence", "best-per-sentence", "mean-per-sentence"]),
        chance.choice(["units", "sentences"]),
        chance.choice(["missing", "zero"]),
        chance.choice(["null", "zero"]),
    )
    reports, sentences = [], []
    for _ in range(30):
        sentences.append(chance.randrange(1, 5))
        at = sorted(chance.randrange(sentences[-1]) + 1 for _ in range(chance.randrange(1, 7)))
        units: list[JSON] = [
            {
                "label": chance.choice([*ANSWERS, FAILED]),
                "importance": chance.choice(["vital", "okay", ""]),
                "sentence": sentence,
            }
            for sentence in at
        ]
        reports.append(units)
    rows = [n for n, units in enumerate(reports) for _ in units]
    every = [unit for units in reports for unit in units]
    data = labelled(
        rows,
        [unit["label"] for unit in every],
        [unit["importance"] for unit in every],
        [unit["sentence"] for unit in every],
        sentences,
    )
    # Equal best points of a sentence may have different weights, and either is right.
    if declared.over == "best-per-sentence" and declared.weight:
        declared = replace(declared, weight={})
    found = declared_values(declared, data, DEFAULT)
    expected = [
        second(declared, units, number) for units, number in zip(reports, sentences, strict=True)
    ]
    assert isinstance(found, ReportValues)
    assert found.values.tolist() == pytest.approx(expected, nan_ok=True)
    assert [reason is None for reason in found.reasons] == [value == value for value in expected]
