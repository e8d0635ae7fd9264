"""A report on a few invented labels, as the source of the keys on the formats page."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from analysis.campaigns.reports import flag_as_json
from annotation.answers.misplaced import MisplacedEvidence
from tandem.crosscheck import process
from tandem.labels.backgrounds import Question
from tandem.labels.file.frames import file_frame
from tandem.labels.frame import Families, Guideline
from tandem.labels.resampling import Sample
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections.backgrounds import backgrounds
from tandem.sections.base import Labels
from tandem.sections.families import own_family
from tandem.sections.guidelines import guidelines
from tandem.sections.trust import trust, trust_sentence
from tandem.trust.check import Draw

PEOPLE, JUDGE = ("RATER", "SECOND", "THIRD"), "JUDGE"
QUERIES = 16


@cache
def report() -> dict[str, Any]:
    """Return a report with every section.

    It has three people, a judge, a person who validates it, an adjudicator, and strata.
    """
    with _quickly():
        return _report()


@contextmanager
def _quickly() -> Iterator[None]:
    """Skip the cross-check by other libraries, since the page shows only the report's keys."""
    usual, process.IS_ON = process.IS_ON, False
    try:
        yield
    finally:
        process.IS_ON = usual


def _report() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "labels.jsonl")
        path.write_text("".join(json.dumps(line) + "\n" for line in _labels()), "utf-8")
        levels = {"answerable": "nominal", "rating": "ordinal"}
        made = labels_report([path], levels, ReportOptions(resamples=20, reference="adjudicated"))  # type: ignore[arg-type]
    _add_crowd(made)
    _add_judges(made)
    _add_fake(made)
    _add_sets(made)
    # Nothing is known about a labels file's material, so there are no hints and no roles.
    misplaced = MisplacedEvidence(PEOPLE[0], "human", "rating", 9, Counter(report=1))
    roles = {"development": 4, "evaluation": 24, "audit": 4, "compared": "evaluation"}
    # Made up, so that the page is the same without starting a process.
    check = made["check"] | {"libraries": {"krippendorff": "0.9.0"}}
    interim = {"labelled": 16, "registered": 50}
    whole = {"interim": interim, "hints": [flag_as_json(misplaced)], "roles": roles}
    return made | whole | {"check": check}


def _add_fake(made: dict[str, Any]) -> None:
    """Add the parts specific to campaigns: model families, replicates, and a scripted judge."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "labels.jsonl")
        path.write_text("".join(json.dumps(line) + "\n" for line in _labels()), "utf-8")
        frame, _ = file_frame([path], {"answerable": "nominal", "rating": "ordinal"})
    sample = Sample(frame.variables["answerable"], 20, 0)
    items = {item.key: item.system or "" for item in frame.items}
    column = next(n for n, rater in enumerate(frame.raters) if rater.name == JUDGE)
    found = own_family(sample, column, Families(items, items, {JUDGE: "SYSTEM"}))
    made["variables"]["answerable"]["judges"][JUDGE] |= found
    made["variables"]["answerable"]["words"] = {"yes": "Yes", "no": "No"}
    made["variables"]["answerable"]["noun"] = ["question", "questions"]
    judge = made["variables"]["answerable"]["judges"][JUDGE]
    # As where a report knows how queries were drawn.
    judge |= trust(Labels(frame, sample, sample, ReportOptions(), {}, Draw("all")), column)
    said = trust_sentence(judge, JUDGE, (), "questions")
    of_judge = made["verdict"]["variables"]["answerable"]["judges"][JUDGE]
    of_judge |= {name: sentence.as_json() for name, sentence in said}
    again = dict.fromkeys(("replicates", "orders"), found["own_family"]["preference"])
    made["variables"]["answerable"]["judges"][JUDGE]["consistency"] = again
    next(rater for rater in made["raters"] if rater["name"] == JUDGE)["scripted"] = True


def _add_crowd(made: dict[str, Any]) -> None:
    """Add the distributions that replace pairs with more than 30 people, and groups of people."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "crowd.jsonl")
        path.write_text("".join(json.dumps(line) + "\n" for line in _crowd()), "utf-8")
        crowd = labels_report([path], {}, ReportOptions(resamples=20))
        frame, _ = file_frame([path], {})
    whole = frame.variables["answerable"]
    sample = Sample(whole, 20, 0)
    both_kinds = (*whole.columns("human"), *whole.columns("judge"))
    under = {n: np.arange(len(whole.codes)) % 2 for n in both_kinds}
    both = Sample(replace(whole, guidelines=under), 20, 0)
    versions = (Guideline(None, ""), Guideline(1, "0" * 12))
    made["variables"]["answerable"]["guidelines"] = guidelines(both, versions)
    people = [f"P{turn}" for turn in range(31)]
    groups = {"ANSWER": frozenset(people[:15]), "OTHER": frozenset(people[15:])}
    asked = Question("QUESTION", "What is your first language?", groups)
    made["variables"]["answerable"]["backgrounds"] = backgrounds(sample, [asked])
    here, there = (each["variables"]["answerable"] for each in (made, crowd))
    of = "pairs_distribution"
    here["agreement"][of] = there["agreement"][of]
    here["judges"][JUDGE][of] = there["judges"][JUDGE][of]
    made["scores"]["coverage"][of] = crowd["scores"]["coverage"][of]


def _add_judges(made: dict[str, Any]) -> None:
    """Add the sections that compare several judges."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "judges.jsonl")
        path.write_text("".join(json.dumps(line) + "\n" for line in _judges()), "utf-8")
        several = labels_report([path], {}, ReportOptions(resamples=20))
    found = several["variables"]["answerable"]["between_judges"]
    made["variables"]["answerable"]["between_judges"] = found


def _add_sets(made: dict[str, Any]) -> None:
    """Add the parts of variables whose labels are sets of codes, or numbers on a scale."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sets.jsonl")
        path.write_text("".join(json.dumps(line) + "\n" for line in _sets()), "utf-8")
        several = labels_report([path], {"helpfulness": "interval"}, ReportOptions(resamples=20))
    sets, numbers = (several["variables"][name] for name in ("errors", "helpfulness"))
    here, masi = made["variables"]["answerable"], "cohen_kappa_masi"
    here |= {name: sets[name] for name in ("codes", "by_code")} | {"code_words": {"CODE": "Code"}}
    here["agreement"]["mean_of_pairs"][masi] = sets["agreement"]["mean_of_pairs"][masi]
    here["distribution"]["means"] = numbers["distribution"]["means"]
    mean = several["scores"]["mean helpfulness"]
    made["scores"]["coverage"] |= {name: mean[name] for name in ("about", "bounds")}


def _sets() -> Iterator[dict[str, Any]]:
    for n in range(QUERIES * 2):
        place = {"item": f"r{n}", "unit": f"q{n}", "query": f"q{n // 2}"}
        for turn, rater in enumerate((*PEOPLE, JUDGE)):
            who = {"rater": rater, "rater_kind": "judge" if rater == JUDGE else "human"}
            has = (n + (turn == n % 4)) % 2
            yield place | who | {"variable": "errors", "value": ["CODE"] * has}
            yield place | who | {"variable": "helpfulness", "value": str(10 * (n % 5) + turn)}


def _judges() -> Iterator[dict[str, Any]]:
    """Labels of two judges, and of a person on all but the last units."""
    for n in range(QUERIES * 2):
        place = {"item": f"r{n}", "unit": f"q{n}", "query": f"q{n // 2}", "variable": "answerable"}
        raters = {JUDGE: n % 2, "SECOND JUDGE": n % 3 == 0, PEOPLE[0]: n % 4 < 2}
        for rater, yes in raters.items():
            person = rater == PEOPLE[0]
            if not person or n < QUERIES:
                kind = {"rater": rater, "rater_kind": "human" if person else "judge"}
                yield place | kind | {"value": ("no", "yes")[int(yes)]}


def _crowd() -> Iterator[dict[str, Any]]:
    for n in range(QUERIES * 4):
        place = {"item": f"r{n}", "unit": f"q{n}", "query": f"q{n // 4}", "variable": "answerable"}
        place["system"] = (
            f"S{n % 4}"  # with 31 people, there are too many effects to fit, which takes seconds
        )
        for turn in range(31):
            yes = (n + (turn == n % 30) + (turn == 30) * n // 2) % 2
            yield place | {"rater": f"P{turn}", "value": ("no", "yes")[yes]}
        yield place | {"rater": JUDGE, "rater_kind": "judge", "value": ("no", "yes")[n % 2]}


def _labels() -> Iterator[dict[str, Any]]:
    for n in range(QUERIES * 2):
        query, question = divmod(n, 2)
        system = ("SYSTEM", "OTHER")[question]
        place = {"item": f"r{n}", "unit": f"q{n}", "query": f"q{query}", "kind": "question"}
        place |= {"system": system, "setting": "SETTING"}
        for turn, rater in enumerate((*PEOPLE, JUDGE)):
            who = {"rater": rater, "rater_kind": "judge" if rater == JUDGE else "human"}
            yes = (query + question + (turn == n % 7)) % 2
            score = {"score": (1 + n % 8) / 9} if rater == JUDGE else {}
            lost = rater == JUDGE and n == QUERIES
            grade = {"grade": str(2 * yes + n % 2)} if rater == JUDGE else {}
            answer = score | grade | {"value": ("no", "yes")[yes]}
            said = {"missing": "unreadable"} if lost else answer
            read = {"meta": {"reading": "fence"}} if rater == JUDGE and n % 5 == 0 else {}
            yield place | who | said | read | _marked(turn + n) | {"variable": "answerable"}
            rating = (n + turn // 3) % 6
            sure = {"meta": {"probabilities": {str(rating): 0.8, str((n + 1) % 6): 0.2}}}
            meta = sure if rater == JUDGE else {}
            yield place | who | meta | {"variable": "rating", "value": str(rating)}
        if n % 3 == 0:
            decided = {"rater": "REFERENCE", "rater_kind": "reference", "value": "yes"}
            yield place | decided | {"variable": "answerable"}
        checked = {"rater": "FOURTH", "assisted_by": JUDGE, "value": ("yes", "no")[question]}
        yield place | checked | {"variable": "answerable"}


def _marked(turn: int) -> dict[str, Any]:
    """Return evidence for every second label; some of it has no location."""
    quote = {"field": "report", "text": "words"}
    placed = {"start": turn % 5, "end": turn % 5 + 5} if turn % 10 else {}
    return {"spans": [quote | placed]} if turn % 2 == 0 else {}
