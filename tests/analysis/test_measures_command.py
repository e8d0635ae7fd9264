"""The `measures` command, over CRUX's worked example in our own data form, and other protocols."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from tests.analysis.conftest import run
from tests.cast import write_lines
from tests.measures.cast import PASSAGES, QUESTIONS, RATED, WORDS

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
    return {"item": item, "unit": unit, "variable": variable, "value": str(value), "rater": rater,
            "rater_kind": kind}  # fmt: skip


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


def test_a_rating_that_is_missing_is_left_out_or_a_zero_by_the_preset(tmp_path: Path) -> None:
    labels = [each for each in ratings() if (each["item"], each["unit"]) != ("t/p3", "q4")]
    all_units = ("--option", "sampling=all")
    found = measured(tmp_path, "rubric-passage", labels, made=all_units)
    assert value(found["Cov"], "bm25") == pytest.approx(5 / 7)
    zero = json.loads(run("measures", "--campaign", "c", "--preset", "crux"))["measures"]
    assert value(zero["Cov"], "bm25") == pytest.approx(5 / 8)


def test_reports_are_covered_by_yes_and_no(tmp_path: Path) -> None:
    labels = [
        label("o", "q0", "answerable", "no"), label("o", "q1", "answerable", "no"),
        label("o", "q2", "answerable", "invalid"),
        label("b", "q0", "answerable", "no"),
        label("o", "q0", "answerable", "yes", "judge"),
    ]  # fmt: skip
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
    # q0 to q3 of the eight that an oracle passage answers; at 5 five count, q0 q1 q2 among them.
    assert value(found["measures"]["Cov(y)@rated"], "oracle", "judge") == pytest.approx(4 / 8)
    rows = {row["eta"]: row for row in found["thresholds"]["judge"]}
    assert (rows[3]["questions"], rows[3]["report"]) == (8, pytest.approx(1 / 2))
    assert (rows[5]["questions"], rows[5]["report"]) == (5, pytest.approx(3 / 5))
    assert rows[3]["context"] == pytest.approx((1 + 6 / 8) / 2)
    assert "Thresholds" in run(
        "measures", "--campaign", "r", "--passages", "people@c", "--format", "md"
    )
    with pytest.raises(CommandError, match="'eve' rated nothing there; there are people, ada"):
        run("measures", "--campaign", "r", "--passages", "eve@c")


def test_key_points_are_recalled_and_held_to_the_context(tmp_path: Path) -> None:
    labels = [
        label("b", "k1", "entailed", "yes"), label("b", "k2", "entailed", "yes"),
        label("b", "k3", "entailed", "neutral"), label("b", "k3", "failure", "general"),
    ]  # fmt: skip
    found = measured(tmp_path, "key-point-recall", labels)
    # k2 comes from p2, which is not in the context p3, p1.
    assert value(found["KPR"], "bm25") == pytest.approx(2 / 3)
    assert value(found["KPP"], "bm25") == pytest.approx(1 / 2)
    assert value(found["KPF"], "bm25") == pytest.approx(4 / 7)
    assert value(found["Failure:general"], "bm25") == 1
    oracle = found["KPR"]["systems"]["oracle"]["people"]
    assert (oracle["value"], oracle["reason"]) == (None, "no key point was labelled")


def test_answers_are_factual_where_every_sentence_is_borne_out(tmp_path: Path) -> None:
    labels = [
        label("t", "o#1", "support", "supported"), label("t", "o#2", "support", "no-rad"),
        label("t", "b#1", "support", "unsupported"),
        label("t", "o", "eligibility", "minor"), label("t", "b", "eligibility", "major"),
        label("t", "o", "faithful", 4), label("t", "o", "appropriate", 2),
    ]  # fmt: skip
    found = measured(tmp_path, "answer-rating", labels)
    assert (value(found["Factuality"], "oracle"), value(found["Factuality"], "bm25")) == (1, 0)
    assert value(found["Eligibility"], "bm25") == 0
    assert value(found["F+A"], "oracle") == pytest.approx(16 / 6)
    assert "RAF" not in found


def test_a_judgement_that_failed_is_a_no_under_zero_and_one_never_asked_for_is_none(
    tmp_path: Path,
) -> None:
    """The judge's eligibility and deflection of o are unreadable; of b it was asked nothing."""
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


def test_raters_say_which_answers_deflect(tmp_path: Path) -> None:
    # The text of b refuses by its words; a person finds an answer in it, and a judge agrees with
    # the words. People answered the question, so that to deflect is a false positive.
    labels = [
        label("t", "o", "abstains", "no"), label("t", "b", "abstains", "no"),
        label("t", "b", "abstains", "yes", "judge"),
    ]  # fmt: skip
    found = measured(tmp_path, "answer-rating", labels)["Deflection:FP"]
    assert value(found, "bm25", "texts") == 1
    assert value(found, "bm25", "people") == 0
    assert value(found, "bm25", "judge") == 1
    assert found["systems"]["oracle"]["raters"]["judge"]["value"] is None


def test_each_persons_preference_counts(tmp_path: Path) -> None:
    labels = [
        label("o/b", "o/b", "preferred", "first"),
        label("o/b", "o/b", "preferred", "tie-good", "bram"),
    ]
    found = measured(tmp_path, "answer-preference", labels)
    assert value(found["Win-rate"], "oracle") == pytest.approx(3 / 4)
    assert value(found["Win-rate"], "bm25", "bram") == pytest.approx(1 / 2)


def test_the_batch_alone_gives_words_and_citations(tmp_path: Path) -> None:
    found = measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    # "one two" against "one three".
    assert value(found["RougeL"], "oracle", "texts") == pytest.approx(1 / 2)
    assert value(found["Attribution:P"], "oracle", "texts") == pytest.approx(1 / 2)
    assert value(found["Attribution:R"], "bm25", "texts") == 0
    assert value(found["Deflection:FP"], "bm25", "texts") == 1


def test_systems_and_measures_are_held_against_each_other(tmp_path: Path) -> None:
    all_units = ("--option", "sampling=all")
    found = measured(tmp_path, "rubric-passage", ratings(), made=all_units)
    (setting,) = found["Cov"]["settings"]["people"]
    assert (setting["a"], setting["b"]) == ("oracle", "bm25")
    assert setting["difference"]["value"] == pytest.approx(2 / 8)
    pairs = {(each["a"], each["b"]): each["kendall"] for each in report["metrics"]["people"]}
    assert pairs["Cov@10", "Recall@10"]["reason"] == "fewer than three systems"
    # A random context of the oracle's size is all three passages: every one has the same value.
    sampled = {(each["a"], each["b"]): each["kendall"] for each in report["sampled"]["people"]}
    assert sampled["Cov", "alpha_nDCG"]["n"] == 48
    assert sampled["Cov", "alpha_nDCG"]["value"] is None
    assert sampled["Den@10", "MAP@10"]["n"] == sampled["Cov", "nDCG@20"]["n"] == 48


def test_cuts_of_key_point_scores_are_held_to_people(tmp_path: Path) -> None:
    # Scores 0.6, 0.7, 0.8; people keep the last only, and from 0.7 one of two is not key.
    labels = [
        label("k1", "k1", "grounded", "no"),
        label("k2", "k2", "grounded", "yes"), label("k2", "k2", "key", "neutral"),
        label("k3", "k3", "grounded", "yes"), label("k3", "k3", "key", "agree"),
    ]  # fmt: skip
    found = measured(tmp_path, "key-point-verification", labels)
    assert value(found["Retention"], "") == pytest.approx(1 / 3)
    (cut,) = (c for c in report["key_point_scores"]["cuts"] if c["threshold"] == 0.7)
    assert (cut["kept"], cut["false_discovery_rate"]["value"]) == (2, pytest.approx(1 / 2))
    assert "Cuts of the key-point score" in run("measures", "--campaign", "c", "--format", "md")


def test_answers_are_sliced_by_their_length(tmp_path: Path) -> None:
    found = measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    slices = found["Win-rate"]["slices"]["generation_length"]
    assert {name: list(systems) for name, systems in slices.items()} == {
        "long": ["bm25"],
        "short": ["oracle"],
    }


def test_markdown_shows_each_measure_with_its_reasons(tmp_path: Path) -> None:
    measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    text = run("measures", "--campaign", "c", "--format", "md")
    assert "## Win-rate" in text
    assert "| oracle" in text
    assert "ties: half." in text


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("eta", "is not K=V"),
        ("etta=3", "no option is called 'etta'"),
        ("refusals=mine", "no list of refusals is called 'mine'"),
        ("tokenizer=bert", "whitespace or file:PATH"),
    ],
)
def test_a_wrong_option_is_refused_in_words(tmp_path: Path, option: str, words: str) -> None:
    measured(tmp_path, "answer-preference", [label("o/b", "o/b", "preferred", "first")])
    with pytest.raises(CommandError, match=words):
        run("measures", "--campaign", "c", "--option", option)
