"""The report's blocks, on tables small enough to work by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tandem.sections.agreement import agreement
from tandem.sections.judges import judges
from tandem.sections.systems import coverage, scores
from tests.analysis.cast import JUDGE, fact, frame_of, labelled_sample, sample_of, table


def block(rows: dict[str, str], variable: str = "answerable") -> Any:
    return agreement(sample_of(frame_of(table(rows, variable)), variable))


def judged(rows: dict[str, str], variable: str = "answerable", epsilon: float = 0.2) -> Any:
    return judges(sample_of(frame_of(table(rows, variable)), variable), epsilon)[JUDGE]


def methods_of(node: Any) -> Iterator[str]:
    """Yield the methods of all estimates below."""
    if isinstance(node, dict) and node.get("low") is not None:
        yield node["method"].split("; ")[1]
    elif isinstance(node, dict | list | tuple):
        for each in node.values() if isinstance(node, dict) else node:
            yield from methods_of(each)


def approximately(node: Any) -> Any:
    """The same block, with its numbers compared up to rounding."""
    if isinstance(node, dict):
        return {key: approximately(each) for key, each in node.items()}
    if isinstance(node, list):
        return [approximately(each) for each in node]
    return pytest.approx(node) if isinstance(node, float) else node


class TestAgreementAmongPeople:
    def test_agreement_is_that_worked_by_hand(self) -> None:
        # Units yy, yn, nn, yy: agreeing pairs 1, 0, 1, 1 = 3/4. Shares of yes 5/8, of no 3/8:
        # chance 25/64 + 9/64 = 34/64. Fleiss (48 - 34)/(64 - 34) = 14/30.
        # Randolph (3/4 - 1/2)/(1/2).
        found = block({"Ada": "yyny", "Bram": "ynny"})
        assert found["percent"]["value"] == pytest.approx(3 / 4)
        assert found["fleiss_kappa"]["value"] == pytest.approx(14 / 30)
        assert found["randolph_kappa"]["value"] == pytest.approx(1 / 2)
        # Cohen: margins yes 3/4 and 2/4: chance 3/8 + 1/8 = 1/2.
        assert found["pairs"][0]["cohen_kappa"]["value"] == pytest.approx(1 / 2)

    def test_a_judge_does_not_count_as_a_person(self) -> None:
        without = block({"Ada": "yyny", "Bram": "ynny"})
        assert block({"Ada": "yyny", "Bram": "ynny", JUDGE: "nnnn"}) == without

    def test_units_with_one_label_do_not_count(self) -> None:
        found = block({"Ada": "yyny", "Bram": "yn.."})
        assert found["units"] == 2
        assert found["percent"]["value"] == pytest.approx(1 / 2)

    def test_escapes_count_neither_in_agreement_nor_as_a_category(self) -> None:
        with_escape = block({"Ada": "yyny?", "Bram": "ynny?"})
        assert with_escape["randolph_kappa"]["value"] == pytest.approx(1 / 2)
        assert with_escape["units"] == 4

    def test_one_category_alone_is_undefined_with_a_reason(self) -> None:
        found = block({"Ada": "yyy", "Bram": "yyy"})
        assert found["percent"]["value"] == 1
        assert found["fleiss_kappa"]["value"] is None
        assert found["fleiss_kappa"]["reason"] == "all labels are the same category"

    def test_no_shared_unit_is_undefined_with_a_reason(self) -> None:
        found = block({"Ada": "yn..", "Bram": "..yn"})
        assert found["percent"]["reason"] == "no unit has two labels"

    def test_below_ten_queries_there_is_no_interval(self) -> None:
        few = block({"Ada": "yn" * 9, "Bram": "yy" * 9})["percent"]
        enough = block({"Ada": "yn" * 10, "Bram": "yn" * 5 + "ny" * 5})["percent"]
        assert (few["low"], few["high"]) == (None, None)
        assert enough["low"] <= enough["value"] <= enough["high"]

    def test_nominal_categories_have_no_rank_correlation(self) -> None:
        pair = block({"Ada": "yyny", "Bram": "ynny"})["pairs"][0]
        for name in ("spearman", "cohen_kappa_linear", "cohen_kappa_quadratic"):
            assert pair[name]["value"] is None
            assert "no order" in pair[name]["reason"]

    def test_ordinal_categories_weigh_near_misses_less(self) -> None:
        near = block({"Ada": "0123", "Bram": "1123"}, "rating")["pairs"][0]
        far = block({"Ada": "0123", "Bram": "3123"}, "rating")["pairs"][0]
        assert near["cohen_kappa_quadratic"]["value"] > far["cohen_kappa_quadratic"]["value"]
        assert near["cohen_kappa"]["value"] == pytest.approx(far["cohen_kappa"]["value"], abs=0.1)


class TestJudgeAgainstPeople:
    def test_a_judge_is_compared_with_the_majority_and_ties_are_counted(self) -> None:
        # Majorities y, y, n, tie. The judge says y, n, n, y: 2 of 3 right.
        found = judged({"Ada": "yyny", "Bram": "yynn", JUDGE: "ynny"})
        assert (found["units"], found["ties"]) == (3, 1)
        assert found["agreement"]["percent"]["value"] == pytest.approx(2 / 3)
        assert found["confusion"] == {"labels": ["yes", "no"], "matrix": [[1, 1], [0, 1]]}
        assert found["classes"]["yes"]["precision"]["value"] == 1
        assert found["classes"]["yes"]["recall"]["value"] == pytest.approx(1 / 2)
        assert found["classes"]["no"]["precision"]["value"] == pytest.approx(1 / 2)
        assert found["classes"]["no"]["support"] == 1

    def test_a_category_that_the_judge_never_gives_has_no_precision(self) -> None:
        scores_of_no = judged({"Ada": "yyn", "Bram": "yyn", JUDGE: "yyy"})["classes"]["no"]
        assert scores_of_no["precision"]["value"] is None
        assert scores_of_no["precision"]["reason"] == "the judge never uses the category"
        assert scores_of_no["recall"]["value"] == 0

    def test_missing_judgements_are_counted_by_reason_not_as_a_category(self) -> None:
        lost = [fact("r0", f"q{n}", JUDGE, None, missing="unreadable") for n in (0, 1)]
        frame = frame_of([*table({"Ada": "yyny", "Bram": "yyny", JUDGE: "..ny"}), *lost])
        found = judges(sample_of(frame), 0.2)[JUDGE]
        assert found["missing"] == {"unreadable": 2}
        assert found["units"] == 2
        assert found["agreement"]["percent"]["value"] == 1

    def test_each_person_is_compared_and_human_agreement_is_given(self) -> None:
        found = judged({"Ada": "yyny", "Bram": "ynny", JUDGE: "yyny"})
        assert found["pairs"]["Ada"]["cohen_kappa"]["value"] == 1
        assert found["pairs"]["Bram"]["percent"]["value"] == pytest.approx(3 / 4)
        assert found["human_ceiling"]["percent"]["value"] == pytest.approx(3 / 4)
        assert found["human_ceiling"]["cohen_kappa"]["value"] == pytest.approx(1 / 2)

    def test_human_agreement_is_computed_on_the_units_that_the_judge_labelled(self) -> None:
        # Ada and Bram differ only on the first unit, which has no label of the judge.
        found = judged({"Ada": "yyny", "Bram": "nyny", JUDGE: ".yny"})
        assert found["human_ceiling"]["percent"]["value"] == 1
        assert found["human_ceiling"]["percent"]["n"] == 3
        # A tie is a disagreement, and counts although there is no majority.
        found = judged({"Ada": "yyny", "Bram": "nyny", JUDGE: "yyny"})
        assert found["ties"] == 1
        assert found["human_ceiling"]["percent"]["value"] == pytest.approx(3 / 4)

    def test_fifteen_labels_are_too_few_for_human_agreement(self) -> None:
        people = {"Ada": "yn" * 30, "Bram": "yn" * 25 + "ny" * 5, "Carl": "ny" * 7 + "n"}
        found = judged({**people, JUDGE: "yn" * 30})
        assert found["ceiling_pairs"] == {"kept": 1, "left_out": 2, "least_shared": 30}
        assert found["human_ceiling"]["percent"]["value"] == pytest.approx(50 / 60)
        assert (
            "2 pairs below 30 shared units left out" in found["human_ceiling"]["percent"]["method"]
        )
        assert set(found["pairs"]) == {"Ada", "Bram", "Carl"}

    def test_one_person_alone_has_no_human_agreement(self) -> None:
        found = judged({"Ada": "yyny", JUDGE: "yyny"})
        assert found["human_ceiling"]["cohen_kappa"]["value"] is None
        assert found["alt_test"]["winning_rate"] is None
        assert found["alt_test"]["reason"]

    def test_a_judges_ratings_are_correlated_with_the_mean_of_people(self) -> None:
        found = judged({"Ada": "0123", "Bram": "1234", JUDGE: "0124"}, "rating")
        assert found["correlation"]["spearman"]["value"] == pytest.approx(1)
        assert found["correlation"]["pearson"]["value"] < 1

    def test_a_threshold_divides_the_ratings_of_judge_and_people(self) -> None:
        # People reach 3 on the last two units, the judge only on the last.
        rows = judged({"Ada": "0135", "Bram": "0135", JUDGE: "0124"}, "rating")["thresholds"]
        at = {row["threshold"]: row for row in rows}
        assert list(at) == [1, 2, 3, 4, 5]
        assert at[3]["precision"]["value"] == 1
        assert at[3]["recall"]["value"] == pytest.approx(1 / 2)
        assert at[5]["precision"]["reason"] == "the judge never reaches it"
        # People's first two labels are below 3, and the judge's first three.
        assert at[3]["precision_below"]["value"] == pytest.approx(2 / 3)
        assert at[3]["recall_below"]["value"] == 1

    def test_a_threshold_with_no_rating_below_it_is_undefined_with_a_reason(self) -> None:
        rows = judged({"Ada": "1111", "Bram": "1111", JUDGE: "1122"}, "rating")["thresholds"]
        assert rows[0]["precision_below"]["reason"] == "the judge never stays below it"
        assert rows[0]["recall_below"]["reason"] == "people never stay below it"

    def test_figures_of_all_categories_together_are_those_worked_by_hand(self) -> None:
        # Majorities y, y, n; the judge says y, n, n. Recall of yes 1/2, of no 1; precision 1, 1/2.
        found = judged({"Ada": "yyny", "Bram": "yynn", JUDGE: "ynny"})
        overall = {name: of["value"] for name, of in found["overall"].items()}
        assert overall["accuracy"] == pytest.approx(2 / 3)
        assert overall["balanced_accuracy"] == overall["macro_recall"] == pytest.approx(3 / 4)
        assert overall["macro_precision"] == pytest.approx(3 / 4)
        # F1 of yes 2/3 and of no 2/3; the judge labels the only unit that is not yes correctly.
        assert overall["macro_f1"] == pytest.approx(2 / 3)
        assert found["classes"]["yes"]["specificity"]["value"] == 1
        assert overall["mean_absolute_error"] is None
        assert "no order" in found["overall"]["mean_absolute_error"]["reason"]

    def test_the_error_of_ratings_is_their_mean_distance_from_peoples_mean(self) -> None:
        # Means of people 0.5, 1, 3; the judge says 0, 1, 5: 0.5, 0 and 2 off.
        found = judged({"Ada": "013", "Bram": "113", JUDGE: "015"}, "rating")
        error = found["overall"]["mean_absolute_error"]
        assert error["value"] == pytest.approx(2.5 / 3)
        assert "mean human rating" in error["method"]

    def test_ordinal_kappas_and_gwets_ac2_are_computed_against_the_majority_too(self) -> None:
        near = judged({"Ada": "0123", JUDGE: "1123"}, "rating")["agreement"]
        far = judged({"Ada": "0123", JUDGE: "3123"}, "rating")["agreement"]
        for name in ("cohen_kappa_linear", "cohen_kappa_quadratic", "gwet_ac"):
            assert near[name]["value"] > far[name]["value"]
        nominal = judged({"Ada": "yyny", JUDGE: "ynny"})["agreement"]
        assert "no order" in nominal["cohen_kappa_linear"]["reason"]

    def test_nominal_variables_have_no_thresholds(self) -> None:
        assert judged({"Ada": "yyny", "Bram": "yyny", JUDGE: "yyny"})["thresholds"] == []


class TestIntervals:
    def test_intervals_are_bca_for_any_number_of_queries(self) -> None:
        for queries in (29, 30):
            rows = {
                "Ada": "01" * queries,
                "Bram": "012" * (2 * queries // 3) + "1" * queries,
                "Chidi": "11" * queries,
                JUDGE: "0112" * queries,
            }
            rows = {rater: column[: 2 * queries] for rater, column in rows.items()}
            found = (block(rows, "rating"), judged(rows, "rating"))
            details = re.compile(
                r", \d+ of them informative|, effective size \d+|, [\d.]+ by their sizes"
            )
            methods = {details.sub("", method) for method in methods_of(found)}
            assert methods == {
                f"90 % BCa bootstrap of {queries} queries, 200 resamples, ends equally far",
                f"95 % BCa bootstrap of {queries} queries, 200 resamples",
                f"95 % Wilson interval clustered by {queries} queries",
            }

    def test_a_slice_resamples_only_its_own_queries(self) -> None:
        whole = sample_of(frame_of(table({"Ada": "yn" * 20, "Bram": "yyyn" * 10})))
        part = whole.only(whole.clusters < 12)
        assert "BCa bootstrap of 12 queries" in agreement(part)["percent"]["method"]

    def test_only_the_same_seed_gives_the_same_block(self) -> None:
        labels = frame_of(table({"Ada": "ynnyy" * 8, "Bram": "yynyn" * 8, JUDGE: "ynyny" * 8}))
        ours = sample_of(labels)
        assert judges(ours, 0.2) == judges(sample_of(labels), 0.2)
        assert agreement(ours) != agreement(replace(ours, seed=1))

    def test_the_order_of_labels_does_not_matter(self) -> None:
        facts = table({"Ada": "0123" * 9, "Bram": "1123" * 9, JUDGE: "0223" * 9}, "rating")
        ours = sample_of(frame_of(facts), "rating")
        theirs = sample_of(frame_of(facts[::-1]), "rating")
        assert agreement(theirs) == approximately(agreement(ours))
        assert judges(theirs, 0.2) == approximately(judges(ours, 0.2))


class TestCurves:
    def scored(self, people: str, scores: list[float], variable: str = "answerable") -> Any:
        own = "y" if variable == "answerable" else "1"
        facts = [
            fact(f"r{n // 2}", f"q{n}", JUDGE, {"y": "yes"}.get(own, own), variable, score=score)
            for n, score in enumerate(scores)
        ]
        frame = frame_of([*table({"Ada": people}, variable), *facts])
        return sample_of(frame, variable)

    def test_probabilities_of_yes_have_the_areas_worked_by_hand(self) -> None:
        # Scores 1 2 2 3 against no yes no yes: 3.5 of 4 pairs; 1/2 * 1 + 1/2 * 2/3.
        sample = self.scored("nyny", [0.1, 0.2, 0.2, 0.3])
        (curve,) = judges(sample, 0.2)[JUDGE]["curves"]
        assert curve["category"] == "yes"
        assert curve["roc_auc"]["value"] == pytest.approx(3.5 / 4)
        assert curve["average_precision"]["value"] == pytest.approx(5 / 6)
        assert curve["points"][1] == {
            "score": 0.2,
            "recall": 1,
            "false_positive_rate": 0.5,
            "precision": pytest.approx(2 / 3),
        }

    def test_expected_ratings_have_a_curve_for_each_cut(self) -> None:
        sample = self.scored("0123", [0.2, 0.9, 2.5, 2.2], "rating")
        found = judges(sample, 0.2)[JUDGE]["curves"]
        areas = {curve["threshold"]: curve["roc_auc"]["value"] for curve in found}
        # People reach 3 only on the last unit, which scores above two of the other three.
        assert areas == {1: 1, 2: 1, 3: pytest.approx(2 / 3), 4: None, 5: None}
        assert found[4]["roc_auc"]["reason"] == "people say one thing only"

    def test_there_are_no_curves_without_scores_or_within_strata(self) -> None:
        assert judged({"Ada": "yyny", JUDGE: "yyny"})["curves"] == []
        sample = self.scored("nyny", [0.1, 0.2, 0.2, 0.3])
        within = judges(sample, 0.2, with_curves=False)[JUDGE]
        assert (within["curves"], within["alt_test"].get("curve")) == ([], [])


class TestCoverage:
    def test_coverage_is_the_share_of_yes_among_yes_and_no(self) -> None:
        frame = frame_of(table({"Ada": "yn?y", "Bram": "...."}) + table({"Bram": "..n?"}))
        values = coverage(frame.variables["answerable"], 2)
        assert values.tolist() == [[0.5, pytest.approx(float("nan"), nan_ok=True)], [1.0, 0.0]]

    def test_a_rater_without_labels_on_a_report_has_no_score(self) -> None:
        frame = frame_of(table({"Ada": "yn..", "Bram": "yyyy"}))
        items = scores(frame, 50, 0, None)["coverage"]["items"]
        assert items[0]["values"] == {"Ada": 0.5, "Bram": 1.0}
        assert items[1]["values"] == {"Bram": 1.0}

    def test_the_mean_of_people_leaves_judges_out(self) -> None:
        frame = frame_of(table({"Ada": "yn", "Bram": "yy", JUDGE: "nn"}))
        system = scores(frame, 50, 0, None)["coverage"]["systems"][""]
        assert system["mean"]["value"] == pytest.approx(0.75)
        assert system[JUDGE]["value"] == 0

    def test_queries_with_judgements_only_need_people_on_a_random_sample(self) -> None:
        rows = {"Ada": "yn" * 12 + "." * 24, JUDGE: "yn" * 10 + "yy" * 14}
        frame = frame_of(table(rows))
        unknown = scores(frame, 50, 0, None)["coverage"]["estimate"][""]
        drawn = scores(frame, 50, 0, labelled_sample(frame))["coverage"]["estimate"][""]
        assert unknown["prediction_powered"]["value"] is None
        assert "not a random sample" in unknown["prediction_powered"]["reason"]
        assert drawn["prediction_powered"]["value"] is not None
        assert drawn["effective_labels"] is None or drawn["effective_labels"] > 0

    def test_if_people_labelled_every_query_their_scores_are_not_repeated(self) -> None:
        for judge in ("yn" * 12, "yn" * 6):
            rows = {"Ada": "yn" * 12, JUDGE: judge}
            frame = frame_of(table(rows))
            found = scores(frame, 50, 0, labelled_sample(frame))["coverage"]["estimate"][""]
            assert found["humans"]["value"] == pytest.approx(0.5)
            powered = found["prediction_powered"]
            assert (powered["value"], powered["n"]) == (None, 12)
            assert powered["reason"] == (
                "no query is judged without people's labels: the figure is people's own"
            )
            assert found["effective_labels"] is None

    def test_without_people_there_is_no_corrected_estimate(self) -> None:
        frame = frame_of([*table({JUDGE: "yn" * 12}), *table({"Ada": "1"}, "rating")])
        found = scores(frame, 50, 0, None)["coverage"]["estimate"][""]["prediction_powered"]
        assert "people's own" not in found["reason"]

    def test_a_labelled_query_without_a_judgement_makes_the_estimate_undefined(self) -> None:
        rows = {"Ada": "yn" * 12 + "." * 8, JUDGE: ".." + "yn" * 15}
        frame = frame_of(table(rows))
        found = scores(frame, 50, 0, labelled_sample(frame))["coverage"]["estimate"][""]
        assert found["prediction_powered"]["value"] is None
        assert "no score on 1 of the labelled" in found["prediction_powered"]["reason"]

    def test_other_variables_have_no_coverage(self) -> None:
        assert scores(frame_of(table({"Ada": "0123"}, "rating")), 50, 0, None) == {}
