"""A judge with labels on the small cast, and campaigns in which people validate them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.answers.submission import submit
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Item, Rater, Response
from annotation.presentation import asked_units, present, schema
from datasets.models import Batch

JUDGE = "Judy 🟧"
BUILT = {"quote": "built it 🌉", "start": 10}
"""Words of the first report of the cast, in code points; UTF-16 would count one more."""


def judge(name: str = JUDGE) -> Rater:
    return Rater.objects.get_or_create(name=name, kind=Rater.Kind.JUDGE)[0]


def validating(option: str = JUDGE, **more: Any) -> Design:
    return Design(validates=option, **more)


def plain_answer(assignment: Assignment) -> dict[str, dict[str, Any]]:
    """The first possible code of every asked variable, owed evidence, and a text."""
    spec, asked = present(assignment.item), schema(assignment.item.campaign)
    units: dict[str, dict[str, Any]] = {}
    for name, unit in asked_units(assignment, spec).items():
        answer: dict[str, Any] = dict.fromkeys(asked.keys(unit.kind))
        for variable in asked.variables_of(unit.kind):
            if asked.holds(variable.asked_if, answer):
                answer[variable.name] = next(
                    code
                    for code in variable.codes
                    if not any(
                        asked.holds(each, {**answer, variable.name: code})
                        for each in asked.contradictions(unit.kind)
                    )
                )
        rule, written = asked.evidence(unit.kind), asked.written(unit.kind)
        if rule:
            text = next(text.text for text in spec.texts if text.field == rule.field)
            owed = answer[rule.variable] in rule.codes
            answer["evidence"] = [{"quote": text[:4], "start": 0}] if owed else []
        if written and asked.holds(written.asked_if, answer):
            answer[written.name] = {"text": "Anna built it. 🌉", "citations": []}
        if "points" in answer:
            quote = {"quote": spec.texts[0].text[:4], "start": 0}
            answer["points"] = [{"text": "It opened. 🌉", "evidence": [quote]}]
        if "matches" in answer:
            answer["matches"] = [1]
        units[name] = answer
    return units


def judged(
    item: Item, answers: Mapping[str, Mapping[str, Any]] | None = None, rater: Rater | None = None
) -> Response:
    """The judge's answer to an item: with the given units, or else a plain answer to all units."""
    names = list(item.units.order_by("position").values_list("name", flat=True))
    assignment = Assignment(item=item, rater=rater or judge(), asked=list(answers or names))
    given = answers or plain_answer(assignment)
    assignment.save()
    return submit(assignment, {"units": given, "comment": "planted-comment"}, "judge").response


def judge_all(campaign: Campaign) -> None:
    for item in campaign.items.all():
        judged(item)


def second(campaign: Campaign, name: str = "Second", **design: Any) -> Campaign:
    """Another campaign of the same protocol over the same batch."""
    from annotation.campaign_setup.creation import create_campaign

    batch = Batch.objects.get(pk=campaign.batch_id)
    return create_campaign(name, campaign.protocol, batch, Design(**design), pool="open").campaign
