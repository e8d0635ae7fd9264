"""Forty queries with reports of two systems; a judge finds every question answered by each."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from annotation.answers.submission import submit
from annotation.models import Assignment, Campaign, Item, Rater, TrustPlan, Unit
from tests.analysis.trust.comparison_cast import SYSTEMS, query
from tests.annotation.answering import person
from tests.cast import campaign_of, load, run, write_lines

QUERIES, PEOPLE = 40, ("ada", "bram", "chidi")
JUDGE, VARIABLE = "jude", "answerable"


def world(folder: Path, *lone: int, queries: int = QUERIES) -> Campaign:
    """A campaign whose judge is unsure of each report's last question.

    The queries of `lone` have only the new system's report.
    """
    load(folder, [query(n, SYSTEMS[:1] if n in lone else SYSTEMS) for n in range(queries)])
    campaign = campaign_of("report-coverage", "--raters", "3")
    lines = [
        {
            "campaign": campaign.name,
            "item": unit.item.key,
            "unit": unit.key,
            "kind": unit.kind,
            "variable": VARIABLE,
            "value": "yes",
            "score": 0.6 if number_of(unit.key) == 3 else 0.95,
            "rater": JUDGE,
            "rater_kind": "judge",
        }
        for unit in Unit.objects.filter(item__campaign=campaign).select_related("item")
    ]
    run("import_labels", write_lines(folder / "jude.jsonl", lines), "--campaign", campaign.name)
    return campaign


def number_of(unit: str) -> int:
    """The number of a question in its query."""
    return int(unit.rpartition("-")[2])


def answer(item: Item, name: str, unanswered: Collection[int] = ()) -> None:
    """A person's answer: the report answers all questions but these, by their number."""
    assignment = person(item, name)
    assert item.report is not None
    quote = [{"quote": item.report.text, "start": 0}]
    payload = {
        unit: {"answerable": "no", "evidence": []}
        if number_of(unit) in unanswered
        else {"answerable": "yes", "evidence": quote}
        for unit in assignment.asked
    }
    submit(assignment, {"units": payload, "comment": None}, "page")


def all_answer(
    plan: TrustPlan, unanswered: Collection[int] = (), by: str = "old", queries: int | None = None
) -> None:
    """Three people answer the open items of the drawn queries; one system's have wrong verdicts."""
    for draw in plan.draws.order_by("place")[:queries]:
        for item in Item.objects.filter(campaign=plan.campaign, query=draw.query, quota__gt=0):
            if Assignment.objects.filter(item=item, rater__kind=Rater.Kind.HUMAN).exists():
                continue
            assert item.report is not None
            for name in PEOPLE:
                answer(item, name, unanswered if item.report.system == by else ())
