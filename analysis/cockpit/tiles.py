"""The tiles of a campaign's first page, and the request of new figures for them.

Figures over fewer than `FEWEST_UNITS` units are not shown here. They say little, and reading them
would count as having seen others' answers; opening the first page must have no such consequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from analysis.attention import Facts
from analysis.cockpit.missing import Missing
from annotation.access import get_account
from annotation.campaigns.answer_totals import AnswerTotals
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from datasets.models import Job
from datasets.work import TooManyError, ask, queue
from datasets.work.kinds import Options
from tandem.figures.base import judge_css
from tandem.types import JSON

MOST_JUDGES, MOST_SYSTEMS = 3, 12


@dataclass(frozen=True)
class Labels:
    """The existing answers of people; `complete` says whether each item has all of its answers.

    `given` counts every answer of people, `imported` those from files, which take no slot.
    """

    places: AnswerTotals
    given: int
    imported: int
    per_item: int

    @property
    def percent(self) -> int:
        return 100 * self.places.answered // self.places.asked if self.places.asked else 0

    @property
    def is_complete(self) -> bool:
        return self.places.asked > 0 and not self.places.open


@dataclass(frozen=True)
class Tiles:
    """What the tiles show. A part that is None or empty has a reason in `missing` under its name.

    `people` and `judges` are of the first `variable`, and `others` counts the rest. `score` has the
    systems. `hidden` means that no figures are shown because the reader has an open item.
    """

    labels: Labels
    people: JSON | None
    judges: Sequence[JSON]
    more_judges: int
    score: JSON | None
    variable: str
    others: int
    missing: Missing
    hidden: bool
    is_new: bool


def tiles_of(facts: Facts, blind: bool, is_computing: bool = False) -> Tiles:
    """Return the tiles of a campaign, and record in the ledger which figures they show.

    `is_computing` says that a report is being computed; tiles without figures then say so.
    """
    campaign: Any = facts.campaign
    places, report = facts.places, None if blind else facts.report
    labels = Labels(places, campaign.people_done, campaign.imported, campaign.raters_per_item)
    variables = (report or {}).get("variables", ())
    first = variables[0] if variables else {}
    missing = missing_of(facts, blind, is_computing)
    people = first if first.get("units", 0) >= FEWEST_UNITS else None
    numbers = {name: n for n, name in enumerate((report or {}).get("judges", ()))}
    judged = [
        {**each, "css": judge_css(numbers.get(each["name"], 0))}
        for each in first.get("judges", ())
        if each["units"] >= FEWEST_UNITS
    ]
    score = _score((report or {}).get("scores", ()), first)
    shown = [people["units"]] if people else []
    shown += [each["units"] for each in judged]
    if shown:
        saw_figures("overview", facts.campaign, min(shown))
    return Tiles(
        labels,
        people and missing.fresh(people, "value"),
        [missing.fresh(each, "value") for each in judged[:MOST_JUDGES]],
        max(0, len(judged) - MOST_JUDGES),
        score,
        first.get("name", ""),
        max(0, len(variables) - 1),
        missing,
        blind,
        not campaign.people_done and not campaign.judges and not campaign.imported,
    )


def missing_of(facts: Facts, blind: bool, is_computing: bool = False) -> Missing:
    """Return the reasons for figures that are missing on the first page."""
    variables = () if blind else (facts.report or {}).get("variables", ())
    return Missing(facts, variables[0] if variables else {}, is_computing)


def _score(scores: Sequence[JSON], variable: JSON) -> JSON | None:
    """Return the means of the first score that has enough units for each system."""
    for score in scores:
        items = sum(each["items"] for each in score["systems"])
        per_item = variable.get("units", 0) / items if items else 0
        if all(each["items"] * per_item >= FEWEST_UNITS for each in score["systems"]):
            return {**score, "systems": score["systems"][:MOST_SYSTEMS],
                    "more": max(0, len(score["systems"]) - MOST_SYSTEMS)}  # fmt: skip
    return None


REST = 10
"""A figure is recomputed once its age is this multiple of its computing time."""


def jobs_for_page(
    request: HttpRequest, asked: Mapping[str, Options], page: str, at_once: bool = False
) -> list[Job]:
    """Return the jobs that compute a page's figures, and request those that are due.

    `asked` has the options of each kind of job. The page's address names jobs in progress, by kind;
    if another one has begun since, the page follows that. `page` is where the account finds the
    result. With `at_once`, figures do not rest: the page has none of them.
    """
    found = []
    for kind, options in asked.items():
        question = queue.question_of(kind, options)
        named = Job.objects.filter(key=request.GET.get(kind, ""), question=question).first()
        job = _newest(question, named)
        if job is None and (at_once or _is_due(queue.last_finished(question), timezone.now())):
            try:
                job = ask(kind, options, get_account(request), page).job
            except TooManyError:
                continue
        if job is not None:
            found.append(job)
    return found


def _newest(question: str, named: Job | None) -> Job | None:
    """Return the newest job of a question that is under way, or else the named one."""
    active = Job.objects.filter(question=question, state__in=queue.ACTIVE).order_by("-pk")
    newest = next((job for job in active if queue.is_under_way(job)), None)
    return newest if newest and (named is None or newest.pk > named.pk) else named


def _is_due(last: Job | None, now: datetime) -> bool:
    """Return whether to recompute a figure, less often if that takes long."""
    if last is None or last.started_at is None or last.ended_at is None:
        return True
    took = max(last.ended_at - last.started_at, timedelta(0))
    return now - last.ended_at >= REST * took
