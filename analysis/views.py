"""The report's page: a frame at once, its numbers as soon as they are computed."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from analysis.figures import coverage_figure
from analysis.markdown import COEFFICIENTS, as_markdown
from analysis.reports import Choices, campaign_report
from annotation.models import Campaign, User
from datasets.access import role_required

READERS = (User.Role.RESEARCHER, User.Role.ADMIN)


@require_safe
@role_required(*READERS)
def report(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = _campaign(pk)
    return render(request, "reports/report.html", {"campaign": campaign})


@require_safe
@role_required(*READERS)
def body(request: HttpRequest, pk: int) -> HttpResponse:
    """The numbers, as a part of the page."""
    found = campaign_report(_campaign(pk), Choices())
    # The figure escapes every name that it holds.
    figures = {score: mark_safe(coverage_figure(found, score)) for score in found["scores"]}
    context = {
        "campaign": found["campaign"],
        "report": found,
        "figures": figures,
        "coefficients": COEFFICIENTS,
    }
    return render(request, "reports/body.html", context)


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = _campaign(pk)
    text = json.dumps(campaign_report(campaign, Choices()), ensure_ascii=False, allow_nan=False)
    return _attachment(text, "application/json", f"report-{campaign.pk}.json")


@require_safe
@role_required(*READERS)
def download_markdown(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = _campaign(pk)
    text = as_markdown(campaign_report(campaign, Choices()))
    return _attachment(text, "text/markdown; charset=utf-8", f"report-{campaign.pk}.md")


def _campaign(pk: int) -> Campaign:
    return get_object_or_404(Campaign.objects.select_related("batch"), pk=pk)


def _attachment(text: str, kind: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
