"""Page of a campaign's exports, and each export as a file."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.access import get_account, is_blind, managed_campaign
from annotation.exports.bundles import EXPORT, export_options, question, reveals_answers
from annotation.models import Campaign
from audit.recording import record_export
from datasets.access import READERS, role_required
from datasets.api.concurrency import seconds_to_wait, try_again_after
from datasets.models import Job
from datasets.text import as_sentence
from datasets.work import pages as jobs

BLIND = (
    "You have an open item in this campaign. Answer it first. Until then you can export the batch, "
    "but not the answers of others, and not which system wrote a text."
)
TOO_MANY = "The limit is twelve exports of a campaign per hour. Try again later."


@require_safe
@role_required(*READERS)
def exports(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, managed_campaign(request, pk))


@require_safe
@role_required(*READERS)
def export_file(request: HttpRequest, pk: int, what: str, form: str) -> HttpResponseBase:
    """Send one export, or wait for its job; if there is none, render the page with the reason."""
    campaign, user = managed_campaign(request, pk), get_account(request)
    if what not in {offer.what for offer in export_options(campaign)}:
        raise Http404("No such export of this campaign.")
    if reveals_answers(what) and is_blind(user, campaign):
        return _page(request, campaign, BLIND, 403)
    wait = None if "job" in request.GET else seconds_to_wait("export", user.pk, pk)
    if wait is not None:
        return try_again_after(wait, _page(request, campaign, TOO_MANY, 429))
    if form not in next(each.forms for each in export_options(campaign) if each.what == what):
        raise Http404("This export has no such format.")
    asked = jobs.follow(request, EXPORT, question(campaign, what, form))
    if asked.job.state == asked.job.State.FAILED and "job" not in request.GET:
        return _page(request, campaign, as_sentence(asked.job.error), 422, asked.job)
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, reverse("exports", args=[pk]))
    record_export(request, pk, what, form)
    return jobs.send_file(request, asked.job)


def _page(
    request: HttpRequest,
    campaign: Campaign,
    notice: str = "",
    status: int = 200,
    failed: Job | None = None,
) -> HttpResponse:
    """Render the page with the reason for a refusal, or for a `failed` job, which can be tried
    again.
    """
    context = {"campaign": campaign, "options": export_options(campaign), "notice": notice}
    context |= {"failed": failed, "page": request.path}
    return render(request, "campaigns/exports.html", context, status=status)
