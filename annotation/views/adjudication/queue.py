"""The queue of a campaign's disputes, as its adjudicators see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from annotation.adjudication.disputes import Dispute
from annotation.adjudication.queue import OF, STATES, Wanted, queue
from annotation.adjudication.wording import worded
from annotation.declared import declared
from annotation.guideline import render as render_guideline
from annotation.models import Campaign
from annotation.presenting import schema
from annotation.views.adjudication.asking import address_of, campaign_for, question, wanted_of
from annotation.views.mine import MAY_WORK, user_of
from datasets.access import role_required

SHOWN = 100


@dataclass(frozen=True)
class Choice:
    """A part of the queue that can be chosen, and whether it is."""

    word: str
    address: str
    chosen: bool


@dataclass(frozen=True)
class Line:
    """One dispute on the page. `query` stands with the first one of an item."""

    address: str
    query: str
    text: str
    dispute: Dispute


@require_safe
@role_required(*MAY_WORK)
def disputes(request: HttpRequest, pk: int) -> HttpResponse:
    user = user_of(request)
    campaign = campaign_for(user, pk)
    wanted = wanted_of(request, campaign)
    found = queue(campaign, user, wanted)
    context = {
        "campaign": campaign,
        "title": declared(campaign).title,
        "wanted": wanted,
        "question": question(wanted),
        "total": len(found),
        "items": len({each.item for each in found}),
        "lines": list(lines(campaign, found[:SHOWN], wanted)),
        "choices": list(choices(campaign, wanted)),
    }
    return render(request, "adjudication/queue.html", context)


@require_safe
@role_required(*MAY_WORK)
def go_on(request: HttpRequest, pk: int) -> HttpResponse:
    """To the first dispute of a part of the queue."""
    user = user_of(request)
    campaign = campaign_for(user, pk)
    wanted = wanted_of(request, campaign)
    found = queue(campaign, user, wanted)
    return redirect(address_of(campaign, found[0].unit if found else None, wanted))


@require_safe
@role_required(*MAY_WORK)
def guideline(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = campaign_for(user_of(request), pk)
    html = render_guideline(schema(campaign).protocol.guideline)
    return render(request, "work/guideline.html", {"html": html})


def lines(campaign: Campaign, found: Sequence[Dispute], wanted: Wanted) -> Iterator[Line]:
    before = None
    for each, query, text in worded(campaign, found):
        address = address_of(campaign, each.unit, wanted)
        yield Line(address, query if each.item != before else "", text, each)
        before = each.item


def choices(campaign: Campaign, wanted: Wanted) -> Iterator[tuple[str, list[Choice]]]:
    """What can be chosen of the queue, by what it is chosen by."""
    names = [variable.name for variable in schema(campaign).variables]
    variables = {"": "Any", **{name: name.replace("_", " ").capitalize() for name in names}}
    groups: list[tuple[str, str, Mapping[Any, str]]] = [
        ("Show", "state", STATES),
        ("Disputes", "of", OF),
    ]
    if len(names) > 1:
        groups.append(("Question", "variable", variables))
    here = address_of(campaign, None, Wanted())
    for heading, name, words in groups:
        chosen = getattr(wanted, name)
        yield (
            heading,
            [
                Choice(word, here + question(wanted, **{name: value}), value == chosen)
                for value, word in words.items()
            ],
        )
