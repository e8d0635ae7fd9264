"""The demonstration's study has something to show: three judges with three verdicts, and why."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import combinations
from typing import Any

import pytest

import tandem
from analysis.example_studies.demonstration import CARELESS, JUDGES, PEOPLE, README, build
from tandem.verbs import BY_WORDS

Row = dict[str, Any]
FILES = build("demo")
JUDGE_NAMES = [judge.name for judge in JUDGES]


def rows(name: str) -> list[Row]:
    return [json.loads(line) for line in FILES[name].splitlines()]


REPORTS = {
    report["id"]: (query, report) for query in rows("reports.jsonl") for report in query["reports"]
}
LABELS = {rater.name: rows(f"labels/{rater.name}.jsonl") for rater in (*PEOPLE, *JUDGES)}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The report on the study's labels, computed as for any file."""
    path = tmp_path_factory.mktemp("study") / "labels.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for rater, lines in LABELS.items():
            kind = "judge" if rater in JUDGE_NAMES else "human"
            for line in lines:
                query, about = REPORTS[line["item"]]
                known = {"query": query["id"], "system": about["system"], "rater_kind": kind}
                file.write(json.dumps(line | known | {"protocol": "report-coverage"}) + "\n")
    return tandem.report(path, resamples=200)


def verdict(report: Any, judge: str) -> Row:
    sentence: Row = report.json["verdict"]["variables"]["answerable"]["judges"][judge]
    return sentence


def test_each_judge_has_another_answer_to_whether_it_may_stand_in(report: Any) -> None:
    queries = len(rows("documents.jsonl"))
    assert queries >= 30
    answers = {name: verdict(report, name)["replacement"]["answer"] for name in JUDGE_NAMES}
    assert answers == {
        "judge-careful": "Shown",
        "judge-eager": "Shown worse",
        "judge-strict": f"Not shown with {queries} queries",
    }


def test_what_is_undecided_says_how_many_queries_decide_it(report: Any) -> None:
    undecided = verdict(report, "judge-strict")["replacement"]["parts"][-1]
    assert undecided["text"].endswith(f"label {undecided['more']} more")
    people = report.json["verdict"]["variables"]["answerable"]["people"]["parts"][-1]
    assert f"label {people['more']} more" in people["text"]
    assert 1 <= undecided["more"] <= 60
    assert 1 <= people["more"] <= 60
    decided = verdict(report, "judge-careful")["replacement"]["parts"]
    assert not any("more" in part for part in decided)


def test_people_agree_well_and_one_of_them_is_careless(report: Any) -> None:
    pairs = report.json["variables"]["answerable"]["agreement"]["pairs"]
    kappas = {frozenset((p["a"], p["b"])): p["cohen_kappa"]["value"] for p in pairs}
    for both in combinations((person.name for person in PEOPLE), 2):
        if CARELESS in both:
            assert kappas[frozenset(both)] < 0.5
        else:
            assert kappas[frozenset(both)] > 0.8
    assert any(CARELESS in warning for warning in map(str, report.warnings))


def test_people_find_one_system_clearly_best(report: Any) -> None:
    (score,) = report.json["verdict"]["scores"].values()
    assert score["best"]["answer"] == "oracle-context, clearly"


def test_every_quote_is_in_its_report_and_a_yes_has_one() -> None:
    for lines in LABELS.values():
        for line in lines:
            _, about = REPORTS[line["item"]]
            quotes = [span["text"] for span in line.get("spans", ())]
            assert (line["value"] == "yes") == bool(quotes)
            assert all(quote in about["text"] for quote in quotes)


def test_no_text_has_a_gap_and_no_two_queries_are_about_the_same() -> None:
    texts = [text for name, text in FILES.items() if name.endswith(".jsonl")]
    said = [value for text in texts for line in text.splitlines() for value in strings(line)]
    assert not any("{" in value or "}" in value for value in said)
    asked = [query["text"] for query in rows("documents.jsonl")]
    assert len(set(asked)) == len(asked)


def strings(line: str) -> list[str]:
    found: list[str] = []
    pending: list[Any] = [json.loads(line)]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict | list):
            pending += value.values() if isinstance(value, dict) else value
    return found


def test_judges_who_differ_from_people_give_a_reason_worth_reading() -> None:
    by_unit: dict[tuple[str, str], list[str]] = defaultdict(list)
    for person in PEOPLE:
        for line in LABELS[person.name]:
            by_unit[line["item"], line["unit"]].append(line["value"])
    for judge in JUDGE_NAMES:
        alone = [
            line
            for line in LABELS[judge]
            if line["value"] not in by_unit[line["item"], line["unit"]]
        ]
        assert len(alone) >= 3, judge
        reasons = [line["meta"]["reason"] for line in alone]
        assert all(len(reason.split()) >= 5 for reason in reasons)
        assert len(set(reasons)) >= len(reasons) / 6, judge


def test_the_files_are_the_same_each_time() -> None:
    assert build("demo") == FILES


def test_the_study_file_names_every_file() -> None:
    study = FILES["study.toml"]
    assert all(f'"{name}"' in study for name in FILES if name.endswith(".jsonl"))


def test_the_readme_of_the_study_names_verbs_that_exist() -> None:
    named = re.findall(r"`tandem ([a-z ]+)", README)
    assert len(named) == 4
    for words in named:
        assert {tuple(words.split()[:n]) for n in (1, 2)} & BY_WORDS.keys(), words
