"""The figures of a study's campaigns: those of one in full, and a line for each of the others.

They are the last finished ones, as on each campaign's first page.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from analysis.attention import Facts, facts_of
from analysis.campaigns.report_job import REPORT
from analysis.campaigns.report_job import question as report_question
from analysis.cockpit.refresh import jobs_for_page
from analysis.cockpit.tiles import Tiles, tiles_of
from annotation.access import is_blind
from annotation.models import Campaign, User
from annotation.registry import get_protocol
from datasets.models import Job
from datasets.work import queue
from tandem.labels.selection import ReportOptions

MOST_ASKED = 6
"""The largest number of campaigns whose figures one visit asks for."""


@dataclass(frozen=True)
class CampaignFigures:
    """A campaign of a study with the figures of its first page."""

    campaign: Campaign
    title: str
    facts: Facts
    tiles: Tiles

    @property
    def has_answers(self) -> bool:
        return not self.tiles.is_new

    @property
    def weight(self) -> tuple[bool, int, bool, int]:
        """How much a reader of the study learns from this campaign."""
        tiles = self.tiles
        judges = len(tiles.judges) + tiles.more_judges
        units = tiles.people["units"] if tiles.people else 0
        return tiles.people is not None, judges, tiles.score is not None, units


@dataclass(frozen=True)
class StudyFigures:
    """The campaigns with answers: the one that says most, and the others in the study's order."""

    lead: CampaignFigures | None
    others: Sequence[CampaignFigures]
    jobs: Sequence[Job]

    @property
    def under_way(self) -> list[Job]:
        return [job for job in self.jobs if job.state in queue.ACTIVE]

    @property
    def seen(self) -> str:
        """A short text that changes whenever a job does."""
        return ".".join(f"{job.key}-{job.state}" for job in self.jobs)


def study_figures(
    request: HttpRequest, user: User, campaigns: Sequence[Campaign], asks: bool
) -> StudyFigures:
    """Return the figures of campaigns in a study's order. With `asks`, those that are due are asked
    for, and `jobs` are the jobs that compute them.
    """
    found = _figures(user, campaigns)
    jobs: dict[int, Job] = {}
    for each in _by_weight(found)[:MOST_ASKED] if asks else ():
        if not each.tiles.hidden:
            page = reverse("results", args=[each.campaign.pk])
            asked = {REPORT: report_question(each.campaign, ReportOptions())}
            for job in jobs_for_page(request, asked, page):
                jobs[each.campaign.pk] = job
    if jobs:
        # A job may have ended since the figures were read, and then nothing asks for them again.
        active = {pk for pk, job in jobs.items() if job.state in queue.ACTIVE}
        found = _figures(user, campaigns, active)
    lead = next(iter(_by_weight(found)), None)
    others = [each for each in found if each is not lead]
    return StudyFigures(lead, others, list(jobs.values()))


def _figures(
    user: User, campaigns: Sequence[Campaign], computing: Collection[int] = ()
) -> list[CampaignFigures]:
    """Return the figures of the campaigns with answers, in their order.

    Those `computing` have a job under way, and say so where they have no figures yet.
    """
    found = [
        CampaignFigures(
            facts.campaign,
            get_protocol(facts.campaign).title,
            facts,
            tiles_of(facts, is_blind(user, facts.campaign), facts.campaign.pk in computing),
        )
        for facts in facts_of([each.pk for each in campaigns])
    ]
    return [each for each in found if each.has_answers]


def _by_weight(found: Sequence[CampaignFigures]) -> list[CampaignFigures]:
    # Of two that say as much, the later one is closer to what the study is about.
    return sorted(found, key=lambda each: each.weight)[::-1]
