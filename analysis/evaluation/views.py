"""Pages of measures: the frame at once, the numbers when they are computed, and files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from analysis.document import Document, Table, count
from analysis.evaluation.rendering import (
    FORMATS,
    board_table,
    cuts_of,
    document,
    shown_boards,
    tested,
    title_of,
)
from analysis.evaluation.selection import (
    SHOWN,
    AvailableParts,
    MeasuresForm,
    Shown,
    computed_measures,
    select_shown,
)
from analysis.evaluation.slicing import slice_views
from analysis.evaluation.trec import trec_archive
from analysis.formats.build import moment
from analysis.pages import attached, options_query
from analysis.types import JSON
from annotation.access import get_account, is_blind, readable_campaign
from audit.recording import record_export
from datasets.access import READERS, role_required
from judging.access import blind_page

RENDERED_ABOVE = ("System rankings", "Options")
ARCHIVE = "application/zip"


@dataclass(frozen=True)
class Head:
    """A column's name, the address that sorts by it, and its current order for `aria-sort`."""

    name: str
    address: str
    order: str


@dataclass(frozen=True)
class BoardView:
    """A system ranking on the page; `kind` is the sign of its evaluator."""

    title: str
    kind: str
    test: str
    tables: list[tuple[Table, list[Head]]]


@dataclass(frozen=True)
class Filter:
    """The boxes of one option: its name and title, and the value and state of each box."""

    name: str
    title: str
    boxes: list[tuple[str, bool]]


def board_views(report: JSON, shown: Shown, query: QueryDict) -> list[BoardView]:
    """Return the boards to show; those of single people only if selected."""
    boards = report["leaderboard"]["boards"] if shown.evaluators else shown_boards(report)
    made = []
    for board in boards:
        tables = [board_table(report, board, cut) for cut in cuts_of(report, board)]
        headed = [(table, _heads(table, shown, query)) for table in tables]
        title, kind = title_of(board)
        made.append(BoardView(title, kind, tested(board), headed))
    return [each for each in made if each.tables]


def _heads(table: Table, shown: Shown, query: QueryDict) -> list[Head]:
    return [_head(str(name), shown.order, query) for name in table.header[1:]]


def _head(name: str, order: str, query: QueryDict) -> Head:
    """Sort by the highest first; on the second click by the lowest."""
    turned = f"-{name}" if order == name else name
    now = {name: "descending", f"-{name}": "ascending"}.get(order, "")
    return Head(name, _address(query, order=turned), now)


def _address(query: QueryDict, **changed: str) -> str:
    made = query.copy()
    for name, value in changed.items():
        made[name] = value
    return f"?{made.urlencode()}"


def filters(offered: AvailableParts, shown: Shown, query: QueryDict) -> JSON:
    """Return the options of what to show, and the parts of the address that they keep."""
    made = []
    for option in SHOWN:
        if option.kind != "several":
            continue
        there, chosen = getattr(offered, option.field), getattr(shown, option.field)
        if len(there) > 1:
            boxes = [(value, value in chosen) for value in there]
            made.append(Filter(option.name, option.label, boxes))
    kept = [
        (name, value)
        for name, values in query.lists()
        if name not in {option.name for option in SHOWN}
        for value in values
        if value
    ]
    orders = [("", "as in the batch")]
    orders += [
        (f"{sign}{name}", f"{name}, the {word} first")
        for name in offered.measures
        for sign, word in (("", "highest"), ("-", "lowest"))
    ]
    return {
        "choices": made,
        "kept": kept,
        "orders": orders,
        "order": shown.order,
        "any": any(vars(shown).values()),
    }


def rest_of(report: JSON) -> Document:
    """Return the document without the parts that the page shows by itself."""
    whole = document(report)
    kept = tuple(each for each in whole.sections if each.title not in RENDERED_ABOVE)
    return replace(whole, sections=kept)


def sliced_by(report: JSON, campaigns: Iterable[str]) -> list[str]:
    """Describe the variables and their number for each campaign that divides the queries."""
    return [_sliced_by(report, name) for name in campaigns]


def _sliced_by(report: JSON, campaign: str) -> str:
    strata = [each for each in report["strata"].values() if each["campaign"] == campaign]
    if not strata:
        return f"No label is settled in {campaign} yet, so there are no slices by it."
    told = [
        f"{each['variable'].replace('_', ' ')} of {count(each['queries'], 'query', 'queries')}"
        for each in strata
    ]
    return f"By the labels of {campaign}: {', '.join(told)}."


@require_safe
@role_required(*READERS)
def measures(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the frame of the page with its options; wrong ones are reported instead of numbers."""
    campaign = readable_campaign(request, pk)
    form = MeasuresForm(request.GET, get_account(request), campaign)
    context = {
        "campaign": campaign,
        "form": form,
        "formats": FORMATS.values(),
        "query": options_query(request),
    }
    return render(
        request, "measures/measures.html", context, status=200 if form.is_valid() else 422
    )


@require_safe
@role_required(*READERS)
def body(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the numbers, as a part of the page, or the error of an option that names nothing."""
    campaign = readable_campaign(request, pk)
    form = MeasuresForm(request.GET, get_account(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    if is_blind(get_account(request), campaign):
        return render(request, "reports/_blind.html", {"campaign": campaign})
    whole = computed_measures(campaign, form.resolved)
    context = {"campaign": campaign, "moment": moment(whole), "whole": whole}
    context |= {"filters": filters(AvailableParts.from_report(whole), form.shown, request.GET)}
    try:
        report = select_shown(whole, form.shown)
    except ValueError as error:
        return render(request, "measures/body.html", {**context, "problem": str(error)})
    context |= {
        "report": report,
        "boards": board_views(report, form.shown, request.GET),
        "document": rest_of(report),
        "slices": slice_views(report),
        "sliced": sliced_by(report, [each.name for each in form.resolved.slices]),
    }
    return render(request, "measures/body.html", context)


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int, suffix: str) -> HttpResponse:
    """Return the shown parts as a file, in the format of that suffix."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = MeasuresForm(request.GET, get_account(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    chosen = next(each for each in FORMATS.values() if each.suffix == suffix)
    try:
        report = select_shown(computed_measures(campaign, form.resolved), form.shown)
    except ValueError as error:
        return _refused(str(error))
    record_export(request, pk, "measures", suffix)
    return attached(chosen.render(report), chosen.media_type, f"measures-{pk}.{suffix}")


@require_safe
@role_required(*READERS)
def runs(request: HttpRequest, pk: int) -> HttpResponse:
    """Return runs and qrels for TREC's tools, in one archive."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = MeasuresForm(request.GET, get_account(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    archive = trec_archive(campaign, form.resolved.options, form.resolved.report_options)
    record_export(request, pk, "measures", "zip")
    return attached(archive, ARCHIVE, f"measures-{pk}.zip")


def _refused(text: str) -> HttpResponse:
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")
