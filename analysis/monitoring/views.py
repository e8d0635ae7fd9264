"""Live agreement and quality flags, as parts of the progress pages; a job computes them.

Without scripts each part is a page of its own.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.campaigns.cache import state_of
from analysis.campaigns.report_job import campaign_of, may_see
from analysis.monitoring.flags import Quality, quality
from annotation.access import get_account, is_blind, readable_campaign
from annotation.models import Campaign
from annotation.progress.flags import TITLES, Flag
from annotation.progress.status import find_person
from datasets.access import READERS, found_or_404, role_required
from datasets.models import Job
from datasets.work import Kind, Options, Progress, Result, results
from datasets.work import pages as jobs
from datasets.work.pages import PageResult

QUALITY = "quality"


def question(campaign: Campaign) -> dict[str, Any]:
    """Return the question of a campaign's quality, for `datasets.work.ask`."""
    return {"campaign": campaign.pk}


def quality_in(job: Job) -> Quality:
    """Return the result of a finished job. Raises GoneError."""
    return Quality.from_json(results.value(job))


def _state(options: Options) -> Any:
    return state_of(campaign_of(options))


def _carry_out(options: Options, progress: Progress) -> Result:
    return Result.of(quality(campaign_of(options)).as_json())


QUALITY_KIND = Kind(QUALITY, "Quality flags", _state, _carry_out, may_see, listed=False)


@require_safe
@role_required(*READERS)
def campaign_quality(request: HttpRequest, pk: int) -> HttpResponse:
    found = readable_campaign(request, pk)
    if is_blind(get_account(request), found):
        return render(request, "progress/_quality.html", {"campaign": found, "blind": True})
    shown = _shown(request, found)
    if isinstance(shown, HttpResponse):
        return shown
    if shown.value is None:
        return render(request, "progress/_quality.html", {"campaign": found, "shown": shown})
    made: Quality = shown.value
    context = {
        **_shared(found, shown),
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
    found_or_404(find_person(found, rater))
    if is_blind(get_account(request), found):
        return render(request, "progress/_quality.html", {"campaign": found, "blind": True})
    shown = _shown(request, found)
    if isinstance(shown, HttpResponse):
        return shown
    if shown.value is None:
        return render(request, "progress/_quality.html", {"campaign": found, "shown": shown})
    made: Quality = shown.value
    own = [each for each in made.hints if each.rater == rater]
    context = {
        **_shared(found, shown),
        "flags": _with_addresses(found, own),
        "own": made.agreement_of(rater).items(),
        "one": True,
    }
    return render(request, "progress/_quality.html", context)


def _shown(request: HttpRequest, campaign: Campaign) -> PageResult | HttpResponse:
    """Return the last figures with the status of newer ones, or a response without a page."""
    job_options, page = question(campaign), request.path
    return jobs.result_or_progress(
        request, QUALITY, job_options, page, page, "#quality", quality_in
    )


def _shared(campaign: Campaign, shown: PageResult) -> dict[str, Any]:
    made: Quality = shown.value
    return {"campaign": campaign, "quality": made, "excluded": made.excluded, "shown": shown}


def _with_addresses(campaign: Campaign, hints: Any) -> list[dict[str, Any]]:
    return [
        {"flag": each, "title": TITLES[each.code], "labels": labels_address(campaign, each)}
        for each in hints
        # A worker of another version may have raised flags that are unknown here.
        if each.code in TITLES
    ]


def labels_address(campaign: Campaign, hint: Flag) -> str:
    """Return the address of the page with the labels that a flag is about."""
    path = reverse("rater-labels", args=[campaign.pk, hint.rater])
    return f"{path}?{urlencode(hint.labels)}" if hint.labels else path
