"""Pages of adjudicators: the queue of disputes, one dispute, and its decision."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_POST, require_safe

from annotation.access import MAY_WORK, user_of
from annotation.adjudication.decisions import (
    Case,
    NotYoursError,
    Opinion,
    Quote,
    case_of,
    decide,
    is_by,
    opinions,
)
from annotation.adjudication.disputes import (
    OF,
    STATES,
    Dispute,
    Wanted,
    adjudicable,
    following,
    queue,
    worded,
)
from annotation.answers.drafts import DraftState, check_draft
from annotation.answers.payloads import from_form, unit_names
from annotation.answers.submission import Circumstances, ConflictError, Outcome
from annotation.campaigns.rendering import render as render_guideline
from annotation.item_context import Asked, Row, sheet_of
from annotation.models import Campaign, User
from annotation.presentation import schema
from annotation.protocols.schema import EVIDENCE_KEY
from annotation.protocols.validation import RefusedError
from annotation.registry import declared
from annotation.views.answers import CHANGED, key_of, seconds_of, what_changed, whole
from annotation.views.protocol_pages.base import Page
from datasets.access import role_required


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


GONE = "this is not yours to decide any more; ask the campaign's researcher"


@require_POST
@role_required(*MAY_WORK)
def take_decision(request: HttpRequest, pk: int, unit: int) -> JsonResponse:
    user = user_of(request)
    campaign = campaign_for(user, pk)
    wanted = wanted_of(request, campaign)
    case = case_for(user, campaign, unit)
    basis = request.POST.get("basis") or None
    if changed := what_changed(case.basis, basis):
        return JsonResponse({"error": CHANGED, "changed": changed}, status=409)
    try:
        outcome = _decided(request, case, user)
    except RefusedError as error:
        names = case.blinding.aliases
        problems = [replace(p, unit=names.get(p.unit, p.unit)) for p in error.problems]
        return JsonResponse({"problems": [asdict(p) for p in problems]}, status=422)
    except ConflictError:
        return _conflict(request, case_for(user, campaign, unit))
    except NotYoursError:
        problem = {"unit": "", "key": "", "message": GONE}
        return JsonResponse({"problems": [problem]}, status=422)
    stored = outcome.response
    answer = {
        "revision": stored.revision,
        "saved_at": stored.created_at,
        "next": address_after(user, case, wanted),
    }
    return JsonResponse(answer)


def _decided(request: HttpRequest, case: Case, user: User) -> Outcome:
    form = request.POST
    case.blinding.check_names(unit_names(form))
    payload = from_form(case.schema, case.blinding.units, form)
    check_draft(payload)
    circumstances = Circumstances(
        key=key_of(form),
        seen=whole(form, "seen") or 0,
        seconds=seconds_of(form),
        basis=form.get("basis") or None,
    )
    return decide(case, user, case.blinding.revealed(payload), circumstances, "page")


def _conflict(request: HttpRequest, case: Case) -> JsonResponse:
    """What stands now, beside what was sent."""
    mine = from_form(case.schema, case.blinding.units, request.POST)
    there = case.current
    answer = {
        "mine": mine,
        "theirs": case.blinding.hidden(there.payload) if there else None,
        "version": 0,
        "revision": case.revision,
        "saved_at": there.created_at if there else None,
    }
    return JsonResponse(answer, status=409)


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


PAGE = Page(
    template="adjudication/unit.html",
    script="js/work/adjudication.js",
    style="css/work/adjudication.css",
    keys=(
        ("a b d e f", "take over what Rater A, B, D, E or F says, with the highlights"),
        ("n p", "show the next highlight of a rater in the text, and the one before it"),
    ),
)
BY = {True: "by you", False: "by another adjudicator", None: "in a file"}
TAKEN = ("A", "B", "D", "E", "F")
"""Raters whose letter takes over their answer; the others' are keys of the page."""


@dataclass(frozen=True)
class Given:
    """One answer of a rater in words."""

    variable: str
    question: str
    word: str
    tone: str


@dataclass(frozen=True)
class Card:
    """A rater's opinion on the page; `answer` is JSON, as the form takes it over."""

    opinion: Opinion
    given: tuple[Given, ...]
    quotes: tuple[Quote, ...]
    lost: tuple[Quote, ...]
    answer: str
    key: str


@dataclass(frozen=True)
class Beside:
    """The place of a dispute in the queue, from 1 (0: it is not in it), and who stands beside."""

    number: int
    total: int
    previous: str
    following: str


@require_safe
@role_required(*MAY_WORK)
def dispute(request: HttpRequest, pk: int, unit: int) -> HttpResponse:
    user = user_of(request)
    campaign = campaign_for(user, pk)
    wanted = wanted_of(request, campaign)
    case = case_for(user, campaign, unit)
    stands = case.current
    payload = stands.payload if stands else None
    sheet = sheet_of(
        case.schema, case.spec, case.blinding.units, case.blinding.hidden(payload), case.texts
    )
    saved_at = stands.created_at if stands else None
    context = {
        "campaign": campaign,
        "protocol": declared(campaign),
        "page": PAGE,
        "case": case,
        "sheet": sheet,
        "cards": list(cards(case, sheet.rows[0])),
        "standing": DraftState(payload, 0, case.revision, saved_at),
        "history": list(_history(case, user)),
        "beside": beside(case, user, wanted),
        "question": question(wanted),
        "queue_address": address_of(campaign, None, wanted),
    }
    response = render(request, PAGE.template, context)
    patch_cache_control(response, no_store=True, private=True)
    return response


def cards(case: Case, row: Row) -> Iterator[Card]:
    """The opinions in words; a text's own highlights only where they are asked of this unit."""
    for opinion in opinions(case):
        letter = opinion.name.rpartition(" ")[2]
        placed = tuple(quote for quote in opinion.quotes if quote.field and quote.start is not None)
        lost = tuple(quote for quote in opinion.quotes if quote not in placed)
        answer: dict[str, object] = dict(opinion.values)
        if row.rule:
            own = [quote for quote in placed if row.rule.covers(quote.field)]
            answer[EVIDENCE_KEY] = [row.rule.quote(q.text, q.start, q.field) for q in own]
        yield Card(
            opinion,
            tuple(_given(row.variables, opinion)),
            placed,
            lost,
            json.dumps(answer, ensure_ascii=False),
            letter.lower() if letter in TAKEN else "",
        )


def _given(asked: Sequence[Asked], opinion: Opinion) -> Iterator[Given]:
    for each in asked:
        if each.name in opinion.values:
            code = opinion.values[each.name]
            found = next((choice for choice in each.choices if choice.code == code), None)
            word, tone = (found.word, found.tone) if found else (code, "plain")
            yield Given(each.name, each.question, word, tone)


def _history(case: Case, user: User) -> Iterator[dict[str, object]]:
    """What was decided, the newest first."""
    for each in case.history:
        units = (case.blinding.hidden(each.payload) or {}).get("units", {})
        values: dict[str, str] = next(iter(units.values()), {})
        asked = [variable.name for variable in case.schema.variables_of(case.asked.kind)]
        yield {
            "values": [values[name] for name in asked if values.get(name)],
            "reason": each.comment,
            "at": each.created_at,
            "by": BY[is_by(each, user)],
            "stands": each.current,
        }


def beside(case: Case, user: User, wanted: Wanted) -> Beside:
    units = [each.unit for each in queue(case.campaign, user, wanted)]
    if case.unit.pk not in units:
        first = address_of(case.campaign, units[0], wanted) if units else ""
        return Beside(0, len(units), "", first)
    at = units.index(case.unit.pk)

    def address(place: int) -> str:
        there = 0 <= place < len(units)
        return address_of(case.campaign, units[place], wanted) if there else ""

    return Beside(at + 1, len(units), address(at - 1), address(at + 1))
