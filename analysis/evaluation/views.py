"""Measures on the page of results and as files. Jobs compute them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.evaluation.display import (
    DISPLAY_OPTIONS,
    AvailableParts,
    DisplayOptions,
    own_measures,
    select_shown,
)
from analysis.evaluation.measures_job import MEASURES, TREC, question
from analysis.evaluation.rendering import (
    COMPARED,
    FORMATS,
    RANKS,
    board_table,
    cuts_of,
    describe_test,
    document,
    rank_sections,
    shown_boards,
    title_of,
)
from analysis.evaluation.selection import MeasuresForm
from analysis.pages import BESIDE, attached, figure_response
from annotation.access import get_account, managed_campaign, readable_campaign
from annotation.models import Campaign
from audit.recording import record_export
from datasets.access import READERS, role_required
from datasets.work import pages as jobs
from datasets.work import results
from judging.access import blind_page
from tandem.document import Document, Table, count
from tandem.figures import FIGURES, subjects
from tandem.figures.files import available_kinds
from tandem.types import JSON

RENDERED_ABOVE = ("System rankings", "Options")
MATRICES, SLICES = ("evaluators", "metrics", "sampled"), ("measure-slices",)
"""The figures that the page shows in place of tables."""


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


def board_views(report: JSON, shown: DisplayOptions, query: QueryDict) -> list[BoardView]:
    """Return the boards to show; those of single people only if selected."""
    boards = report["leaderboard"]["boards"] if shown.evaluators else shown_boards(report)
    made = []
    for board in boards:
        tables = [board_table(report, board, cut) for cut in cuts_of(report, board)]
        headed = [(table, _heads(table, shown, query)) for table in tables]
        title, kind = title_of(board)
        made.append(BoardView(title, kind, describe_test(board), headed))
    return [each for each in made if each.tables]


def _heads(table: Table, shown: DisplayOptions, query: QueryDict) -> list[Head]:
    return [_head(str(name), shown.order, query) for name in table.header[1:]]


def _head(name: str, order: str, query: QueryDict) -> Head:
    """Return a column's head: a link to sort by it, highest first, then lowest first."""
    turned = f"-{name}" if order == name else name
    now = {name: "descending", f"-{name}": "ascending"}.get(order, "")
    return Head(name, _address(query, order=turned), now)


def _address(query: QueryDict, **changed: str) -> str:
    made = query.copy()
    for name, value in changed.items():
        made[name] = value
    return f"?{made.urlencode()}#section-systems"


def filters(offered: AvailableParts, shown: DisplayOptions, query: QueryDict) -> JSON:
    """Return the display options, and the parameters of the address that they keep."""
    made = []
    for option in DISPLAY_OPTIONS:
        if option.kind != "several":
            continue
        there, chosen = getattr(offered, option.field), getattr(shown, option.field)
        if len(there) > 1:
            boxes = [(value, value in chosen) for value in there]
            made.append(Filter(option.name, option.label, boxes))
    kept = [
        (name, value)
        for name, values in query.lists()
        if name not in {option.name for option in DISPLAY_OPTIONS}
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


def remaining_sections(report: JSON, matrices: Sequence[str]) -> Document:
    """Return the document without the parts already on the page, such as figures."""
    whole = document(report)
    above = [*RENDERED_ABOVE, *([COMPARED] if "metrics" in matrices else [])]
    kept = [each for each in whole.sections if each.title not in above]
    if "evaluators" in matrices:
        rest = rank_sections(report, with_evaluators=False)
        kept = [*rest, *(each for each in kept if each.title != RANKS)]
    return replace(whole, sections=tuple(kept))


def _available_figures(report: JSON, names: Sequence[str]) -> list[str]:
    """Return the figures that the report has data for."""
    return [name for name in names if any(subjects(report, FIGURES[name]))]


def describe_slicing(report: JSON, campaigns: Iterable[str]) -> list[str]:
    """Describe by campaign the variables that divide the queries, with counts."""
    return [_describe_slicing(report, name) for name in campaigns]


def _describe_slicing(report: JSON, campaign: str) -> str:
    strata = [each for each in report["strata"].values() if each["campaign"] == campaign]
    if not strata:
        return f"No label is settled in {campaign} yet, so there are no slices by it."
    counts = [
        f"{each['variable'].replace('_', ' ')} of {count(each['queries'], 'query', 'queries')}"
        for each in strata
    ]
    return f"By the labels of {campaign}: {', '.join(counts)}."


def measures_context(
    whole: JSON | None, form: MeasuresForm, query: QueryDict, only_own: bool
) -> dict[str, Any]:
    """Return the page's context for measures, empty before they are computed.

    With `only_own`, measures from the batch alone are left out, unless they are named. `query` has
    all parameters of the page.
    """
    if whole is None:
        return {}
    shown = form.shown
    own = own_measures(whole)
    if (
        only_own
        and not shown.measures
        and shown.order.strip("-") not in set(whole["measures"]) - set(own)
    ):
        shown = replace(shown, measures=tuple(own))
    offered = AvailableParts.from_report(whole)
    context = {"whole": whole, "rest": len(whole["measures"]) - len(own)}
    context |= {"filters": filters(offered, form.shown, query), "none": only_own and not own}
    try:
        report = select_shown(whole, shown)
    except ValueError as error:
        return {**context, "problem": str(error)}
    matrices = _available_figures(report, MATRICES)
    return context | {
        "board_report": report,
        "boards": board_views(report, shown, query),
        "document": remaining_sections(report, matrices),
        "matrices": matrices,
        "slices": _available_figures(report, SLICES),
        "sliced": describe_slicing(report, [each.name for each in form.resolved.slices]),
    }


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int, suffix: str) -> HttpResponse:
    """Return the shown parts as a file, in the format of that suffix."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = MeasuresForm(jobs.options_of(request), get_account(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    asked = jobs.follow(request, MEASURES, question(campaign, form.resolved))
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, _page_of(request, campaign))
    chosen = next(each for each in FORMATS.values() if each.suffix == suffix)
    try:
        report = select_shown(results.value(asked.job), form.shown)
    except results.GoneError:
        return redirect(request.get_full_path())
    except ValueError as error:
        return _refused(str(error))
    record_export(request, pk, "measures", suffix)
    return attached(chosen.render(report), chosen.media_type, f"measures-{pk}.{suffix}")


@require_safe
@role_required(*READERS)
def figure(request: HttpRequest, pk: int, name: str, suffix: str) -> HttpResponseBase:
    """Return a figure of the measures as a file; `of` in the address names the measure or rater."""
    campaign = readable_campaign(request, pk)
    if name not in FIGURES or suffix not in {each.suffix for each in available_kinds()}:
        raise Http404("No such figure, or not as such a file.")
    if blind := blind_page(request, campaign):
        return blind
    query = jobs.options_of(request, *BESIDE)
    form = MeasuresForm(query, get_account(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    asked = jobs.follow(request, MEASURES, question(campaign, form.resolved))
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, _page_of(request, campaign))
    return figure_response(request, asked.job, name, suffix, _page_of(request, campaign))


@require_safe
@role_required(*READERS)
def runs(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Return runs and qrels for TREC's tools in one archive, if the account may export labels."""
    campaign = managed_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = MeasuresForm(jobs.options_of(request), get_account(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    asked = jobs.follow(request, TREC, question(campaign, form.resolved))
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, _page_of(request, campaign))
    record_export(request, pk, "measures", "zip")
    return jobs.send_file(request, asked.job)


def _page_of(request: HttpRequest, campaign: Campaign) -> str:
    """Return the address of the results with the same options."""
    return f"{jobs.address_of(request, reverse('results', args=[campaign.pk]))}#section-systems"


def _refused(text: str) -> HttpResponse:
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")
