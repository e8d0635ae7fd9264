"""The report as a file, its figures and snapshots, and robustness sheets. Jobs compute them all."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from analysis.campaigns.frames import offered_options
from analysis.campaigns.report_job import REPORT, question
from analysis.forms import ReportForm
from analysis.frozen.store import SNAPSHOT
from analysis.frozen.store import question as snapshot_question
from analysis.pages import (
    BESIDE,
    attached,
    figure_response,
    options_query,
    report_address,
)
from analysis.robustness.document import robustness_document
from analysis.robustness.sheet import ROBUSTNESS
from analysis.robustness.sheet import question as robustness_question
from annotation.access import get_account, managed_campaign, readable_campaign
from annotation.models import Campaign
from annotation.presentation import schema
from audit.recording import record_export
from datasets.access import READERS, role_required, wants_data
from datasets.models import Job
from datasets.work import pages as jobs
from datasets.work import queue, results
from judging.access import blind_page, visible_runs
from tandem.figures import FIGURES
from tandem.figures.files import available_kinds
from tandem.formats import FORMATS


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int, suffix: str) -> HttpResponse:
    """Return the report as a file, in the format of that suffix."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = _form(request, campaign)
    if not form.is_valid():
        return _form_errors(form)
    found = _current(request, campaign, form)
    if isinstance(found, HttpResponse):
        return found
    chosen = next(each for each in FORMATS.values() if each.suffix == suffix)
    text = chosen.render(found)
    record_export(request, pk, "report", suffix)
    return attached(text, chosen.media_type, f"report-{pk}.{suffix}")


def _current(
    request: HttpRequest, campaign: Campaign, form: ReportForm
) -> dict[str, Any] | HttpResponse:
    """Return the current report, or the page that waits for it."""
    job = _current_job(request, campaign, form)
    if isinstance(job, HttpResponse):
        return job
    try:
        report: dict[str, Any] = results.value(job)["report"]
    except results.GoneError:
        return redirect(request.get_full_path())
    return report


def _current_job(request: HttpRequest, campaign: Campaign, form: ReportForm) -> Job | HttpResponse:
    """Return the finished job of the current report, or the page that waits for it."""
    asked = jobs.follow(request, REPORT, question(campaign, form.options))
    back = report_address(campaign, options_query(request))
    return asked.job if asked.is_current else jobs.waiting_page(request, asked.job, back)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def freeze_report(request: HttpRequest, pk: int) -> HttpResponse:
    """Store the numbers on the page as a snapshot. Newer labels are announced first.

    A GET shows the job that stores it or its snapshot, and the results before there is a job.
    """
    campaign = managed_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    form = _form(request, campaign)
    if not form.is_valid():
        return _form_errors(form)
    query, user = options_query(request), get_account(request)
    if request.method == "POST":
        inputs = request.POST.get("inputs", "")
        job_options = snapshot_question(campaign, form.options, inputs, query, user)
        job = jobs.follow(request, SNAPSHOT, job_options).job
        if job.state in queue.ACTIVE and not wants_data(request):
            # So that the address of the page that waits can be reloaded, kept and sent.
            return redirect(jobs.address_with_job(jobs.address_of(request), job))
        return _stored(request, campaign, job)
    own = Job.objects.filter(kind=SNAPSHOT, options__user=user.pk, options__campaign=pk)
    if key := request.GET.get("job", ""):
        return _stored(request, campaign, get_object_or_404(own, key=key))
    newest = own.filter(options__query=query).order_by("-pk").first()
    if newest is None:
        return redirect(report_address(campaign, query))
    return _stored(request, campaign, newest)


def _stored(request: HttpRequest, campaign: Campaign, job: Job) -> HttpResponse:
    """Show the result of a snapshot's job."""
    query = options_query(request)
    if not results.has_result(job):
        return jobs.waiting_page(request, job, report_address(campaign, query))
    found, context = results.value(job), {"campaign": campaign, "query": query}
    if "current" in found:
        return render(request, "reports/changed.html", context, status=409)
    if "unequal" in found:
        context["problem"] = found["unequal"]
        return render(request, "reports/unequal.html", context, status=409)
    return redirect("frozen", key=found["key"])


@require_safe
@role_required(*READERS)
def figure(request: HttpRequest, pk: int, name: str, suffix: str) -> HttpResponseBase:
    """Return a figure as a file. `of` in the address names the variable or score."""
    campaign = readable_campaign(request, pk)
    if name not in FIGURES or suffix not in {each.suffix for each in available_kinds()}:
        raise Http404("No such figure, or not as such a file.")
    if blind := blind_page(request, campaign):
        return blind
    form = _form(request, campaign, *BESIDE)
    if not form.is_valid():
        return _form_errors(form)
    job = _current_job(request, campaign, form)
    if isinstance(job, HttpResponse):
        return job
    back = report_address(campaign, options_query(request))
    return figure_response(request, job, name, suffix, back)


@require_safe
@role_required(*READERS)
def robustness(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the robustness sheet of a run's judge, or of a trial's base, over the campaign."""
    run = get_object_or_404(
        visible_runs(get_account(request)).select_related("judge__base", "campaign__batch"), pk=pk
    )
    if blind := blind_page(request, run.campaign):
        return blind
    judge, page = run.judge.base or run.judge, request.path
    job_options = robustness_question(run.campaign, judge)
    shown = jobs.result_or_progress(request, ROBUSTNESS, job_options, page, page)
    if isinstance(shown, HttpResponse):
        return shown
    noun = schema(run.campaign).noun
    found = robustness_document(shown.value, noun) if shown.value else None
    context = {"run": run, "judge": judge, "campaign": run.campaign, "document": found}
    name = "reports/_robustness.html" if request.htmx else "reports/robustness.html"  # type: ignore[attr-defined]
    return render(request, name, {**context, "shown": shown})


def _form(request: HttpRequest, campaign: Campaign, *beside: str) -> ReportForm:
    """Return the options in the address, ignoring the parameters in `beside`."""
    query = jobs.options_of(request, *beside)
    return ReportForm(query, offered_options(campaign))


def _form_errors(form: ReportForm) -> HttpResponse:
    text = "\n".join(form.problems())
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")
