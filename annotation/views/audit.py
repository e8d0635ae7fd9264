"""Pages of the audit trail, and the trail as a file to download."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.access import get_account, managed_campaign, readable_campaign
from annotation.audit_file import TRAIL, question
from annotation.audit_log import EventFilter, describe_events, filter_events, visible_events
from annotation.models import Campaign
from audit.models import SITE, Event, Seal
from audit.recording import EVENTS, record_export
from audit.seals import count_unsealed
from datasets.access import ADMIN, READERS, role_required
from datasets.work import pages as jobs

PAGE = 50
MAX_ID = 2**63 - 1
EVENT_CHOICES = [("", "All"), *((name, kind.title) for name, kind in EVENTS.items())]


class TrailForm(forms.Form):
    """The filters in the address. Other parameters are ignored."""

    event = forms.ChoiceField(label="What", choices=EVENT_CHOICES, required=False)
    person = forms.CharField(label="Who", max_length=150, required=False)
    since = forms.DateTimeField(
        required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    until = forms.DateTimeField(
        required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    before = forms.IntegerField(
        required=False, min_value=0, max_value=MAX_ID, widget=forms.HiddenInput
    )

    def event_filter(self) -> EventFilter:
        return EventFilter(**self.cleaned_data)


@require_safe
@role_required(ADMIN)
def trail(request: HttpRequest) -> HttpResponse:
    """Show all events, for admins."""
    return _page(request, None)


@require_safe
@role_required(*READERS)
def campaign_trail(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, readable_campaign(request, pk))


@require_safe
@role_required(ADMIN)
def trail_file(request: HttpRequest) -> HttpResponseBase:
    return _file(request, None)


@require_safe
@role_required(*READERS)
def campaign_trail_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    return _file(request, managed_campaign(request, pk))


def _page(request: HttpRequest, campaign: Campaign | None) -> HttpResponse:
    form = TrailForm(request.GET)
    if not form.is_valid():
        wrong: dict[str, Any] = {
            "campaign": campaign,
            "form": form,
            "rows": [],
            "state": _seal_state(campaign),
        }
        return render(request, "audit/trail.html", wrong, status=422)
    whole = campaign is None
    events = filter_events(
        visible_events(get_account(request), campaign), form.event_filter(), whole
    )
    page = list(events[: PAGE + 1])
    query = request.GET.copy()
    query.pop("before", None)
    context: dict[str, Any] = {
        "campaign": campaign,
        "form": form,
        "rows": list(describe_events(page[:PAGE], whole)),
        "older": page[PAGE - 1].pk if len(page) > PAGE else None,
        "first": form.cleaned_data["before"] is None,
        "query": query.urlencode(),
        "file": _file_address(campaign),
        "state": _seal_state(campaign),
    }
    return render(request, "audit/trail.html", context)


def _file_address(campaign: Campaign | None) -> str:
    if campaign is None:
        return reverse("audit-file")
    return reverse("campaign-audit-file", args=[campaign.pk])


def _seal_state(campaign: Campaign | None) -> dict[str, Any]:
    """Return the newest seal of the chain, and the number of events not sealed yet."""
    chain = SITE if campaign is None else campaign.pk
    last = Seal.objects.filter(chain=chain).order_by("-number").first()
    if campaign is None:
        return {"last": last, "waiting": count_unsealed()}
    newest = Seal.objects.filter(chain=SITE).order_by("-number").values_list("last").first()
    sealed_up_to = newest[0] if newest else 0
    waiting = Event.objects.filter(campaign=chain, pk__gt=sealed_up_to).count()
    return {"last": last, "waiting": waiting}


def _file(request: HttpRequest, campaign: Campaign | None) -> HttpResponseBase:
    """Send the filtered events, or the page that waits for the job that writes them."""
    form = TrailForm(request.GET)
    if not form.is_valid():
        return _page(request, campaign)
    pk = campaign.pk if campaign else None
    back = reverse("audit") if pk is None else reverse("campaign-audit", args=[pk])
    record = partial(record_export, request, pk, "audit", "jsonl")
    return jobs.file(request, TRAIL, question(campaign, form.cleaned_data), back, record)
