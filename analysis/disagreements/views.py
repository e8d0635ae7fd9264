"""Pages of disagreements: the list, a unit opened in place, its tag, and the list as a file.

A job collects the labels by unit. The list chooses from those of the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from analysis.disagreements.choose import SHOWS, SORTS, Choice, cells, chosen
from analysis.disagreements.detail import detail_of
from analysis.disagreements.jobs import VOTES, question, votes_in
from analysis.disagreements.tags import set_tag, tag_counts, tagged_units, tags_of
from analysis.disagreements.votes import Votes
from analysis.models import UnitTag
from annotation.access import get_account, readable_campaign
from annotation.adjudication import adjudicable
from annotation.exposure.ledger import saw_answers, saw_figures
from annotation.models import Campaign, Unit
from annotation.presentation import preload, present, schema
from annotation.protocols.base import name_units
from annotation.spreadsheet import write_rows
from audit.recording import record_export
from datasets.access import READERS, role_required
from datasets.jobs import pages as jobs
from datasets.jobs import results
from datasets.text import number_in
from judging.access import blind_page

PAGE = 50
LOOK = "disagreements"
NAMES = ("show", "variable", "judge", "system", "query", "people", "said", "tag", "find", "sort")
"""The parts of the address; `people` and `said` are the codes of a cell."""


class Listed:
    """The units that an address asks for, and what the page needs to show its filters."""

    def __init__(
        self, request: HttpRequest, campaign: Campaign, variable: str, votes: Sequence[Votes]
    ) -> None:
        self.campaign, self.variable, self.votes = campaign, variable, votes
        given = self.given = {name: request.GET.get(name, "").strip() for name in NAMES}
        self.variables = [each.name for each in schema(campaign).variables]
        self.judges = sorted({name for each in self.votes for name in each.judges})
        self.systems = sorted({each.system for each in self.votes if each.system})
        self.choice = self._choice()
        self.tag = given["tag"] if given["tag"] in UnitTag.Tag.values else ""
        self.found = chosen(self.votes, self.choice, self._among())

    def _choice(self) -> Choice:
        given = self.given
        judge = given["judge"] if given["judge"] in self.judges else next(iter(self.judges), "")
        show = given["show"] if given["show"] in SHOWS else "judge" if judge else "people"
        query = number_in(given["query"]) or None
        cell = (given["people"], given["said"]) if given["people"] and given["said"] else None
        sort = given["sort"] if given["sort"] in SORTS else "unanimous"
        system = given["system"] if given["system"] in self.systems else ""
        return Choice(show, judge, system, query, cell, sort)  # type: ignore[arg-type]  # checked

    def _among(self) -> set[int] | None:
        """Return the units that a tag or words restrict the list to, None without either."""
        found: set[int] | None = None
        if self.tag:
            found = tagged_units(self.campaign, self.variable, self.tag)
        if words := self.given["find"]:
            units = Unit.objects.filter(item__campaign=self.campaign)
            named = units.filter(item__query__text__icontains=words) | units.filter(
                key__icontains=words
            )
            hits = set(named.order_by().values_list("pk", flat=True))
            found = hits if found is None else found & hits
        return found

    def query(self, **changes: str) -> str:
        """Return the address's query with changes, without empty parts."""
        values = {name: text for name, text in ({**self.given, **changes}).items() if text}
        return urlencode(values)

    def crosstab(self) -> list[dict[str, Any]]:
        """Return rows of people's codes with the judge's, each a count with its address."""
        if not self.choice.judge:
            return []
        counts = cells(self.votes, self.choice)
        codes = [c for v in schema(self.campaign).variables if v.name == self.variable
                 for c in v.codes]  # fmt: skip
        codes += sorted({code for cell in counts for code in cell} - set(codes))
        return [
            {
                "code": people,
                "cells": [
                    {
                        "code": said,
                        "number": counts[people, said],
                        "same": people == said,
                        "here": self.choice.cell == (people, said),
                        "query": self.query(people=people, said=said, judge=self.choice.judge),
                    }
                    for said in codes
                ],
            }
            for people in codes
        ]


@require_safe
@role_required(*READERS)
def disagreements(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    variable, place = _variable(request, campaign), request.path
    wanted = question(campaign, variable)
    shown = jobs.shown(request, VOTES, wanted, place, place, "#disagreements", votes_in)
    if isinstance(shown, HttpResponse):
        return shown
    context = {"campaign": campaign, "shown": shown}
    if shown.value is not None:
        context |= _list(request, campaign, Listed(request, campaign, variable, shown.value))
    part = request.htmx and not request.htmx.boosted  # type: ignore[attr-defined]
    name = "disagreements/_list.html" if part else "disagreements/list.html"
    return render(request, name, context)


def _list(request: HttpRequest, campaign: Campaign, listed: Listed) -> dict[str, Any]:
    """Return what the page shows of the chosen units."""
    page = Paginator(listed.found, PAGE).get_page(request.GET.get("page"))
    counts = tag_counts(campaign, listed.variable)
    return {
        "listed": listed,
        "page": page,
        "rows": list(_rows(campaign, list(page.object_list), listed)),
        "shows": SHOWS,
        "sorts": SORTS,
        "tags": UnitTag.Tag.choices,
        "tag_counts": [(tag, label, counts[tag]) for tag, label in UnitTag.Tag.choices],
        "query": listed.query(),
        "adjudicable": adjudicable(get_account(request)).filter(pk=campaign.pk).exists(),
    }


def _rows(campaign: Campaign, shown: Sequence[Votes], listed: Listed) -> Iterator[dict[str, Any]]:
    """Yield what a line of the list shows of each unit."""
    saw_answers(LOOK, campaign, units=[each.unit for each in shown])
    saw_figures(LOOK, campaign, len(listed.votes))
    units = Unit.objects.select_related("item__query").in_bulk([each.unit for each in shown])
    preload(campaign, {unit.item_id: unit.item for unit in units.values()}.values())
    tags = tags_of(units, listed.variable)
    for votes in shown:
        unit = units[votes.unit]
        unit.item.campaign = campaign
        spec = name_units(present(unit.item).units)[unit.name]
        yield {
            "votes": votes,
            "unit": unit,
            "words": spec.text,
            "query": unit.item.query,
            "said": votes.judges.get(listed.choice.judge),
            "score": votes.scores.get(listed.choice.judge),
            "tag": tags.get(votes.unit),
        }


@require_safe
@role_required(*READERS)
def unit(request: HttpRequest, pk: int, unit: int) -> HttpResponse:
    """Show one unit with everybody's answers: in place, or as a page of its own."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    return _unit_page(request, campaign, _unit(campaign, unit))


def _unit(campaign: Campaign, pk: int) -> Unit:
    units = Unit.objects.filter(item__campaign=campaign).select_related("item__query")
    return get_object_or_404(units, pk=pk)


def _unit_page(
    request: HttpRequest, campaign: Campaign, found: Unit, problem: str = "", status: int = 200
) -> HttpResponse:
    variable = _variable(request, campaign)
    context = {
        "campaign": campaign,
        "detail": detail_of(campaign, found),
        "variable": variable,
        "tag": tags_of([found.pk], variable).get(found.pk),
        "tags": UnitTag.Tag.choices,
        "problem": problem,
    }
    in_place = bool(request.htmx)  # type: ignore[attr-defined]
    name = "disagreements/_unit.html" if in_place else "disagreements/unit.html"
    return render(request, name, context, status=200 if in_place else status)


def _variable(request: HttpRequest, campaign: Campaign) -> str:
    wanted = request.POST.get("variable") or request.GET.get("variable", "")
    names = [each.name for each in schema(campaign).variables]
    return wanted if wanted in names else names[0]


@require_POST
@role_required(*READERS)
def tag(request: HttpRequest, pk: int, unit: int) -> HttpResponse:
    """Tag a unit, or take its tag away."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    found, user = _unit(campaign, unit), get_account(request)
    wanted, note = request.POST.get("tag", ""), request.POST.get("note", "")
    try:
        set_tag(found, _variable(request, campaign), wanted, note, user)
    except ValueError as error:
        return _unit_page(request, campaign, found, str(error), 422)
    if request.htmx:  # type: ignore[attr-defined]
        return _unit_page(request, campaign, found)
    back = reverse("disagreement", args=[campaign.pk, found.pk])
    return redirect(f"{back}?{urlencode({'variable': _variable(request, campaign)})}")


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int) -> HttpResponse | StreamingHttpResponse:
    """Return the listed units as CSV, one column for each rater."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    variable = _variable(request, campaign)
    asked = jobs.follow(request, VOTES, question(campaign, variable))
    if not asked.is_current:
        page = jobs.address_of(request, reverse("disagreements", args=[pk]))
        return jobs.waiting(request, asked.job, page)
    try:
        votes = votes_in(asked.job)
    except results.GoneError:
        return redirect(request.get_full_path())
    listed = Listed(request, campaign, variable, votes)
    record_export(request, pk, "disagreements", "csv")
    saw_answers(LOOK, campaign, units=[each.unit for each in listed.found])
    raters = sorted({name for each in listed.found for name in (*each.people, *each.judges)})
    labels = (f"label of {name}" for name in raters)
    columns = ("item", "unit", "query", "system", "variable", "majority", *labels, "tag", "note")
    response = StreamingHttpResponse(
        write_rows(columns, _lines(listed)), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="disagreements-{pk}.csv"'
    return response


def _lines(listed: Listed) -> Iterator[Mapping[str, object]]:
    for start in range(0, len(listed.found), 1000):
        part = listed.found[start : start + 1000]
        units = Unit.objects.select_related("item__query").in_bulk([each.unit for each in part])
        tags = tags_of(units, listed.variable)
        for votes in part:
            row, made = units[votes.unit], tags.get(votes.unit)
            yield {
                "item": row.item.key,
                "unit": row.key,
                "query": row.item.query.key,
                "system": votes.system,
                "variable": listed.variable,
                "majority": votes.majority or "",
                **{f"label of {who}": said for who, said in votes.people.items()},
                **{f"label of {who}": said for who, said in votes.judges.items()},
                "tag": made.tag if made else "",
                "note": made.note if made else "",
            }
