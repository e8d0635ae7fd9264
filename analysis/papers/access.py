"""The studies whose tables an account may read."""

from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404

from analysis.models import Study
from analysis.papers.base import Paper
from analysis.papers.index import PAPERS
from annotation.models import Campaign, User
from annotation.people.membership import readable


def paper_called(name: str) -> Paper:
    """Return a paper by name. Raises Http404 if there is none."""
    if name not in PAPERS:
        raise Http404
    return PAPERS[name]


def campaigns_of(study: Study) -> list[Campaign]:
    """Return the campaigns of a study, oldest first."""
    own = study.parts.filter(kind="campaign").values("campaign")
    return list(Campaign.objects.filter(pk__in=own).select_related("batch").order_by("pk"))


def readable_study(user: User, pk: int) -> tuple[Study, list[Campaign]]:
    """Return a study and its campaigns. Raises Http404 unless the account may read all of them."""
    study = get_object_or_404(Study, pk=pk)
    found = campaigns_of(study)
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
