"""The campaign's first page, with the last figures at once, and its items with their answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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
from analysis.cockpit.search import MOST, search
from analysis.cockpit.tiles import jobs_for_page, missing_of, tiles_of
from analysis.disagreements.votes import Votes
from annotation.access import get_account, is_blind, readable_campaign
from annotation.adjudication.disputes import counted_labels
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Item, Rater, User
from annotation.people.membership import may_manage
from annotation.presentation import preload, present, schema
from datasets.access import READERS, role_required
from datasets.models import Job, Query
from datasets.sorting import PARAMETER, Column, Order, heads_of, order_of
from datasets.work import queue
from judging.access import blind_page
from tandem.labels.selection import ReportOptions
from tandem.protocols.base import Text, name_units

LOOK = "items"
RATER = ("response__assignment__rater__name", "response__assignment__rater__kind")


@dataclass(frozen=True)
class Row:
    """An item with the answers to one variable.

    `people` counts those who labelled it. `labels` counts the units by the word of people's
    majority, or of the only label. Among units with two people, `alike` have equal labels. Among
    those with a majority and a judge's label, `with_judge` has the numbers of equal labels and of
    all, by judge.
    """

    item: Item
    people: int
    labels: Sequence[tuple[str, int]]
    alike: int
    shared: int
    with_judge: Mapping[str, tuple[int, int]]


def rows_of(campaign: Campaign, items: Sequence[Item], variable: str) -> list[Row]:
    """Return items with the answers to a variable, in two queries."""
    saw_answers(LOOK, campaign, items=[item.pk for item in items])
    found, word = _votes(campaign, items, variable), partial(schema(campaign).word, variable)
    return [_row(item, list(found[item.pk].values()), word) for item in items]


COLUMNS = (
    Column("item", "Item"),
    Column("people", "People", is_number=True),
    Column("say", "People say", can_sort=False),
    Column("alike", "People alike", is_number=True),
    Column("judge", "Judge like people", is_number=True),
)
MOST_SORTED = 2000
"""Of more items, no column is sorted whose values are computed from all answers."""


def columns_of(number: int) -> list[Column]:
    """Return the columns of a table of so many items, most of which can be sorted."""
    if number <= MOST_SORTED:
        return list(COLUMNS)
    return [each if each.name == "item" else replace(each, can_sort=False) for each in COLUMNS]


def sorted_rows(rows: Sequence[Row], order: Order) -> list[Row]:
    """Sort rows by numbers of people or shares of equal labels; those without one are last."""
    known = [(value, row) for row in rows if (value := _value(row, order.by)) is not None]
    known.sort(key=lambda each: each[0], reverse=order.is_descending)
    return [row for _, row in known] + [row for row in rows if _value(row, order.by) is None]


def _value(row: Row, column: str) -> float | None:
    if column == "people":
        return row.people
    if column == "alike":
        return row.alike / row.shared if row.shared else None
    both = sum(of for _, of in row.with_judge.values())
    return sum(same for same, _ in row.with_judge.values()) / both if both else None


def _votes(
    campaign: Campaign, items: Sequence[Item], variable: str
) -> Mapping[int, dict[int, Votes]]:
    asked = schema(campaign).variables
    escapes = frozenset(code for v in asked if v.name == variable for code in v.escapes)
    rows = counted_labels(campaign).filter(
        unit__item__in=[item.pk for item in items], variable=variable
    )
    columns = ("unit__item", "unit", "unit__position", "value", *RATER)
    found: Mapping[int, dict[int, Votes]] = defaultdict(dict)
    for item, unit, position, value, name, kind in rows.values_list(*columns):
        votes = found[item].setdefault(unit, Votes(unit, (0, position), 0, "", escapes))
        (votes.people if kind == Rater.Kind.HUMAN else votes.judges)[name] = value
    return found


def _row(item: Item, votes: Sequence[Votes], word: Callable[[str], str]) -> Row:
    people = {name for each in votes for name in each.people}
    labels = Counter(each.majority for each in votes if each.majority)
    shared = [each for each in votes if len(each.people) > 1]
    judged: dict[str, list[bool]] = defaultdict(list)
    for each in votes:
        if (most := each.majority) is not None:
            for name, value in sorted(each.judges.items()):
                if value not in each.escapes:
                    judged[name].append(value == most)
    return Row(
        item,
        len(people),
        [(word(code), number) for code, number in labels.most_common(3)],
        sum(not each.dissent for each in shared),
        len(shared),
        {name: (sum(same), len(same)) for name, same in sorted(judged.items())},
    )


@dataclass
class UnitLine:
    """A unit of an item: its words, and each rater's labels by rater."""

    pk: int
    words: str
    labels: dict[str, list[str]] = field(default_factory=dict)
    differs: bool = False


@dataclass(frozen=True)
class ItemAnswers:
    """An item with its texts, its raters by name and kind, and a line for each unit."""

    item: Item
    texts: Sequence[Text]
    raters: Sequence[tuple[str, str]]
    lines: Sequence[UnitLine]


def answers_of(campaign: Campaign, item: Item) -> ItemAnswers:
    """Return all current labels of an item, unit by unit."""
    saw_answers(LOOK, campaign, items=[item.pk])
    item.campaign = campaign
    preload(campaign, [item])
    spec = present(item)
    words = {name: unit.text for name, unit in name_units(spec.units).items()}
    units = item.units.order_by("position").values_list("pk", "name")
    lines = {pk: UnitLine(pk, words.get(name, name)) for pk, name in units}
    asked = schema(campaign)
    several = len({variable.name for variable in asked.variables}) > 1
    raters: dict[str, str] = {}
    values: Mapping[tuple[int, str], set[str]] = defaultdict(set)
    rows = counted_labels(campaign).filter(unit__item=item).order_by("pk")
    columns = ("unit", "variable", "value", *RATER)
    for unit, variable, value, name, kind in rows.values_list(*columns):
        raters[name] = kind
        word = asked.word(variable, value)
        label_text = f"{variable}: {word}" if several else word
        lines[unit].labels.setdefault(name, []).append(label_text)
        values[unit, variable].add(value)
        lines[unit].differs |= len(values[unit, variable]) > 1
    order = sorted(raters.items(), key=lambda each: (each[1] != Rater.Kind.HUMAN, each[0]))
    return ItemAnswers(item, spec.texts, order, list(lines.values()))


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
