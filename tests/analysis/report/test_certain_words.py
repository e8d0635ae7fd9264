"""Sentences on agreement below chance hold over a whole interval, and say what is not known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import tandem
from tandem.formats import FORMATS
from tandem.sections.replacement import replacement
from tandem.types import JSON

Labels = npt.NDArray[np.bool_]
QUERIES, UNITS = 40, 10
RNG = np.random.default_rng(7)
TRUTH = RNG.random((QUERIES, UNITS)) < 0.4
PEOPLE = {name: TRUTH ^ (RNG.random(TRUTH.shape) < 0.12) for name in ("ada", "bo", "cy")}


def study(judges: dict[str, Labels], people: dict[str, Labels]) -> JSON:
    table = [
        {"item": f"q{query}", "query": f"q{query}", "unit": f"u{unit}", "rater": rater,
         "rater_kind": "human" if rater in people else "judge", "variable": "answerable",
         "value": "yes" if labels[query, unit] else "no"}
        for rater, labels in {**people, **judges}.items()
        for query in range(QUERIES)
        for unit in range(UNITS)
    ]  # fmt: skip
    return tandem.report(table, resamples=200).json


def test_less_than_chance_is_said_only_where_the_whole_interval_is_below_zero() -> None:
    coins = {f"coin{n}": RNG.random((QUERIES, UNITS)) < 0.4 for n in range(4)}
    report = study({**coins, "reversing": ~PEOPLE["bo"]}, PEOPLE)
    kappas = {
        judge: of["agreement"]["cohen_kappa"]
        for judge, of in report["variables"]["answerable"]["judges"].items()
    }
    assert any(kappa["value"] < 0 < kappa["high"] for kappa in kappas.values())
    warned = {each["rater"] for each in report["warnings"] if each["code"] == "kappa_below_zero"}
    assert warned == {name for name, kappa in kappas.items() if kappa["high"] < 0}
    assert "reversing" in warned


def test_all_negative_numbers_of_a_sentence_have_a_minus_sign() -> None:
    judges = {"copying": PEOPLE["ada"], "first": ~PEOPLE["bo"], "second": ~PEOPLE["cy"]}
    found = study(judges, PEOPLE)["verdict"]["variables"]["answerable"]["among_judges"]
    assert ": κ −0." in found["agreement"]["text"]


def test_a_share_of_the_way_that_is_not_known_is_named_with_its_reason() -> None:
    truth = RNG.random((QUERIES, UNITS)) < 0.1
    people = {name: truth ^ (RNG.random(truth.shape) < 0.12) for name in PEOPLE}
    found = study({"as good": truth ^ (RNG.random(truth.shape) < 0.12)}, people)
    judge = found["variables"]["answerable"]["judges"]["as good"]
    way = judge["alt_test"]["answer"]["way"]
    assert way["value"] is None
    sentences = found["verdict"]["variables"]["answerable"]["judges"]["as good"]
    said = f"; share of the way from the floor to people not known: {way['reason']}"
    assert said in sentences["replacement"]["text"]


@pytest.mark.parametrize(("share", "words"), [(1.0, "more than 99 %"), (0.0, "less than 1 %")])
def test_simulated_studies_show_neither_certainty_nor_impossibility(
    share: float, words: str
) -> None:
    block = study({"never": np.zeros_like(TRUTH)}, PEOPLE)["variables"]["answerable"]
    test = block["judges"]["never"]["alt_test"]
    assert test["answer"]["outcome"] == "not-shown"
    test["power"] = {**test["power"], "as_good": share}
    assert f"shown in {words} of such studies" in replacement(block, "never", ()).as_json()["text"]


def test_a_difference_that_is_not_tested_says_so() -> None:
    """The two systems differ on four of twelve queries."""
    table = [
        {"item": f"q{query}{system}", "query": f"q{query}", "system": system, "unit": f"u{unit}",
         "rater": rater, "rater_kind": "human", "variable": "answerable",
         "value": "no" if (system, unit) == ("b", 0) and query < 4 else "yes"}
        for query in range(12) for system in "ab" for unit in range(5) for rater in ("ada", "bo")
    ]  # fmt: skip
    best = tandem.report(table, resamples=100).json["verdict"]["scores"]["coverage"]["best"]
    assert best["text"].endswith(
        "0.07 above b; not tested: the two differ on 4 of 12 queries, at least 5 must"
    )


def test_soft_labels_name_no_ties_where_people_never_tie() -> None:
    text = FORMATS["md"].render(study({}, PEOPLE))
    assert "the likeliest label differs from the majority on" in text
    assert "0 ties" not in text


@pytest.mark.parametrize(("high", "sure"), [(-2.86, True), (0.3, False)])
def test_a_judge_surely_beyond_the_floor_is_said_to_be_farther_from_people(
    high: float, sure: bool
) -> None:
    block = study({"reversing": ~PEOPLE["bo"]}, PEOPLE)["variables"]["answerable"]
    answer = block["judges"]["reversing"]["alt_test"]["answer"]
    answer["set_by"] = "commonest_label"
    answer["way"] = {"value": -4.19, "low": -6.9, "high": high}
    text = replacement(block, "reversing", ()).as_json()["text"]
    assert "−4.19 [−6.90, " in text
    assert ("of the way from the floor to people, so farther from people" in text) == sure
