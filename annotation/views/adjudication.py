"""Pages of adjudicators: the queue of disputes, one dispute, and its decision."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import get_language, gettext, gettext_noop
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_account
from annotation.adjudication import (
    DISPUTES_AMONG,
    STATES,
    Case,
    DecidedUnit,
    Disagreement,
    Dispute,
    NotYoursError,
    QueuePart,
    Quote,
    RaterAnswer,
    adjudicable,
    decide,
    decided_among,
    find_case,
    is_by,
    next_dispute,
    queue,
    queued_units,
    rater_answers,
    with_texts,
)
from annotation.answers.drafts import check_draft
from annotation.answers.payloads import from_form, unit_names
from annotation.answers.submission import Circumstances, Outcome
from annotation.answers.types import ConflictError, SavedState
from annotation.campaigns.text_views import TextViews
from annotation.item_context import AskedVariable, Row, sheet_of, word_in_answer, word_of
from annotation.long_items import leave_if_long
from annotation.models import Campaign, User
from annotation.presentation import page_schema, page_task
from annotation.views.answers import (
    answer_changed,
    find_changes,
    read_key,
    read_number,
    read_seconds,
    refusal,
)
from annotation.views.items import guideline_parts
from annotation.views.protocol_pages.base import Page
from datasets.access import WORKERS, found_or_404, role_required
from tandem.messages import Message
from tandem.protocols.base import in_answer
from tandem.protocols.schema import EVIDENCE_KEY, Schema
from tandem.protocols.validation import Problem, RefusedError

NO_LONGER_YOURS = Message("you may no longer decide this unit; ask a researcher of the campaign")
PAGE_LINES = 10
"""How many disputes a page of the queue lists."""
DECIDED_BY = {
    True: gettext_noop("by you"),
    False: gettext_noop("by another adjudicator"),
    None: gettext_noop("in a file"),
}
COPY_KEYS = ("A", "B", "D", "E", "F")
"""Raters whose letter copies their answer; other letters are keys of the page."""
PAGE = Page(
    template="adjudication/unit.html",
    script="js/work/adjudication.js",
    style="css/work/adjudication.css",
    keys=(
        (
            "a b d e f",
            gettext_noop("copy the answer of Rater A, B, D, E or F, with the highlights"),
        ),
        ("n p", gettext_noop("show a rater’s next or previous highlight in the text")),
    ),
)


def campaign_for(user: User, pk: int) -> Campaign:
    return get_object_or_404(adjudicable(user).select_related("batch"), pk=pk)


def case_for(user: User, campaign: Campaign, unit: int) -> Case:
    """Return a unit in dispute. Raises Http404 for others, so that no address reveals agreement."""
    return found_or_404(find_case(user, campaign, unit))


def read_part(request: HttpRequest, campaign: Campaign) -> QueuePart:
    """Return the part of the queue that the address names. Raises Http404 if there is none."""
    given = {name: text for name, text in request.GET.items() if text and name != "page"}
    names = {variable.name for variable in page_schema(campaign).variables}
    options: dict[str, set[str]] = {
        "of": set(DISPUTES_AMONG),
        "state": set(STATES),
        "variable": names,
    }
    if any(text not in options.get(name, ()) for name, text in given.items()):
        raise Http404("There is no such part of the queue.")
    return replace(QueuePart(), **given)  # type: ignore[arg-type]  # checked above


def query_string(part: QueuePart, **changes: str) -> str:
    """Return the query string that names a part of the queue, with its `?`; empty for all of it."""
    values = {"of": part.of, "variable": part.variable, "state": part.state} | changes
    defaults = {"of": "all", "variable": "", "state": "open"}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    return f"?{urlencode(changed)}" if changed else ""


def address_of(campaign: Campaign, unit: int | None, part: QueuePart) -> str:
    """Return the address of a unit's page, or of the queue if `unit` is None."""
    if unit is None:
        return reverse("adjudication", args=[campaign.pk]) + query_string(part)
    return reverse("adjudication-unit", args=[campaign.pk, unit]) + query_string(part)


def address_after(user: User, case: Case, part: QueuePart) -> str:
    """Return the next address after a decision: the next dispute, or the list of decided ones."""
    if part.state == "decided":
        return address_of(case.campaign, None, part)
    return address_of(case.campaign, next_dispute(case.campaign, user, case.unit, part), part)


def _addressed(request: HttpRequest, pk: int) -> tuple[User, Campaign, QueuePart]:
    """Return the adjudicator, the campaign, and the part of its queue that the address names."""
    user = get_account(request)
    campaign = campaign_for(user, pk)
    return user, campaign, read_part(request, campaign)


@require_POST
@role_required(*WORKERS)
def take_decision(request: HttpRequest, pk: int, unit: int) -> JsonResponse:
    user, campaign, part = _addressed(request, pk)
    case = case_for(user, campaign, unit)
    basis = request.POST.get("basis") or None
    if parts := find_changes(case.basis, basis):
        return answer_changed(parts)
    try:
        outcome = _store_decision(request, case, user)
    except RefusedError as error:
        names = case.blinding.aliases
        return refusal(replace(p, unit=names.get(p.unit, p.unit)) for p in error.problems)
    except ConflictError:
        return _conflict(request, case_for(user, campaign, unit))
    except NotYoursError:
        return refusal([Problem("", "", NO_LONGER_YOURS)])
    stored = outcome.response
    answer = {
        "revision": stored.revision,
        "saved_at": stored.created_at,
        "next": address_after(user, case, part),
    }
    return JsonResponse(answer)


def _store_decision(request: HttpRequest, case: Case, user: User) -> Outcome:
    form = request.POST
    case.blinding.check_names(unit_names(form))
    payload = from_form(case.schema, case.blinding.units, form)
    check_draft(payload, case.schema.sets)
    circumstances = Circumstances(
        key=read_key(form),
        seen=read_number(form, "seen") or 0,
        seconds=read_seconds(form),
        basis=form.get("basis") or None,
    )
    return decide(case, user, case.blinding.for_storage(payload), circumstances, "page")


def _conflict(request: HttpRequest, case: Case) -> JsonResponse:
    """Answer with the current decision beside the one sent."""
    mine = from_form(case.schema, case.blinding.units, request.POST)
    current = case.current
    answer = {
        "mine": mine,
        "theirs": case.blinding.for_page(current.payload) if current else None,
        "version": 0,
        "revision": case.revision,
        "saved_at": current.created_at if current else None,
    }
    return JsonResponse(answer, status=409)


@dataclass(frozen=True)
class PartLink:
    """A link to a part of the queue, and whether that part is shown."""

    title: str
    address: str
    is_current: bool


@dataclass(frozen=True)
class Split:
    """A question in dispute, with the number of people behind each answer, largest first.

    One number means that people agree, and only a judge differs from them.
    """

    question: str
    people: tuple[int, ...]


@dataclass(frozen=True)
class DecidedValue:
    """The word decided for a question, and the number of people behind each answer."""

    question: str
    word: str
    between: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Decided:
    """A decision in the list; `by` says whether it is the reader's own."""

    values: tuple[DecidedValue, ...]
    by: str
    at: datetime
    reason: str


@dataclass(frozen=True)
class Line:
    """One dispute in the list. `query` is set on the first dispute of an item."""

    address: str
    query: str
    text: str
    splits: tuple[Split, ...]
    decided: Decided | None


@require_safe
@role_required(*WORKERS)
def disputes(request: HttpRequest, pk: int) -> HttpResponse:
    user, campaign, part = _addressed(request, pk)
    found = queue(campaign, user, part)
    page = Paginator(found, PAGE_LINES).get_page(request.GET.get("page"))
    context = {
        "campaign": campaign,
        "title": page_task(campaign).title,
        "part": part,
        "query_string": query_string(part),
        "total": len(found),
        "items": found.items,
        "page": page,
        "query": query_string(part).removeprefix("?"),
        "lines": list(lines(campaign, user, list(page.object_list), part)),
        "parts": list(part_links(campaign, part)),
        "asks_several": len(page_schema(campaign).variables) > 1,
    }
    return render(request, "adjudication/queue.html", context)


@require_safe
@role_required(*WORKERS)
def open_first(request: HttpRequest, pk: int) -> HttpResponse:
    """Redirect to the first dispute of a part of the queue."""
    user, campaign, part = _addressed(request, pk)
    found = queued_units(campaign, user, part)
    return redirect(address_of(campaign, found[0] if found else None, part))


@require_safe
@role_required(*WORKERS)
def guideline(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = campaign_for(get_account(request), pk)
    return render(request, "work/guideline.html", guideline_parts(campaign))


def lines(
    campaign: Campaign, user: User, found: Sequence[Dispute], part: QueuePart
) -> Iterator[Line]:
    before, asked = None, page_schema(campaign)
    decided = decided_among(campaign, found) if part.state == "decided" else {}
    for each, query, text in with_texts(campaign, found):
        address = address_of(campaign, each.unit, part)
        splits = tuple(_split(asked, one) for one in each.disagreements)
        done = decided.get(each.unit)
        shown = _decided(asked, done, user) if done else None
        yield Line(address, query if each.item != before else "", text, splits, shown)
        before = each.item


def _decided(asked: Schema, done: DecidedUnit, user: User) -> Decided:
    values = []
    for variable in asked.variables_of(done.kind):
        code, answers = done.values.get(variable.name), done.answers.get(variable.name, ())
        # A question on which all raters and the adjudicator agree was not in dispute.
        if code and [given for given, _ in answers] != [code]:
            between = tuple((word_of(variable, given), n) for given, n in answers if n)
            word = word_of(variable, code)
            values.append(DecidedValue(gettext(variable.question), word, between))
    by, response = DECIDED_BY[is_by(done.response, user)], done.response
    return Decided(tuple(values), gettext(by), response.created_at, response.comment)


def _split(asked: Schema, found: Disagreement) -> Split:
    variable = asked.variable(found.variable)
    question = gettext(variable.question) if variable else found.variable
    return Split(question, found.people)


def part_links(campaign: Campaign, part: QueuePart) -> Iterator[tuple[str, list[PartLink]]]:
    """Yield each way of dividing the queue, with links to its parts."""
    asked = {variable.name: variable.question for variable in page_schema(campaign).variables}
    names = list(asked)
    groups: list[tuple[str, str, Mapping[Any, str]]] = [
        (gettext("Show"), "state", STATES),
        (gettext("Disputes"), "of", DISPUTES_AMONG),
    ]
    if len(names) > 1:
        variables = {"": gettext_noop("Any"), **{name: asked[name] for name in names}}
        groups.append((gettext("Question"), "variable", variables))
    here = address_of(campaign, None, QueuePart())
    for heading, name, titles in groups:
        current = getattr(part, name)
        yield (
            heading,
            [
                PartLink(
                    gettext(title), here + query_string(part, **{name: value}), value == current
                )
                for value, title in titles.items()
            ],
        )


@dataclass(frozen=True)
class GivenLabel:
    """One label of a rater, as text."""

    variable: str
    question: str
    word: str
    tone: str


@dataclass(frozen=True)
class Card:
    """A rater's answer on the page; `answer` is JSON that the form can copy."""

    rater: RaterAnswer
    name: str
    letters: str
    labels: tuple[GivenLabel, ...]
    quotes: tuple[Quote, ...]
    lost: tuple[Quote, ...]
    answer: str
    key: str


@dataclass(frozen=True)
class QueuePosition:
    """The position of a dispute in the queue, from 1 (0: not in it), and its neighbours."""

    number: int
    total: int
    previous: str
    following: str


@require_safe
@role_required(*WORKERS)
@cache_control(no_store=True, private=True)
def dispute(request: HttpRequest, pk: int, unit: int) -> HttpResponse:
    user, campaign, part = _addressed(request, pk)
    case = case_for(user, campaign, unit)
    leave_if_long(request, case.assignment)
    current = case.current
    payload = current.payload if current else None
    sheet = sheet_of(
        worded(case),
        case.shown,
        case.blinding.page_units,
        case.blinding.for_page(payload),
        case.texts,
    )
    saved_at = current.created_at if current else None
    context = {
        "campaign": campaign,
        "protocol": page_task(campaign),
        "page": PAGE,
        "case": case,
        "sheet": sheet,
        "views": TextViews(case.assignment.item, [text.text for text in case.spec.texts], user),
        "cards": list(cards(case, sheet.rows[0])),
        "saved": SavedState(payload, 0, case.revision, saved_at),
        "history": list(_history(case, user)),
        "position": queue_position(case, user, part),
        "query_string": query_string(part),
        "queue_address": address_of(campaign, None, part),
    }
    return render(request, PAGE.template, context)


def worded(case: Case) -> Schema:
    return case.schema.worded_in(get_language() or "en")


def cards(case: Case, row: Row) -> Iterator[Card]:
    """Yield the raters' answers as text, with highlights if the unit has evidence."""
    for each in rater_answers(case):
        letter = each.name.rpartition(" ")[2]
        placed = tuple(quote for quote in each.quotes if quote.field and quote.start is not None)
        lost = tuple(quote for quote in each.quotes if quote not in placed)
        answer: dict[str, object] = {
            variable.name: in_answer(variable, each.values[variable.name])
            for variable in case.schema.variables_of(case.asked.kind)
            if variable.name in each.values
        }
        if row.rule:
            own = [quote for quote in placed if row.rule.covers(quote.field)]
            answer[EVIDENCE_KEY] = [row.rule.quote(q.text, q.start, q.field) for q in own]
        yield Card(
            each,
            gettext("Rater %(letters)s") % {"letters": letter},
            letter,
            tuple(_labels(row.variables, each)),
            placed,
            lost,
            json.dumps(answer, ensure_ascii=False),
            letter.lower() if letter in COPY_KEYS else "",
        )


def _labels(asked: Sequence[AskedVariable], answer: RaterAnswer) -> Iterator[GivenLabel]:
    for each in asked:
        if each.name in answer.values:
            yield GivenLabel(each.name, each.question, *each.named(answer.values[each.name]))


def _history(case: Case, user: User) -> Iterator[dict[str, object]]:
    """Yield the decisions on the unit, newest first."""
    for each in case.history:
        units = (case.blinding.for_page(each.payload) or {}).get("units", {})
        values: dict[str, object] = next(iter(units.values()), {})
        asked = worded(case).variables_of(case.asked.kind)
        answered = (one for one in asked if values.get(one.name) is not None)
        yield {
            "values": [word_in_answer(one, values[one.name]) for one in answered],
            "reason": each.comment,
            "at": each.created_at,
            "by": DECIDED_BY[is_by(each, user)],
            "is_current": each.current,
        }


def queue_position(case: Case, user: User, part: QueuePart) -> QueuePosition:
    units = queued_units(case.campaign, user, part)
    if case.unit.pk not in units:
        first = address_of(case.campaign, units[0], part) if units else ""
        return QueuePosition(0, len(units), "", first)
    at = units.index(case.unit.pk)

    def address(index: int) -> str:
        exists = 0 <= index < len(units)
        return address_of(case.campaign, units[index], part) if exists else ""

    return QueuePosition(at + 1, len(units), address(at - 1), address(at + 1))
