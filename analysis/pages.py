"""Helpers of the pages of results and snapshots."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from annotation.models import Campaign
from datasets.jobs.pages import options_of


def options_query(request: HttpRequest) -> str:
    """Return the options in the address, without empty ones."""
    query = options_of(request)
    for name in list(query):
        query.setlist(name, [value for value in query.getlist(name) if value])
    return query.urlencode()


def report_address(campaign: Campaign, query: str) -> str:
    """Return the address of the current results with these options."""
    address = reverse("results", args=[campaign.pk])
    return f"{address}?{query}" if query else address


def attached(content: str | bytes, media_type: str, name: str) -> HttpResponse:
    """Return text or bytes as a file to download."""
    response = HttpResponse(content, content_type=media_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
