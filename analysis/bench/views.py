"""Page of the bench of a campaign's judges, and its numbers as a file."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.bench.document import bench_document
from analysis.bench.numbers import BENCH, BenchError, question
from analysis.pages import attached, options_query
from annotation.access import readable_campaign
from annotation.models import Campaign, Rater
from annotation.people.membership import exclusion_reasons
from annotation.presentation import schema
from audit.recording import record_export
from datasets.access import READERS, role_required
from datasets.work import pages as jobs
from datasets.work import results
from judging.access import blind_page
from tandem.labels.selection import MOST_RESAMPLES, ReportOptions
from tandem.options import check_bounds, options_of
from tandem.types import JSON

RESAMPLING = options_of(ReportOptions)[:2]


@require_safe
@role_required(*READERS)
def judge_bench(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the judges named in the address, or all with labels."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    named = request.GET.getlist("judge")
    context = {
        "campaign": campaign,
        "boxes": [(name, not named or name in named) for name in _judges(campaign)],
        "query": options_query(request),
    }
    try:
        options = _options(request)
    except BenchError as error:
        context["problem"] = str(error)
        return render(request, "reports/bench.html", context, status=422)
    job_options, page = question(campaign, named, options), request.path
    shown = jobs.result_or_progress(request, BENCH, job_options, page, page)
    if isinstance(shown, HttpResponse):
        return shown
    found = shown.value
    context["shown"] = shown
    if _has_judges(found):
        context["document"] = bench_document(found, schema(campaign).noun)
    name = "reports/_bench.html" if request.htmx else "reports/bench.html"  # type: ignore[attr-defined]
    refused = shown.status is not None and shown.status.job.state == "failed"
    return render(request, name, context, status=422 if refused else 200)


def _has_judges(found: JSON | None) -> bool:
    return found is not None and bool(found["judges"])


@require_safe
@role_required(*READERS)
def bench_file(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the numbers as JSON, as the command does."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    try:
        job_options = question(campaign, request.GET.getlist("judge"), _options(request))
    except BenchError as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    asked = jobs.follow(request, BENCH, job_options)
    if not asked.is_current:
        page = jobs.address_of(request, reverse("judge-bench", args=[pk]))
        return jobs.waiting_page(request, asked.job, page)
    try:
        found = results.value(asked.job)
    except results.GoneError:
        return redirect(request.get_full_path())
    record_export(request, pk, "bench", "json")
    text = json.dumps(found, indent=2) + "\n"
    return attached(text, "application/json", f"bench-{pk}.json")


def _options(request: HttpRequest) -> ReportOptions:
    """Read seed and resamples from the address. Raises BenchError."""
    given: dict[str, int] = {}
    for option in RESAMPLING:
        text = request.GET.get(option.name, "")
        if text and not (text.isascii() and text.isdigit() and len(text) < 10):
            raise BenchError(f"{option.name} is not a whole number; correct the address.")
        given |= {option.name: int(text)} if text else {}
    try:
        check_bounds(RESAMPLING, given)
    except ValueError as error:
        raise BenchError(str(error)) from error
    if given.get("resamples", 0) > MOST_RESAMPLES:
        raise BenchError(f"resamples is over {MOST_RESAMPLES}; correct the address.")
    return ReportOptions(seed=given.get("seed", 0), resamples=given.get("resamples"))


def _judges(campaign: Campaign) -> list[str]:
    """Return the judges that answered something in the campaign, by name."""
    there = Rater.objects.filter(kind=Rater.Kind.JUDGE, assignments__item__campaign=campaign)
    names = there.order_by("name").values_list("name", flat=True).distinct()
    out = exclusion_reasons(campaign.name)
    return [name for name in names if name not in out]
