"""Pages of the report: the frame at once, and the numbers when they are computed."""

from __future__ import annotations

import time
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from analysis.campaigns.cache import computed_report, labels_since
from analysis.campaigns.frames import available_options, campaign_strata
from analysis.figures import FIGURES, Figure, Subject, subjects
from analysis.figures.files import available_kinds
from analysis.formats import FORMATS
from analysis.formats.build import document, moment
from analysis.forms import ReportForm
from analysis.frozen.store import UnequalError, as_frozen, freeze, frozen_reports
from analysis.pages import (
    attached,
    options_query,
)
from analysis.robustness.document import robustness_document
from analysis.robustness.sheet import sheet
from annotation.access import get_account, is_blind, managed_campaign, readable_campaign
from annotation.models import Campaign
from audit.recording import record_export
from datasets.access import READERS, role_required
from judging.access import blind_page, visible_runs

STOP_POLLING = 286  # htmx's own status
LONGEST_POLLED = 2 * 3600


@require_safe
@role_required(*READERS)
def report(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the frame of the page with its options; wrong ones are reported instead of numbers."""
    campaign = readable_campaign(request, pk)
    form = _form(request, campaign)
    context = {
        "campaign": campaign,
        "formats": FORMATS.values(),
        "form": form,
        "query": options_query(request),
        "frozen": frozen_reports(campaign),
    }
    return render(request, "reports/report.html", context, status=200 if form.is_valid() else 422)


@require_safe
@role_required(*READERS)
def body(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the numbers, as a part of the page."""
    campaign = readable_campaign(request, pk)
    form = _form(request, campaign)
    if not form.is_valid():
        return _refused(form)
    if is_blind(get_account(request), campaign):
        return render(request, "reports/_blind.html", {"campaign": campaign})
    found = computed_report(campaign, form.options)
    context = {
        "report": found.report,
        "document": document(found.report),
        "campaign": campaign,
        "query": options_query(request),
        "newest": found.newest,
        "opened": int(time.time()),
        "moment": moment(found.report),
    }
    return render(request, "reports/body.html", context)


@require_safe
@role_required(*READERS)
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """Render how many labels are newer than the page's numbers; empty if it says so already."""
    campaign = readable_campaign(request, pk)
    since, opened, shown = (_number(request, name) for name in ("since", "opened", "shown"))
    number = labels_since(campaign, since)
    if opened and time.time() - opened > LONGEST_POLLED:
        return HttpResponse(status=STOP_POLLING)
    if "shown" in request.GET and number == shown:
        return HttpResponse(status=204)
    query = request.GET.copy()
    for name in ("since", "opened", "shown"):
        query.pop(name, None)
    context = {"campaign": campaign, "query": query.urlencode(), "newest": since}
    return render(request, "reports/_since.html", {**context, "number": number, "opened": opened})


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int, suffix: str) -> HttpResponse:
    """Return the report as a file, in the format of that suffix."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = _form(request, campaign)
    if not form.is_valid():
        return _refused(form)
    chosen = next(each for each in FORMATS.values() if each.suffix == suffix)
    text = chosen.render(computed_report(campaign, form.options).report)
    record_export(request, pk, "report", suffix)
    return attached(text, chosen.media_type, f"report-{pk}.{suffix}")


@require_POST
@role_required(*READERS)
def freeze_report(request: HttpRequest, pk: int) -> HttpResponse:
    """Store the numbers on the page as a snapshot; if labels are newer, show their number first."""
    campaign = managed_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = _form(request, campaign)
    if not form.is_valid():
        return _refused(form)
    computed = computed_report(campaign, as_frozen(form.options))
    found = computed.report
    if found["inputs"]["sha256"] != request.POST.get("inputs"):
        context = {"campaign": campaign, "query": options_query(request)}
        return render(request, "reports/changed.html", context, status=409)
    try:
        query, user = options_query(request), get_account(request)
        made = freeze(campaign, found, query, user, computed.looks)
    except UnequalError as error:
        context = {"campaign": campaign, "query": options_query(request), "problem": error}
        return render(request, "reports/unequal.html", context, status=409)
    return redirect("frozen", key=made.key)


@require_safe
@role_required(*READERS)
def figure(request: HttpRequest, pk: int, name: str, suffix: str) -> HttpResponse:
    """Return a figure as a file; `of` in the address names the variable or score that it shows.

    Without `of` it is the first one that the figure suits.
    """
    campaign = readable_campaign(request, pk)
    chosen = next((each for each in available_kinds() if each.suffix == suffix), None)
    if name not in FIGURES or chosen is None:
        raise Http404("No such figure, or not as such a file.")
    if blind := blind_page(request, campaign):
        return blind
    form = _form(request, campaign, "of")
    if not form.is_valid():
        return _refused(form)
    drawn, subject = FIGURES[name], request.GET.get("of", "")
    found = _subject(drawn, computed_report(campaign, form.options).report, subject)
    content = chosen.render(drawn, found)
    record_export(request, pk, f"figure-{drawn.name}", suffix)
    file_name = f"{drawn.name}-{slugify(found.name) or 'figure'}-{pk}.{suffix}"
    return attached(content, chosen.media_type, file_name)


def _subject(drawn: Figure, report: dict[str, Any], name: str) -> Subject:
    for subject in subjects(report, drawn):
        if name in ("", subject.name):
            return subject
    raise Http404("This report has no data for the figure.")


@require_safe
@role_required(*READERS)
def robustness(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the robustness sheet of a run's judge over its campaign; of a trial, its base's."""
    run = get_object_or_404(
        visible_runs(get_account(request)).select_related("judge__base", "campaign__batch"), pk=pk
    )
    if blind := blind_page(request, run.campaign):
        return blind
    judge = run.judge.base or run.judge
    found = robustness_document(sheet(run.campaign, judge))
    context = {"run": run, "judge": judge, "campaign": run.campaign, "document": found}
    return render(request, "reports/robustness.html", context)


def _form(request: HttpRequest, campaign: Campaign, *beside: str) -> ReportForm:
    """Return the options in the address, apart from the parameters `beside`."""
    query = request.GET.copy()
    for name in beside:
        query.pop(name, None)
    return ReportForm(query, available_options(campaign, campaign_strata(campaign)))


def _refused(form: ReportForm) -> HttpResponse:
    text = "\n".join(form.problems())
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")


def _number(request: HttpRequest, name: str) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
