"""The `measures` command computes CRUX's worked example, and the measures of other protocols."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from tandem.scores.options import Options
from tests.analysis.conftest import run
from tests.cast import write_lines
from tests.scores.cast import PASSAGES, QUESTIONS, RATED, WORDS

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
EXAMPLE = {
    "id": "t",
    "text": "What happened?",
    "questions": [{"id": f"q{n}", "text": f"Question {n}?"} for n in range(QUESTIONS)],
    "passages": [
        {"id": f"p{n + 1}", "text": " ".join(["word"] * WORDS[n])} for n in range(PASSAGES)
    ],
    "key_points": [
        {"id": f"k{n}", "text": f"Point {n}", "passage": f"p{n}", "score": (n + 5) / 10}
        for n in range(1, 4)
    ],
    "reports": [
        {"id": "o", "text": "One. Two.", "system": "oracle", "context": ["p1", "p2", "p3"],
         "citations": ["p1", "p2"], "sentences": ["One.", "Two."]},
        {"id": "b", "text": "I do not know.", "system": "bm25", "context": ["p3", "p1"],
         "citations": [], "sentences": ["I do not know."]},
    ],
    "references": [{"text": "One. Three.", "citations": ["p1"]}],
}  # fmt: skip


def measured(
    tmp_path: Path, protocol: str, labels: Iterable[JSON], *options: str, made: tuple[str, ...] = ()
) -> JSON:
    """The measures of a campaign over the example with these labels."""
    run("load_batch", str(write_lines(tmp_path / "batch.jsonl", [EXAMPLE])), "--name", "b")
    run("create_campaign", "c", "--protocol", protocol, "--batch", "b", *made)
    run("import_labels", str(write_lines(tmp_path / "labels.jsonl", labels)), "--campaign", "c")
    found: JSON = json.loads(run("measures", "--campaign", "c", "--resamples", "2", *options))
    report.clear()
    report.update(found)
    measures: JSON = found["measures"]
    return measures


report: JSON = {}
"""The whole report of the campaign that was measured last."""


def label(item: str, unit: str, variable: str, value: object, rater: str = "ada") -> JSON:
    kind = "judge" if rater == "judge" else "human"
    return {
        "item": item,
        "unit": unit,
        "variable": variable,
        "value": str(value),
        "rater": rater,
        "rater_kind": kind,
    }


def value(of: JSON, system: str, rater: str = "people") -> float | None:
    """A system's value by people or by texts, or else by a rater."""
    found = of["systems"][system]
    estimate = found["raters"].get(rater) or found[rater]
    answer: float | None = estimate["value"]
    return answer


def ratings() -> Iterable[JSON]:
    for passage in range(PASSAGES):
        for question in range(QUESTIONS):
            rating = RATED[passage].get(question, 0)
            yield label(f"t/p{passage + 1}", f"q{question}", "rating", rating)


def test_the_worked_example_gives_the_figures_that_were_worked_by_hand(tmp_path: Path) -> None:
    all_units = ("--option", "sampling=all")
    found = measured(tmp_path, "rubric-passage", ratings(), made=all_units)
    assert value(found["Cov"], "oracle") == pytest.approx(1.0)
    assert value(found["Cov"], "bm25") == pytest.approx(6 / 8)
    assert value(found["Den"], "bm25") == pytest.approx(1.25**0.5)
    assert value(found["Cov"], "bm25", "ada") == pytest.approx(6 / 8)
    assert value(found["Tokens"], "bm25") == 15
    assert report["required"]["people"] == {"t": ["p1", "p2"]}
    assert value(found["Recall@10"], "bm25", "texts") == pytest.approx(2 / 3)


def test_a_failed_judgement_is_left_out_or_counts_as_zero_by_preset(tmp_path: Path) -> None:
    labels = [
        without_value(each, "unreadable")
        if (each["item"], each["unit"]) == ("t/p3", "q4")
        else each
        for each in ({**each, "rater": "judge", "rater_kind": "judge"} for each in ratings())
    ]
    found = measured(tmp_path, "rubric-passage", labels, made=("--option", "sampling=all"))
    assert value(found["Cov"], "bm25", "judge") == pytest.approx(5 / 7)
    zero = json.loads(run("measures", "--campaign", "c", "--preset", "crux"))["measures"]
    assert value(zero["Cov"], "bm25", "judge") == pytest.approx(5 / 8)


def test_coverage_of_reports_can_be_computed_from_yes_and_no(tmp_path: Path) -> None:
    labels = [
        label("o", "q0", "answerable", "no"),
        label("o", "q1", "answerable", "no"),
        label("o", "q2", "answerable", "invalid"),
        label("b", "q0", "answerable", "no"),
        label("o", "q0", "answerable", "yes", "judge"),
    ]
    found = measured(tmp_path, "report-coverage", labels)
    assert value(found["Cov(y)"], "oracle") == 0
    assert found["Cov(y)"]["systems"]["oracle"]["people"]["n"] == 1
    assert value(found["Cov(y)"], "oracle", "judge") == 1


def test_ratings_of_reports_are_cut_at_eta(tmp_path: Path) -> None:
    labels = [label("o", f"q{n}", "rating", n, "judge") for n in range(6)]
    made = ("--option", "variables=answerable,rating")
    found = measured(tmp_path, "report-coverage", labels, made=made)
    assert value(found["Cov(y)@rated"], "oracle", "judge") == pytest.approx(1 / 2)
    five = json.loads(run("measures", "--campaign", "c", "--option", "eta=5"))["measures"]
    assert value(five["Cov(y)@rated"], "oracle", "judge") == pytest.approx(1 / 6)


def test_ratings_of_passages_filter_the_questions_of_reports(tmp_path: Path) -> None:
    measured(tmp_path, "rubric-passage", ratings(), made=("--option", "sampling=all"))
    run("create_campaign", "r", "--protocol", "report-coverage", "--batch", "b",
        "--option", "variables=answerable,rating")  # fmt: skip
    labels = [label("o", f"q{n}", "rating", 5 if n < 4 else 0, "judge") for n in range(10)]
    run("import_labels", str(write_lines(tmp_path / "r.jsonl", labels)), "--campaign", "r")
    found = json.loads(run("measures", "--campaign", "r", "--passages", "people@c"))
    # The report answers q0 to q3 of the eight that count; at 5 it answers q0 to q2 of five.
    assert value(found["measures"]["Cov(y)@rated"], "oracle", "judge") == pytest.approx(4 / 8)
    rows = {row["eta"]: row for row in found["thresholds"]["judge"]}
    assert (rows[3]["questions"], rows[3]["report"]) == (8, pytest.approx(1 / 2))
    assert (rows[5]["questions"], rows[5]["report"]) == (5, pytest.approx(3 / 5))
    assert rows[3]["context"] == pytest.approx((1 + 6 / 8) / 2)
    assert "Thresholds" in run(
        "measures", "--campaign", "r", "--passages", "people@c", "--format", "md"
    )
    with pytest.raises(CommandError, match="'eve' rated nothing there; raters are people, ada"):
        run("measures", "--campaign", "r", "--passages", "eve@c")


def test_the_methods_say_which_sub_questions_of_reports_count(tmp_path: Path) -> None:
    measured(tmp_path, "rubric-passage", ratings(), made=("--option", "sampling=all"))
    run("create_campaign", "r", "--protocol", "report-coverage", "--batch", "b")
    labels = write_lines(tmp_path / "r.jsonl", [label("o", "q0", "answerable", "no")])
    run("import_labels", str(labels), "--campaign", "r")
    given = ("--campaign", "r", "--preset", "crux", "--resamples", "2", "--format", "md")
    every, some = run("measures", *given), run("measures", *given, "--passages", "ada@c")
    assert "All sub-questions of reports count." in every
    assert "filtered yes" not in every
    assert "Only sub-questions that ada@c finds answered count." in some
    assert "filtered yes" in some


def test_ratings_of_passages_of_another_batch_are_refused(tmp_path: Path) -> None:
    measured(tmp_path, "rubric-passage", ratings(), made=("--option", "sampling=all"))
    other = {
        "id": "x",
        "text": "?",
        "questions": [{"id": "y", "text": "?"}],
        "reports": [{"id": "z", "text": "x"}],
    }
    run("load_batch", str(write_lines(tmp_path / "x.jsonl", [other])), "--name", "x")
    run("create_campaign", "r", "--protocol", "report-coverage", "--batch", "x")
    with pytest.raises(CommandError, match="'c' is over the batch 'b', 'r' over 'x'"):
        run("measures", "--campaign", "r", "--passages", "people@c")


def test_a_ranking_without_reports_has_no_row_in_the_threshold_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXAMPLE, "rankings", [{"system": "dense", "passages": ["p3"]}])
    measured(tmp_path, "rubric-passage", ratings(), made=("--option", "sampling=all"))
    run("create_campaign", "r", "--protocol", "report-coverage", "--batch", "b",
        "--option", "variables=answerable,rating")  # fmt: skip
    # The report of bm25 was not rated at all.
    labels = [label("o", f"q{n}", "rating", 5 if n < 4 else 0, "judge") for n in range(10)]
    run("import_labels", str(write_lines(tmp_path / "r.jsonl", labels)), "--campaign", "r")
    given = ("--campaign", "r", "--passages", "people@c", "--preset", "crux", "--resamples", "2")
    found = json.loads(run("measures", *given))
    (row,) = (row for row in found["thresholds"]["judge"] if row["eta"] == 3)
    assert row["context"] == pytest.approx((1 + 6 / 8) / 2)
    assert row["report"] == value(found["measures"]["Cov(y)@rated"], "oracle", "judge") == 4 / 8


def test_recall_of_key_points_and_points_from_context_are_measured(tmp_path: Path) -> None:
    labels = [
        label("b", "k1", "entailed", "yes"),
        label("b", "k2", "entailed", "yes"),
        label("b", "k3", "entailed", "neutral"),
        label("b", "k3", "failure", "general"),
    ]
    found = measured(tmp_path, "key-point-recall", labels)
    # k2 comes from p2, which is not in the context p3, p1.
    assert value(found["KPR"], "bm25") == pytest.approx(2 / 3)
    assert value(found["Points-from-context"], "bm25") == pytest.approx(1 / 2)
    assert value(found["Failure:general"], "bm25") == 1
    oracle = found["KPR"]["systems"]["oracle"]["people"]
    assert (oracle["value"], oracle["reason"]) == (None, "no key point was labelled")


def test_an_answer_is_factual_if_every_sentence_is_supported(tmp_path: Path) -> None:
    labels = [
        label("t", "o#1", "support", "supported"),
        label("t", "o#2", "support", "no-rad"),
        label("t", "b#1", "support", "unsupported"),
        label("t", "o", "eligibility", "minor"),
        label("t", "b", "eligibility", "major"),
        label("t", "o", "faithful", 4),
        label("t", "o", "appropriate", 2),
    ]
    found = measured(tmp_path, "answer-rating", labels)
    assert (value(found["Factuality"], "oracle"), value(found["Factuality"], "bm25")) == (1, 0)
    assert value(found["Eligibility"], "bm25") == 0
    assert value(found["F+A"], "oracle") == pytest.approx(16 / 6)
    assert "RAF" not in found


def test_with_missing_zero_a_failed_judgement_counts_as_no_and_an_unasked_one_does_not(
    tmp_path: Path,
) -> None:
    """The judge's answers about o are unreadable, and it was not asked about b."""
    lost = [
        {key: each for key, each in label("t", "o", name, "", "judge").items() if key != "value"}
        | {"missing": "unreadable"}
        for name in ("eligibility", "abstains")
    ]
    labels = [*lost, label("t", "b", "eligibility", "none"), label("t", "b", "abstains", "yes")]
    found = measured(tmp_path, "answer-rating", labels)
    zero = json.loads(run("measures", "--campaign", "c", "--option", "missing=zero"))["measures"]
    for name in ("Eligibility", "Deflection:FP"):
        assert value(found[name], "oracle", "judge") is None
        assert value(zero[name], "oracle", "judge") == 0
        assert value(zero[name], "bm25", "judge") is None
        assert value(zero[name], "oracle", "people") is None
        assert value(zero[name], "bm25", "people") == 1
    preset = json.loads(run("measures", "--campaign", "c", "--preset", "garage"))
    assert preset["options"]["missing"]["value"] == "leave-out"


@pytest.mark.first_case
@pytest.mark.parametrize(
    "sources", [[3, {"passage": 4}, {"passage": "p2", "sources": [{"passage": "p1"}]}], "none", 5]
)
def test_a_merged_key_point_belongs_to_the_passages_of_all_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sources: object
) -> None:
    points = [{"id": "k", "text": "P", "passage": "p2", "meta": {"sources": sources}}]
    monkeypatch.setitem(EXAMPLE, "key_points", points)
    found = measured(tmp_path, "key-point-recall", [label("b", "k", "entailed", "yes")])
    # The context is p3 and p1; a batch's own `sources` may be anything.
    assert value(found["Points-from-context"], "bm25") == int(isinstance(sources, list))


def test_no_and_neutral_together_mean_that_people_deny_the_point(tmp_path: Path) -> None:
    codes = {"k1": ("yes", "yes"), "k2": ("no", "neutral"), "k3": ("yes", "no")}
    labels = [
        label("b", point, "entailed", code, rater)
        for point, said in codes.items()
        for code, rater in zip(said, ("ada", "bram"), strict=True)
    ]
    # The answer makes k1 but not k2; on k3 people tie, so it does not count.
    found = measured(tmp_path, "key-point-recall", labels)
    assert value(found["KPR"], "bm25") == pytest.approx(1 / 2)
    assert value(found["KPR"], "bm25", "ada") == pytest.approx(2 / 3)


def factuality(tmp_path: Path, *labels: JSON) -> float | None:
    return value(measured(tmp_path, "answer-rating", labels)["uFactuality"], "oracle")


def test_a_sentence_is_supported_if_most_people_give_any_code_of_support(tmp_path: Path) -> None:
    codes = {"ada": "supported", "bram": "no-rad", "cleo": "unsupported"}
    first = [label("t", "o#1", "support", code, rater) for rater, code in codes.items()]
    second = [label("t", "o#2", "support", "supported", rater) for rater in codes]
    assert factuality(tmp_path, *first, *second) == 1


def test_an_answer_with_a_tied_sentence_is_left_out(tmp_path: Path) -> None:
    codes = {"ada": "supported", "bram": "unsupported"}
    first = [label("t", "o#1", "support", code, rater) for rater, code in codes.items()]
    second = [label("t", "o#2", "support", "supported", rater) for rater in codes]
    assert factuality(tmp_path, *first, *second) is None
    by = report["measures"]["uFactuality"]["systems"]["oracle"]
    assert {name: each["value"] for name, each in by["raters"].items()} == {"ada": 1, "bram": 0}
    assert by["people"]["reason"] == "no response has labels for all of its sentences"


def test_an_answer_that_was_labelled_only_in_part_is_left_out(tmp_path: Path) -> None:
    assert factuality(tmp_path, label("t", "o#1", "support", "supported")) is None


def test_the_reason_says_whether_labels_of_sentences_or_eligibility_are_missing(
    tmp_path: Path,
) -> None:
    whole = [label("t", f"o#{n}", "support", "supported") for n in (1, 2)]
    found = measured(tmp_path, "answer-rating", whole)
    assert value(found["uFactuality"], "oracle") == 1
    reason = found["Factuality"]["systems"]["oracle"]["people"]["reason"]
    assert reason == "no response has both eligibility and labels for all of its sentences"


def test_a_mean_halfway_between_two_grades_of_issues_is_rounded_to_the_worse(
    tmp_path: Path,
) -> None:
    said = {"ada": ("none", "minor"), "bram": ("minor", "major")}
    labels = [
        label("t", item, "eligibility", code, rater)
        for rater, codes in said.items()
        for item, code in zip(("o", "b"), codes, strict=True)
    ]
    found = measured(tmp_path, "answer-rating", labels)["Eligibility"]
    assert (value(found, "oracle"), value(found, "bm25")) == (1, 0)


def test_a_mean_halfway_between_agree_and_neutral_counts_as_neutral(tmp_path: Path) -> None:
    labels = [
        row
        for rater, code in (("ada", "agree"), ("bram", "neutral"))
        for row in (
            label("k1", "k1", "grounded", "yes", rater),
            label("k1", "k1", "key", code, rater),
        )
    ]
    assert value(measured(tmp_path, "key-point-verification", labels)["Retention"], "") == 0
    kept = json.loads(run("measures", "--campaign", "c", "--option", "keep_neutral=yes"))
    assert value(kept["measures"]["Retention"], "") == 1


def test_labels_and_not_words_decide_which_answers_deflect(tmp_path: Path) -> None:
    # By its words, b refuses. A person finds an answer in it, and a judge agrees with
    # the words. People answered the question, so that to deflect is a false positive.
    labels = [
        label("t", "o", "abstains", "no"),
        label("t", "b", "abstains", "no"),
        label("t", "b", "abstains", "yes", "judge"),
    ]
    found = measured(tmp_path, "answer-rating", labels)["Deflection:FP"]
    assert value(found, "bm25", "texts") == 1
    assert value(found, "bm25", "people") == 0
    assert value(found, "bm25", "judge") == 1
    assert found["systems"]["oracle"]["raters"]["judge"]["value"] is None


def test_preferences_of_all_people_count(tmp_path: Path) -> None:
    labels = [
        label("o/b", "o/b", "preferred", "first"),
        label("o/b", "o/b", "preferred", "tie-good", "bram"),
    ]
    found = measured(tmp_path, "answer-preference", labels)
    assert value(found["Win-rate"], "oracle") == pytest.approx(3 / 4)
    assert value(found["Win-rate"], "bm25", "bram") == pytest.approx(1 / 2)


def test_measures_of_words_and_citations_need_only_the_batch(tmp_path: Path) -> None:
    found = measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    # "one two" against "one three".
    assert value(found["RougeL"], "oracle", "texts") == pytest.approx(1 / 2)
    assert value(found["Attribution:P"], "oracle", "texts") == pytest.approx(1 / 2)
    assert value(found["Attribution:R"], "bm25", "texts") == 0
    assert value(found["Deflection:FP"], "bm25", "texts") == 1


def test_systems_and_measures_are_compared_with_each_other(tmp_path: Path) -> None:
    all_units = ("--option", "sampling=all")
    contexts = ("--option", f"samples={Options().samples}")
    found = measured(tmp_path, "rubric-passage", ratings(), *contexts, made=all_units)
    (setting,) = found["Cov"]["settings"]["people"]
    assert (setting["a"], setting["b"]) == ("oracle", "bm25")
    assert setting["difference"]["value"] == pytest.approx(2 / 8)
    pairs = {(each["a"], each["b"]): each["kendall"] for each in report["metrics"]["people"]}
    assert pairs["Cov@10", "Recall@10"]["reason"] == "fewer than three systems"
    # A random context of the oracle's size has all three passages, so all have the same value.
    sampled = {(each["a"], each["b"]): each["kendall"] for each in report["sampled"]["people"]}
    assert sampled["Cov", "alpha_nDCG"]["n"] == 48
    assert sampled["Cov", "alpha_nDCG"]["value"] is None
    assert sampled["Den@10", "MAP@10"]["n"] == sampled["Cov", "nDCG@20"]["n"] == 48


def without_value(of: JSON, missing: str) -> JSON:
    """A label that is missing for a reason."""
    return {**{key: each for key, each in of.items() if key != "value"}, "missing": missing}


def test_a_point_whose_importance_was_never_asked_does_not_count_as_failed(tmp_path: Path) -> None:
    """Nobody was asked whether k3 is key; the answer on k2 could not be read."""
    labels = [
        label("k1", "k1", "grounded", "yes"),
        label("k1", "k1", "key", "agree"),
        label("k2", "k2", "grounded", "yes"),
        without_value(label("k2", "k2", "key", ""), "unreadable"),
        label("k3", "k3", "grounded", "yes"),
    ]
    found = measured(tmp_path, "key-point-verification", labels, "--preset", "long2rag")
    for name in ("Retention", "Retention-micro"):
        assert value(found[name], "") == pytest.approx(1 / 2)


def test_an_answer_that_all_people_declined_counts_as_failed(tmp_path: Path) -> None:
    """Nobody answers about o. One person answers about b, so the other's refusal does not count."""
    labels = [
        without_value(label("t", "o", "eligibility", "", rater), "declined")
        for rater in ("ada", "bram")
    ]
    labels += [
        label("t", "b", "eligibility", "none"),
        without_value(label("t", "b", "eligibility", "", "bram"), "declined"),
    ]
    found = measured(tmp_path, "answer-rating", labels, "--option", "missing=zero")["Eligibility"]
    assert (value(found, "oracle"), value(found, "bm25")) == (0, 1)


def test_cuts_of_key_point_scores_are_compared_with_people(tmp_path: Path) -> None:
    # The scores are 0.6, 0.7 and 0.8. People keep only the last, so at 0.7 one of two is not key.
    labels = [
        label("k1", "k1", "grounded", "no"),
        label("k2", "k2", "grounded", "yes"),
        label("k2", "k2", "key", "neutral"),
        label("k3", "k3", "grounded", "yes"),
        label("k3", "k3", "key", "agree"),
    ]
    found = measured(tmp_path, "key-point-verification", labels)
    assert value(found["Retention"], "") == pytest.approx(1 / 3)
    (cut,) = (c for c in report["key_point_scores"]["cuts"] if c["threshold"] == 0.7)
    assert (cut["kept"], cut["false_discovery_rate"]["value"]) == (2, pytest.approx(1 / 2))
    text = run("measures", "--campaign", "c", "--format", "md")
    assert "Cuts of the key-point score" in text
    assert "score_cut 0.7" in text


def test_each_rater_has_its_own_cuts_and_calibration_of_key_point_scores(tmp_path: Path) -> None:
    # A cut at 0.7 keeps k2 and k3. Ada calls one not key, the judge both. Bram calls k2 key, so
    # that people tie on it.
    keys = {"ada": ("no", "yes"), "bram": ("yes", "yes"), "judge": ("no", "no")}
    labels = [
        row
        for rater, codes in keys.items()
        for point, code in zip(("k2", "k3"), codes, strict=True)
        for row in (
            label(point, point, "grounded", code, rater),
            *([label(point, point, "key", "agree", rater)] if code == "yes" else []),
        )
    ]
    measured(tmp_path, "key-point-verification", labels)
    scores = report["key_point_scores"]

    def rate(of: JSON) -> float:
        (cut,) = (c for c in of["cuts"] if c["threshold"] == 0.7)
        found: float = cut["false_discovery_rate"]["value"]
        return found

    assert rate(scores) == 0
    assert {name: rate(of) for name, of in scores["raters"].items()} == {
        "ada": 1 / 2,
        "bram": 0,
        "judge": 1,
    }
    # The judge calls the points with 0.7 and 0.8 not key: (0.49 + 0.64) / 2.
    assert scores["raters"]["judge"]["brier"]["value"] == pytest.approx(0.565)
    text = run("measures", "--campaign", "c", "--format", "md")
    assert "The cut at 0.7, by rater" in text
    assert "Calibration of the key-point score" in text
    assert "| Brier score" in text


def test_without_people_key_point_scores_are_compared_with_the_judge(tmp_path: Path) -> None:
    labels = [label("k3", "k3", "grounded", "no", "judge")]
    measured(tmp_path, "key-point-verification", labels)
    scores = report["key_point_scores"]
    assert scores["brier"]["value"] is None
    assert scores["raters"]["judge"]["brier"]["value"] == pytest.approx(0.64)


def test_a_human_deflection_makes_no_citation_of_systems_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deflected = {"text": "", "citations": [], "deflected": True}
    monkeypatch.setitem(EXAMPLE, "references", [deflected])
    found = measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    for name in ("Attribution:P", "Attribution:F1", "Attribution:P-micro"):
        assert value(found[name], "oracle", "texts") is None
    assert value(found["Deflection:TP"], "bm25", "texts") == 1


def test_answers_are_sliced_by_their_length(tmp_path: Path) -> None:
    found = measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    slices = found["Win-rate"]["slices"]["generation_length"]
    assert {name: list(systems) for name, systems in slices.items()} == {
        "long": ["bm25"],
        "short": ["oracle"],
    }


def test_markdown_shows_each_measure_with_its_options(tmp_path: Path) -> None:
    measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    text = run("measures", "--campaign", "c", "--format", "md")
    assert "## Win-rate" in text
    assert "| oracle" in text
    assert "ties: half." in text


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("eta", "is not K=V"),
        ("etta=3", "no option is called 'etta'"),
        ("refusals=mine", "no list of refusals is called 'mine'"),
        ("tokenizer=bert", "whitespace or file:PATH"),
    ],
)
def test_a_wrong_option_is_refused_with_a_message(tmp_path: Path, option: str, words: str) -> None:
    measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    with pytest.raises(CommandError, match=words):
        run("measures", "--campaign", "c", "--option", option)
