"""What is said of judges that nobody may use: through the library, and through a campaign."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tandem
from benchmarks.replacing import JUDGES, simulated
from tandem.formats import FORMATS
from tandem.messages import percent
from tandem.sections.methods import methods
from tandem.sections.replacement import replacement
from tandem.types import JSON
from tests.analysis.conftest import run

QUERIES, PREVALENCE, ITEMS = 40, 0.2, 10
PEOPLE = ("ada", "bo", "cy")
NEVER = re.compile(r"ahead of|\bwins?\b|winning", re.IGNORECASE)


def study() -> Iterator[tuple[int, int, str, str, str]]:
    """Labels by query, unit, rater, kind and value; the judges have the same texts and people."""
    people, _, _ = simulated("as good", QUERIES, PREVALENCE, 3)
    named = {name: ("human", people[:, n]) for n, name in enumerate(PEOPLE)}
    for judge in JUDGES:
        _, codes, _ = simulated(judge, QUERIES, PREVALENCE, 3)
        if judge == "reversing":
            codes = 1 - people[:, 1]
        named[judge] = ("judge", people[:, 0] if judge == "copying" else codes)
    # The judge as good as people belongs to the same texts as they do.
    named["as good"] = ("judge", simulated("as good", QUERIES, PREVALENCE, 3)[1])
    for name, (kind, codes) in named.items():
        for unit, code in enumerate(codes):
            yield unit // ITEMS, unit % ITEMS, name, kind, "yes" if code else "no"


@pytest.fixture(scope="module")
def report() -> JSON:
    table = [
        {"item": f"r{query}", "unit": f"u{unit}", "rater": rater, "rater_kind": kind,
         "variable": "answerable", "value": value, "query": f"q{query}"}
        for query, unit, rater, kind, value in study()
    ]  # fmt: skip
    return tandem.report(table, resamples=300).json


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A native batch and labels of the same study, for a campaign."""
    folder = tmp_path_factory.mktemp("replacing")
    batch = [
        {
            "id": f"q{query}",
            "text": f"Describe harbour {query}.",
            "questions": [{"id": f"q{query}:{n}", "text": f"Part {n}?"} for n in range(ITEMS)],
            "passages": [{"id": f"p{query}", "text": "The town runs a ferry."}],
            "reports": [{"id": f"q{query}#a", "text": "The town runs it.", "system": "a"}],
        }
        for query in range(QUERIES)
    ]
    labels = [
        {"item": f"q{query}#a", "unit": f"q{query}:{unit}", "kind": "question", "rater": rater,
         "rater_kind": kind, "variable": "answerable", "value": value}
        for query, unit, rater, kind, value in study()
    ]  # fmt: skip
    for name, rows in (("batch", batch), ("labels", labels)):
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def sentences(report: JSON, judge: str) -> JSON:
    found: JSON = report["verdict"]["variables"]["answerable"]["judges"][judge]["replacement"]
    return found


def epsilon_of(report: JSON, judge: str) -> float:
    of = report["variables"]["answerable"]["judges"][judge]["alt_test"]["answer"]
    return float(of["epsilon"])


def test_of_judges_that_read_nothing_none_is_shown(report: JSON) -> None:
    answers = {judge: sentences(report, judge)["answer"] for judge in JUDGES}
    assert answers["constant"] == f"Not shown with {QUERIES} queries"
    assert answers["coin"] in (f"Not shown with {QUERIES} queries", "Shown worse")
    assert answers["reversing"] == "Shown worse"
    # At this epsilon a judge ten points worse than people would mostly be shown, too.
    points = f"{100 * epsilon_of(report, 'copying'):g}"
    assert answers["copying"] == f"Only if up to {points} points behind is good enough"
    assert answers["as good"].startswith("Only if up to")


def test_epsilon_is_marked_where_the_floor_sets_it(report: JSON) -> None:
    of = report["variables"]["answerable"]["judges"]
    answer = of["as good"]["alt_test"]["answer"]
    assert answer["epsilon"] < of["as good"]["alt_test"]["epsilon"]
    text = sentences(report, "as good")["text"]
    assert f"at most {answer['epsilon']:g} behind 3 of 3 people, ε set by the floor" in text
    assert "of the way from the floor to people" in text
    assert answer["way"]["low"] <= answer["way"]["value"] <= answer["way"]["high"]
    assert of["constant"]["alt_test"]["answer"]["way"]["value"] == pytest.approx(0)
    assert of["constant"]["alt_test"]["passed"] is None


def test_no_sentence_says_that_a_judge_is_ahead_or_wins(report: JSON) -> None:
    said = [*methods(report), FORMATS["md"].render(report), FORMATS["html"].render(report)]
    assert [found for text in said for found in NEVER.findall(text)] == []


def test_the_methods_name_floors_families_and_the_single_look(report: JSON) -> None:
    text = " ".join(methods(report))
    assert "Verdicts hold for one look at the end" in text
    assert "200 permutations of the judge's labels" in text
    assert "adjustment over the judges of a variable (Holm 1979)" in text
    assert "(Schuirmann 1987)" in text


def test_a_judge_that_is_not_shown_comes_with_the_chance_of_a_good_one(report: JSON) -> None:
    power = report["variables"]["answerable"]["judges"]["constant"]["alt_test"]["power"]
    assert 0.5 < power["as_good"] <= 1
    chance = percent(min(power["as_good"], 0.995))
    said = f"a judge as good as people would have been shown in {chance} of such studies"
    assert said in sentences(report, "constant")["text"]


def judged(**changes: Any) -> JSON:
    """A block of a judge that is shown at epsilon .2, with changes."""
    estimate = {"value": 0.0, "low": -0.05, "high": 0.05, "n": 9, "method": "m"}
    floor = {"informative": True, "passes": False, "largest_epsilon_failed": 0.2, "loss": 0.4}
    answer = {
        "outcome": "shown", "epsilon": 0.2, "set_by": None, "within": 3, "beyond": 0,
        "annotators": [{"name": name, "n": 40} for name in PEOPLE], "way": estimate,
        "floors": {"word_overlap": floor},
    }  # fmt: skip
    test = {
        "epsilon": 0.2, "decides": "by_query", "answer": answer | changes.get("answer", {}),
        "balanced": {"outcome": "shown", "epsilon": 0.2} | changes.get("balanced", {}),
        "power": {"as_good": 0.9, "worse": 0.2} | changes.get("power", {}),
    }  # fmt: skip
    gap = estimate | changes.get("gap", {})
    judge = {"alt_test": test, "gap": {"cohen_kappa": gap, "percent": gap}}
    return replacement({"judges": {"j": judge}}, "j", ("judges", "j")).as_json()


def test_a_judge_is_only_shown_plainly_if_a_worse_one_would_mostly_not_be() -> None:
    assert judged()["answer"] == "Shown"
    worse = judged(power={"worse": 0.51})
    assert worse["answer"] == "Only if up to 20 points behind is good enough"
    assert worse["tone"] == "fair"


def test_a_gap_below_0_stands_in_the_sentence_and_sets_its_condition() -> None:
    found = judged(gap={"value": -0.2, "low": -0.26, "high": -0.13})
    assert found["answer"] == "Only if up to 20 points behind is good enough"
    assert "at most 0.2 behind 3 of 3 people; gap −0.20 [−0.26, −0.13]" in found["text"]


def test_the_condition_names_the_epsilon_that_the_floor_set() -> None:
    found = judged(power={"worse": 0.9}, answer={"epsilon": 0.07, "set_by": "commonest_label"})
    assert found["answer"] == "Only if up to 7 points behind is good enough"
    assert "ε set by the floor: always the commonest label" in found["text"]


def test_a_floor_that_passes_at_every_epsilon_is_named() -> None:
    changes = {"outcome": "not-shown", "epsilon": None, "set_by": "commonest_label", "within": 0}
    reason = {"as_good": None, "reason": "a floor passes at every epsilon"}
    found = judged(answer=changes, power=reason)
    assert found["answer"] == "Not shown with 40 queries"
    assert "at every ε a floor passes, always the commonest label" in found["text"]


def test_the_class_balanced_form_is_named_where_it_answers_otherwise() -> None:
    found = judged(balanced={"outcome": "not-shown", "epsilon": 0.12})
    assert "with equal weight for each category: not shown at ε 0.12" in found["text"]
    assert "equal weight" not in judged()["text"]


@pytest.mark.long
@pytest.mark.django_db
def test_a_campaign_says_the_same_of_these_judges(folder: Path, report: JSON) -> None:
    run("load_batch", str(folder / "batch.jsonl"), "--name", "harbours")
    run("create_campaign", "harbours", "--protocol", "report-coverage", "--batch", "harbours",
        "--raters-per-item", "3")  # fmt: skip
    run("import_labels", str(folder / "labels.jsonl"), "--campaign", "harbours")
    found = json.loads(run("report", "--campaign", "harbours", "--resamples", "300"))
    for judge in JUDGES:
        assert sentences(found, judge)["answer"] == sentences(report, judge)["answer"], judge
    floors = found["variables"]["answerable"]["judges"]["as good"]["alt_test"]["answer"]["floors"]
    assert floors["word_overlap"]["passes"] is not None
