"""Cells of CRUX's tables follow from given ratings and values, worked by hand without a study."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.evaluation.passages import CountedQuestions, report_parts
from analysis.papers import crux
from analysis.papers import crux_agreement as agreement
from analysis.papers import crux_agreement as thresholds
from analysis.papers.base import Cell
from analysis.papers.coverage import Values
from analysis.papers.material import labels_by
from tandem.files.rows import Passage, Query, Question, Report
from tandem.scores.coverage import COV
from tandem.scores.options import PRESETS, Options
from tandem.statistics import Floats
from tests.analysis.cast import JUDGE, frame_of, table
from tests.analysis.papers.test_cells import campaign, cell, material, reason, values

NAN = float("nan")


def numbers(cells: Iterable[Cell]) -> list[Any]:
    return [each["value"] if isinstance(each, dict) else each for each in cells]


def sizes(cells: Iterable[Cell]) -> list[int]:
    """How many values each cell is computed from."""
    return [each["n"] for each in cells if isinstance(each, dict)]


def sides(eta: float = 3.0, **ratings: str) -> tuple[Cell, ...]:
    """The cells of the judge `model`: a digit for each rating, two passages for each query."""
    frame = frame_of(table(ratings, "rating"))
    rating = frame.variables["rating"]
    labels = labels_by(rating, "model")
    assert labels is not None
    compared = thresholds._Compared(frame, rating, "model", labels.values, "campaign c")
    return thresholds._cells(data_set(), compared, eta)


def of_settings(**by_system: list[float]) -> Values:
    return Values(COV, {name: np.array(of) for name, of in by_system.items()})


def data_set(name: str = "news", settings: tuple[str, ...] = (), **more: Any) -> Any:
    """A data set of two queries, in which τ is replaced by the names of what it compares."""
    return SimpleNamespace(
        name=name,
        settings=list(settings),
        numbers=np.arange(2),
        evaluators=["people"],
        material=material(),
        options=PRESETS["crux"],
        tau=lambda one, other, of: f"{one} with {other} over {' '.join(of)}",
        no_ratings=lambda by: f"{by} rated nothing",
        **more,
    )


class TestThresholds:
    """A judge's ratings against those of all people, on both sides of 3."""

    def test_precision_and_recall_count_each_pair_of_a_person_and_the_judge(self) -> None:
        # Ada and the judge: both at least 3 twice, and each of the other three cases once.
        # Bram and the judge: both once, Bram alone once. The judge did not rate the last passage.
        found = sides(Ada="54031..4", Bram=".5...3..", model="5044233.")
        # At least 3: 3 of the judge's 4 and of people's 5. Below: 1 of the judge's 3 and of 2.
        assert numbers(found) == [3 / 4, 3 / 5, 1 / 3, 1 / 2]
        assert sizes(found) == [7] * 4

    def test_a_side_without_ratings_is_undefined(self) -> None:
        found = sides(Ada="55", model="53")
        assert numbers(found) == [1, 1, None, None]
        assert reason(found[2]) == "no such label"

    def test_both_are_cut_at_another_eta(self) -> None:
        # Ada says 5 twice and the judge once.
        assert numbers(sides(5.0, Ada="55", model="53")) == [1, 1 / 2, 0, None]

    def test_passages_that_only_one_of_them_rated_give_nothing(self) -> None:
        expected = ["no person and model labelled the same unit in campaign c"] * 4
        for found in (sides(Ada="5.", model=".5"), sides(model="55")):
            assert [reason(each) for each in found] == expected

    def test_judges_have_a_row_and_data_without_their_ratings_a_reason(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = {"Ada": "54031..4", "Bram": ".5...3.."}
        judged = frame_of(table({**own, "model": "5044233."}, "rating"))
        study = material(frame={"judged": judged, "unjudged": frame_of(table(own, "rating"))})
        sets = [
            data_set("none", passages=None, reports=None),
            data_set("people", passages=campaign("unjudged"), reports=None),
            data_set("both", passages=campaign("judged"), reports=None),
        ]
        for each in sets:
            each.material = study
        monkeypatch.setattr(thresholds, "data_sets", lambda material: sets)
        none, _, people, _, both, _ = thresholds.threshold_grids(study)
        assert reason(none.rows[0][1][0]) == "a judge rated nothing"
        assert reason(people.rows[0][1][3]) == "no judge rated in campaign unjudged"
        assert values(both) == [("model", [3 / 4, 3 / 5, 1 / 3, 1 / 2])]
        assert both.caption == "both: passages cut at η = 3"
        assert {grid.stub for grid in (none, people, both)} == {"Judge"}


class TestMeansOverSettings:
    def test_the_deviation_is_that_of_the_settings_means(self) -> None:
        data = data_set(settings=("bm25", "dense", "late"))
        of = of_settings(bm25=[1.0, 0.5], dense=[0.5, NAN], late=[0.0, 1.0], other=[0.0, 0.0])
        found = [*crux._over_settings(data, of)]
        # The means of the settings are .75, .5 and .5, which differ by 1/6, 1/12 and 1/12 from
        # their mean.
        deviation = ((1 / 6**2 + 2 / 12**2) / 2) ** 0.5
        assert numbers(found) == pytest.approx([3 / 5, deviation])
        assert sizes(found) == [5, 3]
        assert "2 queries" in str(found[0])

    def test_one_setting_has_a_mean_and_no_deviation(self) -> None:
        data = data_set(settings=("bm25",))
        found = [*crux._over_settings(data, of_settings(bm25=[1.0, 0.5]))]
        assert numbers(found) == [0.75, None]
        assert reason(found[1]) == "one retrieval setting has no deviation"

    def test_a_setting_without_values_leaves_both_empty_with_the_reason(self) -> None:
        data = data_set(settings=("bm25", "dense"))
        expected = ["a setting has no context or no report"] * 2
        found = crux._over_settings(data, of_settings(bm25=[1.0, 0.5]))
        assert [reason(each) for each in found] == expected
        assert [reason(each) for each in crux._over_settings(data_set(), of_settings())] == expected
        nothing = Values(COV, reason="nobody rated")
        assert [reason(each) for each in crux._over_settings(data, nothing)] == ["nobody rated"] * 2

    def test_a_setting_without_any_counted_question_has_no_deviation(self) -> None:
        data = data_set(settings=("bm25", "dense"))
        empty = of_settings(bm25=[1.0, 0.5], dense=[NAN, NAN])
        mean, deviation = crux._over_settings(data, empty)
        assert numbers([mean, deviation]) == [0.75, None]
        assert reason(deviation) == "a setting has no query with a value"

    def test_people_without_a_value_are_left_out_of_the_mean(self) -> None:
        nobody: Floats = np.full(3, NAN)
        ada, ben = np.array([1.0, 0.5, NAN]), np.array([0.5, NAN, NAN])
        found = agreement._mean_of([ada, ben], nobody).tolist()
        assert found == pytest.approx([0.75, 0.5, NAN], nan_ok=True)


def test_figure_4_counts_for_people_the_questions_that_count_for_the_judge() -> None:
    """Of two questions about each report, the second has no answer in the oracle's passages."""
    queries = tuple(
        Query(f"t{n}", "?", reports=(Report(f"r{n}", "So.", system="a"),)) for n in range(2)
    )
    frame = frame_of(table({"ada": "ynny", JUDGE: "ynny"}))
    counted = CountedQuestions(frozenset({"q0", "q2"}))

    def judged(by: str, options: Options) -> Any:
        parts = report_parts(queries, frame, options, counted)
        return next((part for part in parts if part.rater == by), None)

    data = data_set(queries=queries, reports=campaign("c"), report_part=judged)
    data.counted = lambda by, options: counted if by == JUDGE else None
    data.material = material(frame={"c": frame})
    coverage = agreement._coverage_of_reports(data, JUDGE)
    assert {rater: found.tolist() for rater, found in coverage.items()} == {
        "ada": [1, 0], JUDGE: [1, 0],
    }  # fmt: skip
    assert (
        agreement._denominator(data, JUDGE) == f"the sub-questions that are answerable by {JUDGE}"
    )
    # Without a judge, every question counts.
    assert agreement._coverage_of_reports(data, agreement.NOBODY)["ada"].tolist() == [
        0.5,
        0.5,
    ]


def test_figure_4_correlates_a_judge_with_each_person_in_each_setting() -> None:
    queries = tuple(
        Query(name, "?", reports=tuple(Report(f"{name}{s}", "So.", system=s) for s in ("a", "b")))
        for name in ("q1", "q2", "q3")
    )
    data = data_set(queries=queries, campaign=campaign("c"))
    # Reports by query, a then b. For a, Ada orders the queries as the judge does (1, 2, 3) and
    # Ben the other way; for b, the judge's 1, 2, 3 meet 2, 1, 3 of both: 1 - 6 * 2 / (3 * 8).
    coverage = {
        "model": np.array([0.1, 0.1, 0.2, 0.2, 0.3, 0.3]),
        "ada": np.array([0.1, 0.5, 0.2, 0.4, 0.3, 0.6]),
        "ben": np.array([0.3, 0.5, 0.2, 0.4, 0.1, 0.6]),
    }
    grid = agreement._spearman_grid(data, {"model": coverage}, ["ada", "ben"])
    assert grid.caption == (
        "news: Spearman's correlation of coverage over all answers, query difficulty included"
    )
    assert [each.name for each in grid.columns] == ["model with ada", "model with ben"]
    by_setting = dict(values(grid))
    assert by_setting["a"] == pytest.approx([1, -1])
    assert by_setting["b"] == pytest.approx([0.5, 0.5])
    # Ranks of all six: the judge's 1.5, 1.5, 3.5, 3.5, 5.5, 5.5 with Ada's 1, 5, 2, 4, 3, 6 have
    # the covariance 6 and the variances 16 and 17.5.
    assert by_setting["all settings"][0] == pytest.approx(6 / (16 * 17.5) ** 0.5)
    assert "3 queries" in str(grid.rows[0][1][0])


def test_figure_4_says_whether_the_judge_or_the_person_is_missing() -> None:
    data = data_set(queries=(), reports=campaign("c"))
    for people, judged, who in ((["ada"], {}, "judge"), ([], {"model": {}}, "person")):
        grid = agreement._spearman_grid(data, judged, people)
        assert reason(grid.rows[0][1][0]) == f"no {who} labelled reports in campaign c"
        assert grid.stub == "Setting"


def test_table_3_compares_contexts_cut_at_each_size_with_reports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def contexts(by: str, options: Any, size: int | None, is_cut: bool) -> dict[str, str]:
        assert is_cut
        names = ("Cov", "alpha_nDCG", "Recall", "MAP", "nDCG", crux.DEN.name)
        return {name: f"{name} of {size} by {by}" for name in names}

    data = data_set(settings=("s",), of_contexts=contexts,
                    of_reports=lambda by, options: {n: n for n in crux.OF_REPORTS})  # fmt: skip
    monkeypatch.setattr(crux, "data_sets", lambda material: [data])
    (grid,) = crux.table_3(material())
    covered, dense = crux.OF_REPORTS
    sizes_of = {"news · oracle's size": None, "news · 10": 10, "news · 20": 20}
    assert [label for label, _ in grid.rows] == [*sizes_of]
    for label, cells in grid.rows:
        measures = ("Cov", "alpha_nDCG", "Recall", "MAP", "nDCG")
        pairs = [*((name, covered) for name in measures), (crux.DEN.name, dense)]
        assert [*cells] == [
            f"{name} of {sizes_of[label]} by people with {other} over s" for name, other in pairs
        ]
    heads = [column.name.partition(" – ")[0] for column in grid.columns]
    assert heads == ["Cov(Z)", "α-nDCG", "Recall", "MAP", "nDCG", "Den(Z)"]


def test_figure_5_takes_rated_passages_if_no_report_has_a_sampled_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = {"a": "MAP", "b": "Cov", "kendall": cell(0.4)}
    study = material(sampled={"p": {"people": [pair]}})
    rated, unrated = data_set(passages=campaign("p")), data_set("old", passages=None)
    rated.material = study
    monkeypatch.setattr(
        crux, "data_sets", lambda material, sampled=False: [] if sampled else [unrated, rated]
    )
    (grid,) = crux.figure_5(study)
    assert grid.caption.startswith("news, by people: ")
    rows = dict(grid.rows)
    # Either order of a pair is the same; a measure is not compared with itself.
    assert numbers(rows["Cov(Z)"]) == ["", None, 0.4, None, None, None]
    assert numbers(rows["MAP"]) == [0.4, None, "", None, None, None]
    assert reason(rows["Cov(Z)"][1]) == "people rated nothing"
    assert reason(rows["Cov(Z)"][5]) == crux.NO_SAMPLED
    assert "contexts drawn here" in grid.caption


def test_columns_name_their_data_set_if_there_are_several() -> None:
    one, other = data_set("news"), data_set("wiki")
    assert crux._named([one], one, "Cov(Z)") == "Cov(Z)"
    assert crux._named([one, other], other, "Cov(Z)") == "wiki: Cov(Z)"


def test_figure_4_has_the_agreement_of_people_or_says_that_they_were_not_asked() -> None:
    found = {"answerable": {"agreement": {"fleiss_kappa": cell(0.5), "percent": cell(0.75)}}}
    data = data_set(reports=campaign("c"))
    data.material = material(agreement={"c": found})
    grid = agreement._kappa_grid(data)
    assert values(grid) == [("Fleiss' κ", [0.5]), ("agreement", [0.75])]
    assert (grid.caption, grid.stub) == ("news: agreement of people", "Among people")
    data.material = material(agreement={"c": {}})
    expected = "campaign c gives no yes or no"
    assert [reason(cells[0]) for _, cells in agreement._kappa_grid(data).rows] == [expected] * 2


def test_table_4_has_mean_lengths_in_tokens_and_names_absent_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two queries show the same passage, which counts once.
    shared, long = Passage("p", "one two three"), Passage("l", "one two three four five")
    queries = (
        Query("q1", "one two", questions=(Question("a", "one"),), passages=(shared, long)),
        Query("q2", "one two three four", passages=(shared,)),
    )
    data = data_set(queries=queries, passage_ratings=lambda by: None)
    monkeypatch.setattr(crux, "data_sets", lambda material: [data])
    (grid,) = crux.table_4(material())
    assert values(grid) == [
        ("queries", [2]),
        ("passages", [2]),
        ("tokens per query", [(2 + 4) / 2]),
        ("tokens per question", [1]),
        ("tokens per passage", [(3 + 5) / 2]),
        ("tokens per reference", [None]),
        ("required passages, by people", [None]),
        ("redundant relevant passages, by people", [None]),
    ]
    rows = dict(grid.rows)
    assert reason(rows["tokens per reference"][0]) == "the batch has no reference"
    assert reason(rows["required passages, by people"][0]) == "people rated nothing"
    assert [column.digits for column in grid.columns] == [1]
