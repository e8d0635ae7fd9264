"""The verdict at the head of a report: its sentences say what the report's numbers say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.data.labels import FloorCodes, Scale
from analysis.data.selection import ReportOptions
from analysis.data.splits import STRATUM
from analysis.formats.build import document
from analysis.formats.score_sections import score_blocks
from analysis.report.brief import brief_of
from analysis.report.build import agreement_of_variables, frame_report
from analysis.report.verdict import _compared
from analysis.types import JSON
from tests.analysis.cast import JUDGE, RATING, fact, frame_of, table

HEAD: JSON = {"campaign": "c", "protocol": "p", "batch": "b", "hints": []}
GRADES = Scale(("good", "bad", "odd"), "nominal")


def report_of(facts: Any, **scales: Scale) -> JSON:
    frame = frame_of(facts, **scales)
    options = ReportOptions(resamples=200)
    return frame_report(HEAD, frame, options, list(frame.variables), None, check=False)


def said(report: JSON, what: str = "people", variable: str = "answerable") -> JSON:
    of = report["verdict"]["variables"][variable]
    found: JSON = of["people"] if what == "people" else of["judges"][JUDGE][what]
    return found


def labels(**columns: str) -> Any:
    return table(columns)


ALIKE = {"ada": "ynynyynn" * 5, "bram": "ynynyynn" * 5}
UNLIKE = {"ada": "ynynyynn" * 5, "bram": "nynynnyy" * 5}


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("columns", "words", "kappa", "tone"),
    [
        (ALIKE, "Almost perfectly", "1.00", "good"),
        (UNLIKE, "Less than by chance", "−1.00", "poor"),
        (ALIKE | {"bram": "ynynynyn" * 5}, "Moderately", "0.50", "fair"),
    ],
)
def test_peoples_agreement_is_described_in_the_words_of_fixed_bands(
    columns: dict[str, str], words: str, kappa: str, tone: str
) -> None:
    found = said(report_of(labels(**columns)))
    assert (found["answer"], found["tone"]) == (words, tone)
    assert f"κ {kappa} " in found["text"]
    assert "2 people, 40 units" in found["text"]


def test_a_campaign_calls_units_what_its_protocol_asks_about() -> None:
    facts, nouns = labels(**UNLIKE, **{JUDGE: "ynynyyny" * 5}), ("question", "questions")
    frame, options = frame_of(facts), ReportOptions(resamples=200)
    report = frame_report(
        HEAD, frame, options, ["answerable"], None, check=False, nouns={"answerable": nouns}
    )
    assert "2 people, 40 questions); they differ on 40 questions" in said(report)["text"]
    report = frame_report(
        HEAD,
        frame_of(labels(**ALIKE, **{JUDGE: "nnnynyyn" * 5})),
        options,
        ["answerable"],
        None,
        check=False,
        nouns={"answerable": nouns},
    )
    assert "of people’s “yes” missed (15 questions)" in said(report, "errors")["text"]


def test_of_three_judges_the_two_that_err_alike_are_named() -> None:
    facts = [
        *labels(ada="ynynyynn" * 5),
        *table({"one": "nnynyynn" * 5, "two": "ynynyyny" * 5, "three": "nnynyynn" * 5},
               rater_kind="judge"),
    ]  # fmt: skip
    of = report_of(facts)["verdict"]["variables"]["answerable"]["among_judges"]
    assert "; most alike are one and three, 1.00" in of["errors"]["text"]
    worth = of["errors"]["text"].partition("so that 3 judges are worth as many as ")[2]
    assert " judges whose errors are independent, if their votes are averaged" in worth


def test_without_people_the_verdict_says_that_nobody_labelled() -> None:
    assert said(report_of(labels(**{JUDGE: "ynyn"})))["text"] == (
        "Not known: nobody has labelled yet"
    )


def test_people_with_few_shared_units_are_counted_separately() -> None:
    found = said(report_of(labels(**ALIKE, chidi="yn" + "." * 38)))
    assert "3 people, 40 units; 1 of them with under 30 shared units" in found["text"]


def test_people_who_all_share_few_units_are_not_counted_separately() -> None:
    assert "; " not in said(report_of(labels(ada="ynynyn", bram="ynynyy")))["text"].split(")")[0]


def test_a_judge_below_people_is_said_to_agree_less_with_its_gap() -> None:
    report = report_of(labels(**ALIKE, **{JUDGE: "nnynyynn" * 4 + "ynnnnnyy"}))
    found = said(report, "agreement")
    of = report["variables"]["answerable"]["judges"][JUDGE]
    assert (found["answer"], found["tone"]) == ("Less than people do", "poor")
    assert f"κ with each person {of['with_people']['cohen_kappa']['value']:.2f}" in found["text"]
    assert "people 1.00; gap −0." in found["text"]
    keys = [part.get("key") for part in found["parts"]]
    assert ["variables", "answerable", "judges", JUDGE, "gap", "cohen_kappa"] in keys


def test_a_value_below_zero_has_a_minus_sign_not_a_hyphen() -> None:
    text = said(report_of(labels(**UNLIKE)))["text"]
    assert text.startswith("Less than by chance: κ −1.00 (2 people")


def test_below_ten_queries_the_value_alone_decides_nothing() -> None:
    report = report_of(labels(ada="ynynyn", bram="ynynnn", **{JUDGE: "nnnyyn"}))
    found = said(report, "agreement")
    assert (found["answer"], found["tone"]) == ("Less than people do, by the value alone", "open")


@pytest.mark.parametrize(
    ("gap", "answer"),
    [
        ((-0.004, None, None), "As much as people do at this precision, by the value alone"),
        ((-0.006, None, None), "Less than people do, by the value alone"),
        ((-0.004, -0.02, -0.001), "As much as people do, at this precision"),
        ((-0.004, -0.02, 0.01), "No difference from people can be shown"),
        ((0.004, 0.001, 0.02), "As much as people do, at this precision"),
    ],
)
def test_a_gap_that_rounds_to_zero_is_called_equal(gap: tuple[Any, ...], answer: str) -> None:
    assert _compared(dict(zip(("value", "low", "high"), gap, strict=True)))[0] == answer


def test_with_one_person_a_judge_cannot_be_compared_with_people() -> None:
    found = said(report_of(labels(ada="ynyn" * 10, **{JUDGE: "ynnn" * 10})), "agreement")
    assert found["answer"] == "Cannot be compared"


def test_an_undecided_test_says_how_many_queries_are_needed() -> None:
    people = {"ada": "ynynyn" * 5, "bram": "ynynnn" * 5, "chidi": "ynyyyn" * 5}
    report = report_of(labels(**people, **{JUDGE: "ynnyyn" * 5}))
    test = report["variables"]["answerable"]["judges"][JUDGE]["alt_test"]
    found = said(report, "replacement")
    assert test["verdict"] == "undecided"
    assert found["answer"] == "Cannot be decided"
    assert f"at least {test['queries_needed']} are needed" in found["text"]


THREE = {"ada": "ynynyynn" * 5, "bram": "ynynyynn" * 5, "chidi": "ynynyyny" * 5}


def replacement_beside(floor: FloorCodes) -> JSON:
    frame = replace(frame_of(labels(**THREE, **{JUDGE: "ynynyynn" * 5})))
    variables = {name: replace(of, floor=floor) for name, of in frame.variables.items()}
    options, frame = ReportOptions(resamples=200), replace(frame, variables=variables)
    report = frame_report(HEAD, frame, options, ["answerable"], None, check=False)
    return said(report, "replacement")


def test_a_judge_that_passes_while_word_overlap_fails_is_said_to_pass() -> None:
    found = replacement_beside(FloorCodes(np.array([1, 0] * 4 * 5)[::-1].copy(), ""))
    assert (found["answer"], found["tone"]) == ("Yes", "good")
    assert found["text"].endswith("ahead of 3 of 3 people; word overlap does not pass")


def test_a_pass_without_a_baseline_says_why_there_is_none() -> None:
    found = replacement_beside(FloorCodes(None, "the items show no text"))
    assert found["answer"] == "Yes"
    assert found["text"].endswith("; not tested beside word overlap: the items show no text")
    assert found["parts"][-1]["key"][-1] == "floor"


def test_labels_that_a_judge_misses_or_adds_link_to_their_units() -> None:
    # Of four yes two are missed, of four no one is added.
    found = said(report_of(labels(ada="yyyynnnn", **{JUDGE: "yynnnnny"})), "errors")
    assert found["answer"] == "Too strict"
    assert "50 % of people’s “yes” missed (2 units)" in found["text"]
    assert "25 % of their “no” called “yes” (1 unit)" in found["text"]
    cells = [part["cells"] for part in found["parts"] if "cells" in part]
    assert cells == [[["yes", "no"]], [["no", "yes"]]]


def test_a_judge_with_people_s_label_everywhere_gets_nothing_wrong() -> None:
    found = said(report_of(labels(ada="yynn", **{JUDGE: "yynn"})), "errors")
    assert found["text"] == "Nothing: it has people’s label on all 4 units"


def test_on_a_scale_a_judge_is_too_high_or_too_low() -> None:
    facts = [
        fact(f"i{n}", "u", rater, value, "rating")
        for n, values in enumerate((("3", "5"), ("2", "4"), ("4", "4"), ("1", "0")))
        for rater, value in zip(("ada", JUDGE), values, strict=True)
    ]
    found = said(report_of(facts, rating=RATING), "errors", "rating")
    assert found["answer"] == "Mostly too high"
    assert "above people on 50 % (2 units), below on 25 % (1 unit)" in found["text"]


def test_of_several_categories_the_most_frequent_confusions_are_named() -> None:
    facts = [
        fact(f"i{n}", "u", rater, value, "grade")
        for n, values in enumerate((("good", "bad"), ("good", "bad"), ("odd", "bad"), ("bad",) * 2))
        for rater, value in zip(("ada", JUDGE), values, strict=True)
    ]
    found = said(report_of(facts, grade=GRADES), "errors", "grade")
    assert "75 % of the labels, most often “bad” where people say “good” (2 units)" in found["text"]


def test_every_key_of_a_sentence_is_found_in_the_report() -> None:
    report = report_of(labels(**UNLIKE, **{JUDGE: "nnynyynn" * 5}))
    of = report["verdict"]["variables"]["answerable"]
    sentences = [of["people"], *of["judges"][JUDGE].values()]
    keys = [part["key"] for each in sentences for part in each["parts"] if "key" in part]
    assert len(keys) > 5
    for key in keys:
        place: Any = report
        for name in key:
            place = place[name]


def scored(*systems: tuple[str, tuple[str, ...]]) -> JSON:
    """A report on systems whose six reports have two questions, with these answers of Ada's."""
    facts = [
        fact(f"{system}/q{n}", f"q{n}/{k}", rater, answer, query=f"q{n}", system=system)
        for system, answers in systems
        for n, both in enumerate(answers)
        for k, answer in enumerate({"y": "yes", "n": "no"}[letter] for letter in both)
        for rater in ("ada", "bram")
    ]
    return report_of(facts)


ALL, MOST, NONE = ("yy",) * 6, ("yy", "yn", "yy", "yn", "yy", "yy"), ("nn", "nn", "ny") * 2


def test_the_best_system_is_named_first_and_called_certain_only_if_it_is() -> None:
    report = scored(("poor", NONE), ("rich", ALL))
    found = report["verdict"]["scores"]["coverage"]["best"]
    assert (found["answer"], found["tone"]) == ("rich, clearly", "good")
    assert "coverage 1.00 by the mean of people; 0.83 above poor" in found["text"]
    assert "above poor, p < 0.01 after Holm over 1 pair" in found["text"]


def test_of_systems_with_equal_scores_none_is_called_the_best() -> None:
    found = scored(("a", ALL), ("b", ALL), ("poor", NONE))["verdict"]["scores"]["coverage"]["best"]
    assert (found["answer"], found["tone"]) == ("Not one alone", "open")
    assert found["text"].endswith("coverage 1.00 by the mean of people, equal for 2 systems")


def test_a_best_system_that_may_be_first_by_chance_is_not_certain() -> None:
    report = scored(("near", MOST), ("poor", NONE), ("rich", ALL))
    found = report["verdict"]["scores"]["coverage"]["best"]
    assert (found["answer"], found["tone"]) == ("rich, but not clearly", "open")
    assert "0.17 above near, p 0.17 after Holm over 3 pairs" in found["text"]
    points = document(report).sections[0].points
    assert f"Which system is best? {found['text']}" in points
    (brief,) = brief_of({**report, "generated_at": ""})["scores"]
    assert brief["best"] == found["text"]
    assert [each["name"] for each in brief["systems"]] == ["rich", "near", "poor"]


def test_systems_and_their_pairs_are_listed_from_best_to_worst() -> None:
    (block, pairs, *_) = score_blocks(
        scored(("poor", NONE), ("near", MOST), ("rich", ALL)), "coverage"
    )
    assert [row[0] for row in block.tables[0].rows] == ["rich", "near", "poor"]
    rows = pairs.tables[0].rows
    assert [row[0] for row in rows] == ["rich – near", "rich – poor", "near – poor"]
    assert [row[2] for row in rows] == ["2 : 0 of 6", "6 : 0 of 6", "6 : 0 of 6"]


def test_with_a_single_system_none_is_called_the_best() -> None:
    assert not scored(("rich", ALL))["verdict"]["scores"]


def test_the_verdict_comes_first_and_names_each_of_several_variables() -> None:
    report = report_of(labels(**ALIKE))
    section = document(report).sections[0]
    assert section.title == "Verdict"
    assert section.points[0].startswith("Can people agree? Almost perfectly: κ 1.00")
    both = report_of([*labels(**ALIKE), *table(ALIKE, "odd")])
    assert document(both).sections[0].points[0].startswith("answerable: Can people agree?")


def test_the_agreement_computed_alone_equals_that_of_the_report() -> None:
    frame = frame_of(labels(ada="ynynyynn", bram="nynynnyy", **{JUDGE: "ynnyynny"}))
    # A judge is compared on the evaluation queries, and people on all.
    roles = {item.key: ("evaluation", "audit")[n % 2] for n, item in enumerate(frame.items)}
    frame = replace(frame, strata={STRATUM: roles})
    options, order = ReportOptions(resamples=2), ["answerable"]
    whole = frame_report(HEAD, frame, options, order, None, check=False)["variables"]["answerable"]
    found = agreement_of_variables(frame, options, order)["answerable"]
    assert found["agreement"] == whole["agreement"]
    assert found["judges"][JUDGE]["agreement"] == whole["judges"][JUDGE]["agreement"]
    assert found["categories"] == whole["categories"]
