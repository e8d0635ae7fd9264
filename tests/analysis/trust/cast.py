"""Sixty queries of six passages, a judge that is sure of most of them, and three people."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from annotation.answers.submission import submit
from annotation.models import Assignment, Campaign, Item, Rater, TrustPlan, Unit
from tests.annotation.answering import person
from tests.cast import Line, campaign_of, load, run, write_lines

QUERIES, PASSAGES = 60, 6
PEOPLE = ("ada", "bram", "chidi")
JUDGE, VARIABLE = "jude", "relevant"


def query(number: int) -> Line:
    return {
        "id": f"q{number}",
        "text": f"Where is bridge {number}?",
        "passages": [
            {"id": f"p{number}-{n}", "text": f"Bridge {number} 🌉, part {n}."}
            for n in range(PASSAGES)
        ],
    }


def number_of(unit: str) -> int:
    """The number of a passage in its query."""
    return int(unit.rpartition("-")[2])


def unsure(unit: str) -> bool:
    """Whether the judge is unsure of a passage."""
    return number_of(unit) == PASSAGES - 1


def world(folder: Path, *options: str, queries: int = QUERIES) -> Campaign:
    """A campaign whose judge says *yes* to everything, and is unsure of each last passage."""
    load(folder, [query(n) for n in range(queries)])
    campaign = campaign_of("grounding-relevance", "--raters", "3", *options)
    judge_says(folder, campaign)
    return campaign


def judge_says(folder: Path, campaign: Campaign, judge: str = JUDGE) -> None:
    lines: Iterable[Line] = [
        {
            "campaign": campaign.name,
            "item": unit.item.key,
            "unit": unit.key,
            "kind": "passage",
            "variable": variable,
            "value": value,
            "rater": judge,
            "rater_kind": "judge",
            **({"score": 0.6 if unsure(unit.key) else 0.95} if variable == VARIABLE else {}),
        }
        for unit in Unit.objects.filter(item__campaign=campaign).select_related("item")
        for variable, value in ((VARIABLE, "yes"), ("use", "related-information"))
    ]
    run("import_labels", write_lines(folder / f"{judge}.jsonl", lines), "--campaign", campaign.name)


def answer(item: Item, name: str, irrelevant: Collection[int] = (), channel: str = "page") -> None:
    """A person's answer: all passages are relevant but these, by their number in the query."""
    assignment = person(item, name)
    payload = {
        unit: {
            "relevant": "no" if number_of(unit) in irrelevant else "yes",
            "use": None if number_of(unit) in irrelevant else "related-information",
        }
        for unit in assignment.asked
    }
    submit(assignment, {"units": payload}, channel)  # type: ignore[arg-type]


def all_answer(
    plan: TrustPlan, irrelevant: Collection[int] = (), queries: int | None = None
) -> None:
    """Three people answer the drawn queries that nobody has answered, in their order."""
    for draw in plan.draws.order_by("place")[:queries]:
        item = Item.objects.get(campaign=plan.campaign, query=draw.query)
        if not Assignment.objects.filter(item=item, rater__kind=Rater.Kind.HUMAN).exists():
            for name in PEOPLE:
                answer(item, name, irrelevant)
