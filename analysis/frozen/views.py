"""Pages of snapshots, and of two reports side by side."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from analysis.campaigns.frames import available_options, campaign_strata
from analysis.campaigns.report_job import REPORT, question
from analysis.forms import ReportForm
from analysis.frozen.compare import comparison_document
from analysis.frozen.store import frozen_reports, revoked_since, saw_snapshot
from analysis.models import FrozenReport
from analysis.pages import (
    attached,
    report_address,
)
from annotation.access import get_account
from annotation.people.membership import readable
from audit.recording import record_export
from datasets.access import READERS, role_required
from datasets.work.pages import PageResult
from datasets.work.pages import result_or_progress as show
from judging.access import blind_page
from tandem.formats import FORMATS
from tandem.sections.contents import document

LIVE = "live"


@require_safe
@role_required(*READERS)
def frozen(request: HttpRequest, key: str) -> HttpResponse:
    """Render a snapshot."""
    found = _frozen(request, key)
    if blind := blind_page(request, found.campaign):
        return blind
    saw_snapshot(found)
    report = found.report
    context = {
        "frozen": found,
        "report": report,
        "revoked": revoked_since(found),
        "document": document(report),
        "formats": FORMATS.values(),
        "others": frozen_reports(found.campaign).exclude(pk=found.pk),
        "live": report_address(found.campaign, found.choices),
    }
    return render(request, "reports/frozen.html", context)


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, key: str, suffix: str) -> HttpResponse:
    """Return a snapshot as a file; as JSON it is exactly the stored text."""
    found = _frozen(request, key)
    if blind := blind_page(request, found.campaign):
        return blind
    saw_snapshot(found)
    chosen = next(each for each in FORMATS.values() if each.suffix == suffix)
    text = found.content if suffix == "json" else chosen.render(found.report)
    record_export(request, found.campaign_id, "report", suffix, ("frozenreport", found.key))
    return attached(text, chosen.media_type, f"report-{found.key}.{suffix}")


@require_safe
@role_required(*READERS)
def compare(request: HttpRequest, key: str) -> HttpResponse:
    """Compare a snapshot with another, the earlier first, or with the current report."""
    found = _frozen(request, key)
    if blind := blind_page(request, found.campaign):
        return blind
    name = request.GET.get("with") or LIVE
    before, after, newer = found, None, None
    if name == LIVE:
        shown = _live(request, found)
        if isinstance(shown, HttpResponse):
            return shown
        newer = shown.value["report"] if shown and shown.value else None
    else:
        other = get_object_or_404(FrozenReport, key=name, campaign=found.campaign)
        before, after = sorted((found, other), key=lambda report: report.pk)
        shown, newer = None, after.report
    for each in (before, after):
        if each is not None:
            saw_snapshot(each)
    context = {
        "frozen": found,
        "before": before,
        "after": after,
        "document": comparison_document(before.report, newer) if newer else None,
        "live": report_address(found.campaign, found.choices),
        "shown": shown,
    }
    name = "reports/_compare.html" if request.htmx else "reports/compare.html"  # type: ignore[attr-defined]
    return render(request, name, context)


def _frozen(request: HttpRequest, key: str) -> FrozenReport:
    theirs = FrozenReport.objects.filter(campaign__in=readable(get_account(request)))
    return get_object_or_404(theirs.select_related("campaign__batch"), key=key)


def _live(request: HttpRequest, found: FrozenReport) -> PageResult | HttpResponse | None:
    """Return the current report, or None if the snapshot's options are no longer valid."""
    campaign = found.campaign
    offered = available_options(campaign, campaign_strata(campaign))
    form = ReportForm(QueryDict(found.choices), offered)
    if not form.is_valid():
        return None
    same = replace(form.options, resamples=found.report["resamples"])
    return show(request, REPORT, question(campaign, same), request.path, request.path)
