"""The page of measures: a frame at once, its numbers as soon as they are computed, and files."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from analysis.formats.building import moment
from analysis.measuring.asking import computed_measures
from analysis.measuring.choosing import MeasuresForm
from analysis.measuring.page import board_views, filters, rest_of, sliced_by
from analysis.measuring.printing import FORMATS
from analysis.measuring.shown import Offered, shown_of
from analysis.measuring.slice_tables import slice_views
from analysis.measuring.trec import trec_archive
from analysis.views import READERS, attached
from annotation.models import Campaign
from annotation.people.membership import readable
from annotation.views.access import is_blind
from audit.recording import record_export
from datasets.access import role_required
from judging.views.access import blind_page, person

ARCHIVE = "application/zip"


@require_safe
@role_required(*READERS)
def measures(request: HttpRequest, pk: int) -> HttpResponse:
    """The frame of the page with its choices; wrong ones are told, and nothing is computed."""
    campaign = _campaign(request, pk)
    form = MeasuresForm(request.GET, person(request), campaign)
    context = {
        "campaign": campaign,
        "form": form,
        "formats": FORMATS.values(),
        "query": _query(request),
    }
    return render(
        request, "measures/measures.html", context, status=200 if form.is_valid() else 422
    )


@require_safe
@role_required(*READERS)
def body(request: HttpRequest, pk: int) -> HttpResponse:
    """The numbers, as a part of the page. A choice of what is not there is told in their place."""
    campaign = _campaign(request, pk)
    form = MeasuresForm(request.GET, person(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    if is_blind(person(request), campaign):
        return render(request, "reports/_blind.html", {"campaign": campaign})
    whole = computed_measures(campaign, form.asked)
    context = {"campaign": campaign, "moment": moment(whole), "whole": whole}
    context |= {"filters": filters(Offered.of(whole), form.shown, request.GET)}
    try:
        report = shown_of(whole, form.shown)
    except ValueError as error:
        return render(request, "measures/body.html", {**context, "problem": str(error)})
    context |= {
        "report": report,
        "boards": board_views(report, form.shown, request.GET),
        "document": rest_of(report),
        "slices": slice_views(report),
        "sliced": sliced_by(report, [each.name for each in form.asked.slices]),
    }
    return render(request, "measures/body.html", context)


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int, suffix: str) -> HttpResponse:
    """What is shown as a file, in the format of that ending."""
    campaign = _campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = MeasuresForm(request.GET, person(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    chosen = next(each for each in FORMATS.values() if each.suffix == suffix)
    try:
        report = shown_of(computed_measures(campaign, form.asked), form.shown)
    except ValueError as error:
        return _refused(str(error))
    record_export(request, pk, "measures", suffix)
    return attached(chosen.render(report), chosen.media_type, f"measures-{pk}.{suffix}")


@require_safe
@role_required(*READERS)
def runs(request: HttpRequest, pk: int) -> HttpResponse:
    """Runs and qrels for TREC's tools, in one archive."""
    campaign = _campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = MeasuresForm(request.GET, person(request), campaign)
    if not form.is_valid():
        return _refused("\n".join(form.problems()))
    archive = trec_archive(campaign, form.asked.options, form.asked.choices)
    record_export(request, pk, "measures", "zip")
    return attached(archive, ARCHIVE, f"measures-{pk}.zip")


def _campaign(request: HttpRequest, pk: int) -> Campaign:
    """A campaign that this account may read; another is not there."""
    return get_object_or_404(readable(person(request)).select_related("batch"), pk=pk)


def _query(request: HttpRequest) -> str:
    """The choices as they stand in the address, without those that were left empty."""
    query = request.GET.copy()
    for name in list(query):
        query.setlist(name, [value for value in query.getlist(name) if value])
    return query.urlencode()


def _refused(text: str) -> HttpResponse:
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")
