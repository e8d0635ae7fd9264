"""What the addresses of adjudication name: a campaign, a part of its queue, a unit."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse

from annotation.adjudication.case import Case, case_of
from annotation.adjudication.members import adjudicable
from annotation.adjudication.queue import OF, STATES, Wanted, following
from annotation.models import Campaign, User
from annotation.presenting import schema


def campaign_for(user: User, pk: int) -> Campaign:
    return get_object_or_404(adjudicable(user).select_related("batch"), pk=pk)


def case_for(user: User, campaign: Campaign, unit: int) -> Case:
    """A unit in dispute; 404 for every other one, so that no address tells of agreement."""
    case = case_of(user, campaign, unit)
    if case is None:
        raise Http404
    return case


def wanted_of(request: HttpRequest, campaign: Campaign) -> Wanted:
    """The part of the queue that an address asks for; 404 where there is no such part."""
    given = {name: text for name, text in request.GET.items() if text}
    names = {variable.name for variable in schema(campaign).variables}
    known: dict[str, set[str]] = {"of": set(OF), "state": set(STATES), "variable": names}
    if any(text not in known.get(name, ()) for name, text in given.items()):
        raise Http404("There is no such part of the queue.")
    return replace(Wanted(), **given)  # type: ignore[arg-type]  # checked above


def question(wanted: Wanted, **changes: str) -> str:
    """The part of an address after its path that asks for a part of the queue, with its `?`."""
    parts = {"of": wanted.of, "variable": wanted.variable, "state": wanted.state} | changes
    plain = {"of": "all", "variable": "", "state": "open"}
    asked = {name: value for name, value in parts.items() if value != plain[name]}
    return f"?{urlencode(asked)}" if asked else ""


def address_of(campaign: Campaign, unit: int | None, wanted: Wanted) -> str:
    """The page of a unit, or that of the queue where there is none."""
    if unit is None:
        return reverse("adjudication", args=[campaign.pk]) + question(wanted)
    return reverse("adjudication-unit", args=[campaign.pk, unit]) + question(wanted)


def address_after(user: User, case: Case, wanted: Wanted) -> str:
    """Where to go on from a decision; whoever looks at the decided ones goes back to them."""
    if wanted.state == "decided":
        return address_of(case.campaign, None, wanted)
    return address_of(case.campaign, following(case.campaign, user, case.unit, wanted), wanted)
