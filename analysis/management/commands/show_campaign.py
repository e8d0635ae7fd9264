"""`show_campaign`: a campaign in a few lines, and what needs attention in it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from analysis.attention import Facts, facts_of, matters
from analysis.attention.checks import check_campaign
from analysis.campaigns.cache import computed_report
from annotation.management.base import campaign_called, describe_sample
from annotation.models import Campaign
from annotation.registry import get_protocol
from datasets.access import describe_owner
from datasets.console import Command as BaseCommand
from tandem.labels.selection import ReportOptions
from tandem.sections.brief import brief_of


class Command(BaseCommand):
    help = "A campaign in a few lines: answers, agreement, judges, and what needs attention."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", metavar="CAMPAIGN", help="the name of the campaign")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        facts = current_facts(campaign)
        if options["format"] == "json":
            found = [each.as_json(str) for each in matters(facts)]
            answer = {
                "campaign": campaign.name,
                "team": campaign.team.name,
                "report": facts.report,
                "matters": found,
            }
            self.say(json.dumps(answer, ensure_ascii=False, indent=2))
            return
        for line in _lines(facts):
            self.say(line)


def current_facts(campaign: Campaign) -> Facts:
    """Return a campaign's facts with the report and the checks of this moment."""
    (facts,) = facts_of([campaign.pk])
    report = computed_report(campaign, ReportOptions()).report
    return replace(facts, report=brief_of(report), checks=check_campaign(campaign))


def _lines(facts: Facts) -> Iterator[str]:
    campaign: Any = facts.campaign
    state = "open" if campaign.takes_answers else "closed" if not campaign.is_open else "past"
    task = get_protocol(campaign).title
    yield f"{campaign.name}: {task} over batch {campaign.batch.name}, {state}."
    if owner := describe_owner(campaign):
        yield owner
    places = facts.places
    imported = f", {campaign.imported} imported" if campaign.imported else ""
    given = f"{places.answered} of {places.asked}"
    given = given if campaign.asks_people else "only judges are asked"
    yield f"Answers from people: {given}{imported}."
    if sampled := describe_sample(campaign):
        yield sampled
    for variable in (facts.report or {}).get("variables", ()):
        yield f"People on {variable['name']}: {_describe_agreement(variable)}"
        for judge in variable["judges"]:
            yield f"Judge {judge['name']} on {variable['name']}: {_describe_agreement(judge)}"
    found = matters(facts)
    yield "Next:" if found else "Nothing needs attention."
    for matter in found:
        yield f"  {matter.severity}: {matter.text}"


def _describe_agreement(of: Any) -> str:
    value = of["value"]["value"]
    if value is None:
        return f"{of['reason'] or 'not known'}."
    return f"{of['answer']} ({of['sign']} {value:.2f})."
