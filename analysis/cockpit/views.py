"""The campaign's first page, with the last figures at once, and its items with their answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.attention import facts_of, matters, note_look
from analysis.attention.checks import CHECKS
from analysis.attention.checks import question as checks_question
from analysis.campaigns.cache import labels_since
from analysis.campaigns.report_job import REPORT
from analysis.campaigns.report_job import question as report_question
from analysis.cockpit.items import Row, answers_of, columns_of, rows_of, sorted_rows
from analysis.cockpit.refresh import jobs_for_page
from analysis.cockpit.search import MOST, search
from analysis.cockpit.tiles import missing_of, tiles_of
from annotation.access import get_account, is_blind, readable_campaign
from annotation.models import Campaign, Item, Rater, User
from annotation.people.membership import may_manage
from annotation.presentation import schema
from datasets.access import READERS, role_required
from datasets.models import Job, Query
from datasets.sorting import PARAMETER, heads_of, order_of
from datasets.work import queue
from judging.access import blind_page
from tandem.labels.selection import ReportOptions

State = Job.State
PAGE = 50
LONGEST_SEARCH = 300
SHOWS = {"": "All items", "open": "Answers missing", "done": "Answers complete"}


@require_safe
@role_required(*READERS)
def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the page with the last figures; for htmx its changing part, and ask for newer ones.

    Without scripts, `now` in the address asks for newer ones.
    """
    found, user = readable_campaign(request, pk), get_account(request)
    in_place = bool(request.htmx)  # type: ignore[attr-defined]
    blind = is_blind(user, found)
    jobs: list[Job] = []
    if (in_place or "now" in request.GET) and not blind:
        asked = {REPORT: report_question(found, ReportOptions()), CHECKS: checks_question(found)}
        (facts,) = facts_of([pk])
        waits = missing_of(facts, blind).is_waiting
        jobs = jobs_for_page(request, asked, reverse("campaign", args=[pk]), waits)
    seen = ".".join(f"{job.key}-{job.state}-{queue.is_under_way(job)}" for job in jobs)
    if in_place and seen and request.GET.get("seen") == seen:
        return HttpResponse(status=204)
    under_way = [job for job in jobs if queue.is_under_way(job)]
    context = {**_context(found, user, blind, bool(under_way)), "jobs": jobs, "seen": seen}
    context["under_way"] = under_way
    context["failed"] = next((job for job in jobs if job.state == State.FAILED), None)
    return render(request, "cockpit/_now.html" if in_place else "cockpit/campaign.html", context)


def _context(found: Campaign, user: User, blind: bool, is_computing: bool) -> dict[str, Any]:
    (facts,) = facts_of([found.pk])
    manages = may_manage(user, found.pk)
    found_matters = matters(facts, manages, blind)
    note_look(facts, found_matters)
    newest = (facts.report or {}).get("newest", 0)
    return {
        "campaign": found,
        "facts": facts,
        "tiles": tiles_of(facts, blind, is_computing),
        "matters": found_matters,
        "manages": manages,
        "newer": labels_since(found, newest) if facts.report else 0,
    }


@require_safe
@role_required(*READERS)
def search_all(request: HttpRequest) -> HttpResponse:
    """Show the results of searching for `q` in readable names and texts."""
    text = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    context = {"text": text, "found": search(get_account(request), text), "most": MOST}
    return render(request, "cockpit/search.html", context)


@require_safe
@role_required(*READERS)
def data(request: HttpRequest, pk: int) -> HttpResponse:
    """List the campaign's items with their answers, a page at a time."""
    found = readable_campaign(request, pk)
    if blind := blind_page(request, found):
        return blind
    names = list(dict.fromkeys(each.name for each in schema(found).variables))
    given = {name: request.GET.get(name, "").strip() for name in ("variable", "show", "find")}
    variable = given["variable"] if given["variable"] in names else names[0]
    items = _items(found, given["show"], given["find"])
    columns = columns_of(items.count())
    order = order_of(columns, request.GET.get(PARAMETER, ""))
    is_computed = order.by not in ("", "item")
    sorted_items: Sequence[Any] | QuerySet[Item] = items
    if is_computed:
        sorted_items = sorted_rows(rows_of(found, list(items), variable), order)
    elif order.is_descending:
        sorted_items = items.reverse()
    page: Page[Any] = Paginator(sorted_items, PAGE).get_page(request.GET.get("page"))
    rows = list(page) if is_computed else rows_of(found, list(page), variable)
    heads = heads_of(columns, order, given)
    given[PARAMETER] = str(order)
    context = {
        "campaign": found,
        "page": page,
        "groups": _grouped(rows, by_query=not is_computed),
        "heads": heads,
        "variables": names,
        "variable": variable,
        "shows": SHOWS,
        "given": given,
        "query": urlencode({name: text for name, text in given.items() if text}),
    }
    return render(request, "cockpit/data.html", context)


def _grouped(rows: Sequence[Row], by_query: bool) -> list[tuple[Query, list[Row]]]:
    """Return the rows below their queries, or each by itself."""
    if not by_query:
        return [(row.item.query, [row]) for row in rows]
    groups = groupby(rows, key=lambda row: row.item.query)
    return [(query, list(of)) for query, of in groups]


def _items(campaign: Campaign, show: str, find: str) -> QuerySet[Item]:
    items = campaign.items.filter(use=Item.Use.STUDY).select_related("query", "report")
    if find:
        words = Q(key__icontains=find) | Q(query__text__icontains=find)
        items = items.filter(words | Q(report__system__icontains=find))
    if show in ("open", "done"):
        missing = Exists(items_with_missing(campaign))
        items = items.filter(missing if show == "open" else ~missing)
    return items.order_by("position")


def items_with_missing(campaign: Campaign) -> QuerySet[Item]:
    """Return a subquery for items on which people's answers are missing."""
    done = Q(assignments__status="done", assignments__rater__kind=Rater.Kind.HUMAN)
    people = Count("assignments__rater", filter=done, distinct=True)
    return Item.objects.filter(pk=OuterRef("pk")).annotate(n=people).filter(n__lt=F("quota"))


@require_safe
@role_required(*READERS)
def item(request: HttpRequest, pk: int, position: int) -> HttpResponse:
    """Show one item with everybody's answers."""
    found = readable_campaign(request, pk)
    if blind := blind_page(request, found):
        return blind
    rows = found.items.select_related("query", "report")
    chosen = get_object_or_404(rows, position=position)
    context = {"campaign": found, "answers": answers_of(found, chosen), "item": chosen}
    around = found.items.filter(use=Item.Use.STUDY)
    context["before"] = around.filter(position__lt=position).order_by("-position").first()
    context["after"] = around.filter(position__gt=position).order_by("position").first()
    return render(request, "cockpit/item.html", context)
