"""A study's tables for one account: what it may read, computed once, with the looks noted."""

from __future__ import annotations

from hashlib import sha256

from django.core.cache import caches
from django.http import Http404
from django.shortcuts import get_object_or_404

from analysis.campaigns.cache import state_of
from analysis.data.selection import ReportOptions
from analysis.models import Study
from analysis.papers import PAPERS, Paper
from analysis.papers.build import paper_tables
from analysis.types import JSON
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, User
from annotation.people.membership import readable

ON_A_PAGE = 2000
"""Resamples of the page, its files and the API; the command takes others, and more by default."""


def paper_called(name: str) -> Paper:
    """Return a paper. Raises Http404 if there is none of that name."""
    if name not in PAPERS:
        raise Http404
    return PAPERS[name]


def readable_study(user: User, pk: int) -> tuple[Study, list[Campaign]]:
    """Return a study and its campaigns. Raises Http404 unless the account may read all of them."""
    study = get_object_or_404(Study, pk=pk)
    campaigns = Campaign.objects.filter(
        pk__in=study.parts.filter(kind="campaign").values("campaign")
    ).select_related("batch")
    found = list(campaigns.order_by("pk"))
    if not found or readable(user).filter(pk__in=[c.pk for c in found]).count() != len(found):
        raise Http404
    return study, found


def studies_of(user: User, campaign: Campaign) -> list[Study]:
    """Return the studies of a campaign whose tables the account may read."""
    found = []
    for study in Study.objects.filter(parts__campaign=campaign):
        parts = study.parts.filter(kind="campaign")
        if not parts.exclude(campaign__in=readable(user)).exists():
            found.append(study)
    return found


def computed_tables(
    paper: Paper, study: Study, campaigns: list[Campaign], published: bool = False
) -> JSON:
    """Return a paper's current tables, from the cache if no label has changed."""
    states = [state_of(campaign)[1] for campaign in campaigns]
    said = "\n".join([paper.name, str(study.pk), study.sha256, str(published), *states])
    cache, key = caches["reports"], f"paper-{sha256(said.encode()).hexdigest()}"
    found: JSON | None = cache.get(key)
    if found is None:
        found = paper_tables(paper, study, published, ReportOptions(resamples=ON_A_PAGE))
        cache.set(key, found)
    for campaign in campaigns:
        saw_answers("measures", campaign)
    return found
