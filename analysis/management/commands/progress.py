"""`progress`: a campaign's status, and one line for each of its people."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from analysis.monitoring.flags import Quality, quality
from annotation.management.base import campaign_called
from annotation.models import Campaign
from annotation.progress.flags import TITLES
from annotation.progress.status import (
    CampaignStatus,
    Forecast,
    Person,
    forecast_end,
    format_change,
    format_seconds,
    get_status,
)
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = "The status of a campaign, with a line and the flags of each person."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", metavar="CAMPAIGN", help="the name of the campaign")
        parser.add_argument(
            "--brief", action="store_true", help="only counts and times, without anything on labels"
        )

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        found = get_status(campaign)
        self.say(_head(campaign, found, forecast_end(campaign, found)))
        made = None if options["brief"] else quality(campaign)
        for person in found.people:
            self.say("; ".join(_line(person, made)))
            for hint in made.hints if made else ():
                if hint.rater == person.rater:
                    of = f" ({hint.variable})" if hint.variable else ""
                    self.say(f"  flag: {TITLES[hint.code].lower()}{of}: {hint.text}")


def _head(campaign: Campaign, found: CampaignStatus, left: Forecast) -> str:
    number = f"{found.answered} of {found.total.places} answers"
    parts = [f"{campaign.name}: {number if campaign.asks_people else 'only judges are asked'}"]
    if found.imported:
        parts.append(f"{found.imported} from files")
    if left.answers:
        work = format_seconds(left.hours * 3600) if left.hours is not None else left.hours_reason
        parts.append(f"work left: {work}")
        end = f"{left.end:%Y-%m-%d}" if left.end else left.end_reason
        parts.append(f"done by: {end}")
    if campaign.deadline:
        late = ", not at this pace" if left.late else ""
        parts.append(f"deadline: {campaign.deadline:%Y-%m-%d}{late}")
    return "; ".join(parts)


def _line(person: Person, made: Quality | None) -> Iterator[str]:
    counted, speed = person.counted, person.speed
    share = f" of a share of {person.allotted}" if person.allotted is not None else ""
    yield f"{person.name}: {counted.done} answered{share}, {counted.held} reserved"
    change = format_change(speed.change)
    recent = f", recent pace {change}" if change else ""
    yield f"median {format_seconds(speed.median)}{recent}" if speed.timed else "no times"
    for name, score in (("gold", person.gold), ("practice", person.practice)):
        if score is not None:
            yield f"{name} {score.right} of {score.asked}"
    for variable, each in (made.agreement_of(person.rater) if made else {}).items():
        kappa = each.kappa
        kappa_text = f"{kappa.value:.2f}" if kappa.value is not None else f"none ({kappa.reason})"
        yield f"{variable} kappa {kappa_text} on {each.units} units"
    if person.excluded:
        yield f"excluded: {person.excluded}"
