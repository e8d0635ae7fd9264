"""Live agreement and quality flags, as parts of the progress pages.

Without scripts each part is a page of its own.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.monitoring.flags import Quality, quality
from annotation.access import get_account, is_blind, readable_campaign
from annotation.models import Campaign
from annotation.progress.flags import TITLES, Flag
from annotation.progress.status import find_person
from datasets.access import READERS, role_required


@require_safe
@role_required(*READERS)
def campaign_quality(request: HttpRequest, pk: int) -> HttpResponse:
    found = readable_campaign(request, pk)
    if is_blind(get_account(request), found):
        return render(request, "progress/_quality.html", {"campaign": found, "blind": True})
    made = quality(found)
    context = {
        **_shared(found, made),
        "flags": _with_addresses(found, made.hints),
        "tables": [
            (variable, [(each, made.names.get(each.rater, "")) for each in rows])
            for variable, rows in made.agreement.items()
        ],
    }
    return render(request, "progress/_quality.html", context)


@require_safe
@role_required(*READERS)
def rater_quality(request: HttpRequest, pk: int, rater: int) -> HttpResponse:
    found = readable_campaign(request, pk)
    if find_person(found, rater) is None:
        raise Http404
    if is_blind(get_account(request), found):
        return render(request, "progress/_quality.html", {"campaign": found, "blind": True})
    made = quality(found)
    own = [each for each in made.hints if each.rater == rater]
    context = {
        **_shared(found, made),
        "flags": _with_addresses(found, own),
        "own": made.agreement_of(rater).items(),
        "one": True,
    }
    return render(request, "progress/_quality.html", context)


def _shared(campaign: Campaign, made: Quality) -> dict[str, Any]:
    return {"campaign": campaign, "quality": made, "excluded": made.excluded}


def _with_addresses(campaign: Campaign, hints: Any) -> list[dict[str, Any]]:
    return [
        {"flag": each, "title": TITLES[each.code], "labels": labels_address(campaign, each)}
        for each in hints
    ]


def labels_address(campaign: Campaign, hint: Flag) -> str:
    """Return the address of the page with the labels that a flag is about."""
    return f"{reverse('rater-labels', args=[campaign.pk, hint.rater])}?{urlencode(hint.labels)}"
