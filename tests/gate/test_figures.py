"""Conditions over figures of a report: the interval decides, and figures have names."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.gate.figures import SHORT, Condition, Figures, decide
from tandem.gate.findings import Finding, GateError, Outcome, outcome_of
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.statistics.coefficients import AMONG, OF_TWO
from tests.cast import ROOT

HOLDS, FAILS, UNDECIDED = Outcome

JSON = dict[str, Any]


def estimate(value: float | None, low: float | None = None, high: float | None = None) -> JSON:
    why = {"reason": "no unit has two labels"} if value is None else {}
    none = "; no interval: fewer than five queries" if low is None else ""
    return {"value": value, "low": low, "high": high, "n": 9, "method": f"alpha{none}", **why}


def report_of(**agreement: JSON) -> JSON:
    return {"variables": {"relevant": {"agreement": agreement, "judges": {}}}, "scores": {}}


def decided(text: str, *ends: float | None, by_value: bool = False) -> Finding:
    report = Figures(report_of(krippendorff_alpha=estimate(*ends)))
    (found,) = decide(Condition.of(text), report, by_value)
    return found


class TestTheIntervalDecides:
    @pytest.mark.parametrize(
        ("text", "outcome"),
        [
            ("alpha>=.5", HOLDS),
            ("alpha>=.6", HOLDS),
            ("alpha>.6", UNDECIDED),
            ("alpha>=.61", UNDECIDED),
            ("alpha>=.8", UNDECIDED),
            ("alpha>.8", FAILS),
            ("alpha>=.81", FAILS),
            ("alpha<=.8", HOLDS),
            ("alpha<.8", UNDECIDED),
            ("alpha<=.59", FAILS),
            ("alpha<.6", FAILS),
        ],
    )
    def test_all_of_it_must_be_on_one_side(self, text: str, outcome: Outcome) -> None:
        assert decided(text, 0.7, 0.6, 0.8).outcome is outcome

    @pytest.mark.parametrize(("text", "outcome"), [("alpha>=.7", HOLDS), ("alpha>.7", FAILS)])
    def test_by_value_the_interval_does_not_matter(self, text: str, outcome: Outcome) -> None:
        assert decided(text, 0.7, 0.6, 0.8, by_value=True).outcome is outcome

    def test_an_undefined_figure_is_not_decided_with_its_reason(self) -> None:
        for by_value in (True, False):
            found = decided("alpha>=.7", None, by_value=by_value)
            assert (found.outcome, found.reason) == (
                UNDECIDED,
                "undefined: no unit has two labels",
            )

    def test_without_an_interval_it_is_not_decided_and_says_why(self) -> None:
        found = decided("alpha>=.7", 1)
        assert found.outcome is UNDECIDED
        assert found.reason == "it has no interval: fewer than five queries"
        assert decided("alpha>=.7", 1, by_value=True).outcome is HOLDS

    def test_a_number_that_is_no_estimate_needs_by_value(self) -> None:
        report = Figures(
            {"variables": {"relevant": {"judges": {"m": {"rate": 0.5}}}}, "scores": {}}
        )
        (found,) = decide(Condition.of("m.rate>=.5"), report)
        assert found.outcome is UNDECIDED
        assert "--by value" in found.reason
        assert [f.outcome for f in decide(Condition.of("m.rate>=.5"), report, True)] == [HOLDS]


class TestTheWholeGate:
    @pytest.mark.parametrize(
        ("outcomes", "whole"),
        [
            ([HOLDS, HOLDS], HOLDS),
            ([HOLDS, UNDECIDED], UNDECIDED),
            ([UNDECIDED, FAILS, HOLDS], FAILS),
        ],
    )
    def test_a_failure_outweighs_what_is_not_decided(
        self, outcomes: list[Outcome], whole: Outcome
    ) -> None:
        assert outcome_of([Finding("c", "f", each, "") for each in outcomes]) is whole


@pytest.fixture(scope="module")
def report() -> JSON:
    path = ROOT / "tests/contract/labels.jsonl"
    return labels_report([path], {}, ReportOptions(resamples=50))


@pytest.fixture(scope="module")
def named(report: JSON) -> Figures:
    return Figures(report)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "figures"),
        [
            ("alpha", ["answerable.krippendorff_alpha", "rating.krippendorff_alpha"]),
            ("krippendorff_alpha", ["answerable.krippendorff_alpha", "rating.krippendorff_alpha"]),
            ("rating.alpha", ["rating.krippendorff_alpha"]),
            ("model-x.kappa", ["answerable.model-x.cohen_kappa", "rating.model-x.cohen_kappa"]),
            ("rating.model-x.kappa_quadratic", ["rating.model-x.cohen_kappa_quadratic"]),
            ("answerable.model-x.accuracy", ["answerable.model-x.accuracy"]),
            ("answerable.pairs.ada.bram.kappa", ["answerable.pairs.ada.bram.cohen_kappa"]),
            ("coverage.long.mean", ["coverage.long.mean"]),
            (
                "coverage.comparisons.long.short.difference",
                ["coverage.comparisons.long.short.difference"],
            ),
        ],
    )
    def test_a_figure_is_found(self, named: Figures, name: str, figures: list[str]) -> None:
        assert [figure.name for figure in named.called(name)] == figures

    def test_the_value_is_that_of_the_report(self, named: Figures, report: JSON) -> None:
        (found,) = named.called("rating.model-x.alpha")
        of = report["variables"]["rating"]["judges"]["model-x"]["agreement"]["krippendorff_alpha"]
        assert (found.value, found.interval) == (of["value"], (of["low"], of["high"]))

    def test_every_coefficient_of_the_report_has_its_names(
        self, named: Figures, report: JSON
    ) -> None:
        for key in report["variables"]["rating"]["agreement"].keys() & {**AMONG, **OF_TWO}:
            assert [each.name for each in named.called(f"rating.{key}")] == [f"rating.{key}"]

    def test_the_author_may_be_left_out(self) -> None:
        assert SHORT["krippendorff_alpha"] == "alpha"
        assert SHORT["gwet_ac"] == "ac"
        assert "percent" not in SHORT

    def test_a_short_name_of_two_coefficients_is_refused_with_both(self, named: Figures) -> None:
        both = "answerable.fleiss_kappa or answerable.randolph_kappa"
        with pytest.raises(GateError, match=f"'kappa' may be {both}"):
            named.called("kappa")

    @pytest.mark.parametrize(
        ("name", "meant"),
        [("alhpa", "alpha"), ("rating.alfa", "rating.alpha"), ("modelx.kappa", "model-x.kappa")],
    )
    def test_an_unknown_name_gets_a_similar_one(
        self, named: Figures, name: str, meant: str
    ) -> None:
        with pytest.raises(GateError, match=f"no figure '{name}'.*did you mean '{meant}'"):
            named.called(name)

    def test_an_unlike_name_gets_names_that_exist(self, named: Figures) -> None:
        with pytest.raises(GateError, match="among people there are ac, alpha"):
            named.called("?")

    def test_names_may_contain_dots(self) -> None:
        of_judge = {"agreement": {"cohen_kappa": estimate(0.5, 0.4, 0.6)}}
        variable = {"agreement": {}, "judges": {"gpt-4.1": of_judge}}
        named = Figures({"variables": {"v": variable}, "scores": {}})
        assert [each.name for each in named.called("gpt-4.1.kappa")] == ["v.gpt-4.1.cohen_kappa"]


class TestConditions:
    @pytest.mark.parametrize(
        ("text", "name", "operator", "limit"),
        [
            ("alpha>=.6", "alpha", ">=", 0.6),
            (" m.kappa < 0.5 ", "m.kappa", "<", 0.5),
            ("gap>-.1", "gap", ">", -0.1),
            ("a<=1e-3", "a", "<=", 0.001),
        ],
    )
    def test_they_are_read(self, text: str, name: str, operator: str, limit: float) -> None:
        assert Condition.of(text) == Condition(text, name, operator, limit)

    @pytest.mark.parametrize("text", ["alpha", "alpha=.6", ">=.6", "alpha>=x", "alpha>=nan"])
    def test_others_are_refused(self, text: str) -> None:
        with pytest.raises(GateError, match="is not NAME, one of"):
            Condition.of(text)
