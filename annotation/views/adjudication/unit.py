"""The page of one dispute: the texts, what raters said side by side, and the decision."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from annotation.adjudication.case import Case, is_by
from annotation.adjudication.queue import Wanted, queue
from annotation.adjudication.side_by_side import Opinion, Quote, opinions
from annotation.declared import declared
from annotation.drafts import Standing
from annotation.models import User
from annotation.protocols.schema import EVIDENCE_KEY
from annotation.views.adjudication.asking import (
    address_of,
    campaign_for,
    case_for,
    question,
    wanted_of,
)
from annotation.views.mine import MAY_WORK, user_of
from annotation.views.pages.base import Page
from annotation.views.sheet import Asked, Row, sheet_of
from datasets.access import role_required

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
        "standing": Standing(payload, 0, case.revision, saved_at),
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
        asked = [variable.name for variable in case.schema.of(case.asked.kind)]
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
