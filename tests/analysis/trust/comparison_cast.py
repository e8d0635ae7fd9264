"""Forty queries that two systems answered; two people say which sub-questions are answerable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from annotation.answers.submission import submit
from annotation.models import Campaign, Item, TrustPlan
from tests.annotation.answering import person
from tests.cast import Line, campaign_of, load

QUERIES, QUESTIONS = 40, 4
SYSTEMS, PEOPLE = ("new", "old"), ("ada", "bram")
Covered = Callable[[int, str], int]
"""Maps a query and a system to how many of the questions its report answers, by people."""


def query(number: int, systems: tuple[str, ...] = SYSTEMS) -> Line:
    return {
        "id": f"q{number}",
        "text": f"Where is bridge {number}?",
        "questions": [
            {"id": f"s{number}-{n}", "text": f"What of part {n}?"} for n in range(QUESTIONS)
        ],
        "reports": [
            {"id": f"r{number}-{name}", "system": name, "text": f"Bridge {number} 🌉, says {name}."}
            for name in systems
        ],
    }


def world(folder: Path, *lone: int, queries: int = QUERIES) -> Campaign:
    """A campaign over these queries; those of `lone` have only the new system's report."""
    load(folder, [query(n, SYSTEMS[:1] if n in lone else SYSTEMS) for n in range(queries)])
    return campaign_of("report-coverage", "--raters", "2")


def number_of(item: Item) -> int:
    return int(item.query.key[1:])


def new_is_better(number: int, system: str) -> int:
    """The new system answers one to three questions more."""
    return 1 + number % 3 if system == "new" else number % 2


def answer(item: Item, name: str, covered: Covered = new_is_better) -> None:
    assignment = item.assignments.filter(rater__name=name).first() or person(item, name)
    assert item.report is not None
    number = covered(number_of(item), item.report.system or "")
    quote = [{"quote": item.report.text, "start": 0}]
    payload = {
        unit: {"answerable": "yes", "evidence": quote}
        if n < number
        else {"answerable": "no", "evidence": []}
        for n, unit in enumerate(sorted(assignment.asked))
    }
    submit(assignment, {"units": payload, "comment": None}, "page")


def all_answer(plan: TrustPlan, covered: Covered = new_is_better, queries: int = QUERIES) -> None:
    """Both people answer the first drawn queries, in their order."""
    for draw in plan.draws.order_by("place")[:queries]:
        for item in Item.objects.filter(campaign=plan.campaign, query=draw.query):
            done = item.assignments.values_list("rater__name", flat=True)
            for name in set(PEOPLE) - set(done):
                answer(item, name, covered)
