"""The verdict at the head of a report: its sentences say what the report's numbers say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.labels.facts import FloorCodes, Scale
from tandem.labels.frame import STRATUM
from tandem.labels.selection import ReportOptions
from tandem.sections.brief import brief_of
from tandem.sections.build import frame_report
from tandem.sections.comparison import agreement_of_variables
from tandem.sections.contents import document, score_blocks
from tandem.sections.verdict import _compared
from tandem.statistics import interval_p_value
from tandem.types import JSON
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
        (ALIKE, "Almost perfectly, by the value alone", "1.00", "open"),
        (UNLIKE, "Less than by chance", "−1.00", "poor"),
        (ALIKE | {"bram": "ynynynyn" * 5}, "Only slightly to substantially", "0.50", "poor"),
    ],
)
def test_peoples_agreement_has_the_words_of_fixed_bands_at_both_ends_of_its_interval(
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
    assert text.startswith("Less than by chance: κ −1.00 [−1.00, −1.00] (2 people")


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


def test_several_judges_are_a_family_and_their_gaps_are_adjusted() -> None:
    # One interval excludes 0, by little, and does not after Holm over six judges.
    gap = {"value": -0.1, "low": -0.195, "high": -0.005}
    assert _compared(gap)[0] == "Less than people do"
    p = interval_p_value(gap["value"], gap["low"], gap["high"], 40)
    assert 0.03 < p < 0.05
    assert _compared(gap, p)[0] == "Less than people do"
    assert _compared(gap, 6 * p)[0] == "No difference from people can be shown"


def test_the_adjusted_p_value_stands_in_the_sentence_of_each_of_several_judges() -> None:
    judges = table({"one": "ynynyynn" * 9 + "nnnnnnnn", "two": "ynynyyyy" * 10}, rater_kind="judge")
    facts = [*labels(ada="ynynyynn" * 10, bram="ynynyyny" * 10), *judges]
    of = report_of(facts)
    blocks = of["variables"]["answerable"]["judges"]
    tests = {judge: block["gap_tests"]["cohen_kappa"] for judge, block in blocks.items()}
    ordered = sorted(tests.values(), key=lambda each: each["p_value"])
    # Of two judges the smaller p counts twice, here that of the longer side of the interval.
    assert ordered[0]["adjusted_p_value"] >= 2 * ordered[0]["p_value"]
    text = of["verdict"]["variables"]["answerable"]["judges"]["two"]["agreement"]["text"]
    assert "after Holm over 2 judges" in text


def test_a_judge_is_called_equivalent_if_its_narrow_interval_lies_within_the_margin() -> None:
    rng = np.random.default_rng(5)
    truth = rng.random(1200) < 0.5
    rated = [np.where(rng.random(1200) < 0.9, truth, ~truth) for _ in range(4)]
    columns = ["".join("y" if each else "n" for each in column) for column in rated]
    names = ("ada", "bram", "chidi", JUDGE)
    report = report_of(table(dict(zip(names, columns, strict=True))))
    of = report["variables"]["answerable"]["judges"][JUDGE]["equivalence"]
    assert of["margin"] == 0.1
    found = of["cohen_kappa"]
    assert found["equivalent"] is True
    assert -0.1 < found["estimate"]["low"] < found["estimate"]["high"] < 0.1
    assert "90 % BCa" in found["estimate"]["method"]
    assert "; equivalent within 0.1" in said(report, "agreement")["text"]


def test_with_one_person_a_judge_cannot_be_compared_with_people() -> None:
    found = said(report_of(labels(ada="ynyn" * 10, **{JUDGE: "ynnn" * 10})), "agreement")
    assert found["answer"] == "Cannot be compared"


def test_a_judge_that_is_not_shown_has_the_chance_that_one_as_good_as_people_had() -> None:
    people = {"ada": "ynynyn" * 5, "bram": "ynynnn" * 5, "chidi": "ynyyyn" * 5}
    report = report_of(labels(**people, **{JUDGE: "ynnyyn" * 5}))
    test = report["variables"]["answerable"]["judges"][JUDGE]["alt_test"]
    found = said(report, "replacement")
    assert test["verdict"] == "undecided"
    assert (found["answer"], found["tone"]) == ("Not shown with 15 queries", "open")
    assert "as good as people would have been shown in" in found["text"]


THREE = {"ada": "ynynyynn" * 5, "bram": "ynynyynn" * 5, "chidi": "ynynyyny" * 5}


def replacement_beside(floor: FloorCodes) -> JSON:
    frame = replace(frame_of(labels(**THREE, **{JUDGE: "ynynyynn" * 5})))
    variables = {name: replace(of, floor=floor) for name, of in frame.variables.items()}
    options, frame = ReportOptions(resamples=200), replace(frame, variables=variables)
    report = frame_report(HEAD, frame, options, ["answerable"], None, check=False)
    return said(report, "replacement")


def test_a_judge_is_shown_to_be_at_most_epsilon_behind_and_never_to_be_ahead() -> None:
    found = replacement_beside(FloorCodes(np.array([1, 0] * 4 * 5)[::-1].copy(), ""))
    assert "at most 0.2 behind 3 of 3 people; gap" in found["text"]
    assert "word overlap" not in found["text"]


def test_word_overlap_that_passes_too_is_named_beside_the_answer() -> None:
    found = replacement_beside(FloorCodes(np.array([0, 1, 0, 1, 0, 0, 1, 1] * 5), ""))
    assert "at most 0.2 behind 3 of 3 people" in found["text"]
    assert "; word overlap passes, too" in found["text"]


def test_a_pass_without_a_baseline_says_why_there_is_none() -> None:
    found = replacement_beside(FloorCodes(None, "the items show no text"))
    assert "at most 0.2 behind 3 of 3 people" in found["text"]
    assert "; not tested beside word overlap: the items show no text" in found["text"]
    assert any(part.get("key", [""])[-1] == "floors" for part in found["parts"])


def test_labels_that_a_judge_misses_or_adds_link_to_their_units() -> None:
    # Of four yes two are missed, of four no one is added.
    found = said(report_of(labels(ada="yyyynnnn", **{JUDGE: "yynnnnny"})), "errors")
    assert found["answer"] == "Too strict or too lenient cannot be said"
    assert "50 % of people’s “yes” missed (2 units)" in found["text"]
    assert "25 % of their “no” called “yes” (1 unit)" in found["text"]
    cells = [part["cells"] for part in found["parts"] if "cells" in part]
    assert cells == [[["yes", "no"]], [["no", "yes"]]]


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        # A quarter of the yes are missed; a quarter of the no are added; one unit of each is wrong.
        ("ynynnnyn" * 10, "Too strict"),
        ("yyynynyn" * 10, "Too lenient"),
        ("ynyn" * 19 + "nyyn", "Too strict or too lenient cannot be said"),
    ],
)
def test_the_direction_of_errors_is_named_if_its_whole_interval_lies_there(
    judge: str, words: str
) -> None:
    report = report_of(labels(ada="ynyn" * (len(judge) // 4), **{JUDGE: judge}))
    found = said(report, "errors")
    assert found["answer"] == words
    direction = report["variables"]["answerable"]["judges"][JUDGE]["direction"]
    assert (direction["low"] is None) is (words.endswith("cannot be said"))


def test_yes_and_no_with_an_order_have_the_words_of_yes_and_no() -> None:
    ordered = Scale(("no", "yes"), "ordinal")
    columns = {"ada": "ynyn" * 20, JUDGE: "ynynnnyn" * 10}
    found = said(report_of(labels(**columns), answerable=ordered), "errors")
    assert found["answer"] == "Too strict"


def test_three_units_missed_and_three_added_show_no_direction() -> None:
    # 3 of 10 yes are missed, 3 of 70 no are added: 30 and 4 %, on a few queries each.
    ada = "y" * 10 + "n" * 70
    judge = "nnn" + "y" * 7 + "yyy" + "n" * 67
    found = said(report_of(labels(ada=ada, **{JUDGE: judge})), "errors")
    assert "30 % of people’s “yes” missed (3 units)" in found["text"]
    assert (found["answer"], found["tone"]) == ("Too strict or too lenient cannot be said", "open")


def test_errors_that_surely_differ_by_ten_points_at_most_are_alike() -> None:
    people = ("ynnyynyn" * 50)[:400]
    wrong = {n for n in range(400) if n % 25 == 0 or n % 25 == 13}
    turned = {"y": "n", "n": "y"}
    judge = "".join(turned[each] if n in wrong else each for n, each in enumerate(people))
    found = said(report_of(labels(ada=people, **{JUDGE: judge})), "errors")
    assert found["answer"] == "Misses and adds alike"


def test_a_judge_with_people_s_label_everywhere_gets_nothing_wrong() -> None:
    found = said(report_of(labels(ada="yynn", **{JUDGE: "yynn"})), "errors")
    assert found["text"] == "Nothing: it has people’s label on all 4 units"


def labels_of_ratings(ada: str, judge: str) -> Any:
    return table({"ada": ada, JUDGE: judge}, "rating")


def test_on_a_scale_few_units_do_not_show_whether_a_judge_is_too_high_or_too_low() -> None:
    facts = [
        fact(f"i{n}", "u", rater, value, "rating")
        for n, values in enumerate((("3", "5"), ("2", "4"), ("4", "4"), ("1", "0")))
        for rater, value in zip(("ada", JUDGE), values, strict=True)
    ]
    found = said(report_of(facts, rating=RATING), "errors", "rating")
    assert found["answer"] == "Too high or too low cannot be said"
    assert "above people on 50 % (2 units), below on 25 % (1 unit)" in found["text"]


def test_on_a_scale_a_judge_that_is_surely_higher_is_mostly_too_high() -> None:
    people = labels_of_ratings("0123" * 20, "1134" * 20)
    found = said(report_of(people, rating=RATING), "errors", "rating")
    assert found["answer"] == "Mostly too high"


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
    # Of six queries two differ by a half: t 1.58, p .17, which is 1.36 normal deviates. Holm's
    # first step over 3 pairs needs 2.39, and .84 more in four of five studies: 6 (3.24 / 1.36)^2.
    needed = {"text": "about 35 queries like these are needed: label 29 more", "more": 29}
    assert brief["best"]["needed"] == needed
    assert f"{brief['best']['text']}; {needed['text']}" == found["text"]
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
    assert section.points[0].startswith(
        "Can people agree? Almost perfectly, by the value alone: κ 1.00"
    )
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
