"""The page Results: the last numbers at once, parts of it for htmx, and redirects to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from analysis.attention.checks import quiet_value
from analysis.campaigns.cache import labels_since
from analysis.campaigns.frames import offered_options
from analysis.campaigns.report_job import REPORT
from analysis.campaigns.report_job import question as report_question
from analysis.evaluation.display import DisplayOptions
from analysis.evaluation.measures_job import BATCH_MEASURES, batch_question
from analysis.evaluation.measures_job import MEASURES as MEASURES_JOB
from analysis.evaluation.measures_job import question as measures_question
from analysis.evaluation.rendering import FORMATS as FORMATS_OF_MEASURES
from analysis.evaluation.rendering import texts_document
from analysis.evaluation.selection import MeasuresForm
from analysis.evaluation.views import board_views, measures_context
from analysis.forms import ReportForm
from analysis.frozen.store import frozen_reports
from analysis.results.address import (
    ALL,
    LIVE,
    MEASURES,
    OWN,
    SORT,
    SYSTEMS,
    Address,
    address_of,
    filters_of,
)
from analysis.results.by_query import QUERIES, by_query_context
from analysis.results.guideline import guideline_points
from analysis.results.label_first import chosen_items_of, label_first_lists, list_of, sentences
from annotation.access import (
    get_account,
    is_blind,
    managed_campaign,
    open_campaigns,
    readable_campaign,
)
from annotation.campaigns.design import DesignError
from annotation.exposure.ledger import exposes
from annotation.models import Campaign
from annotation.people.membership import may_manage
from annotation.views.new_campaign import begin_chosen
from datasets.access import READERS, role_required, visible_batches
from datasets.models import Job
from datasets.text import as_sentence, number_in
from datasets.work import pages as jobs
from datasets.work import results as job_results
from judging.access import blind_page
from tandem.crosscheck.process import skipped_crosscheck
from tandem.document import Document, Section
from tandem.figures import FIGURES, subjects
from tandem.figures.files import available_kinds
from tandem.formats import FORMATS
from tandem.sections.base import PEOPLE as PEOPLE_SECTION
from tandem.sections.contents import describe_options, document
from tandem.sections.guidelines import GUIDELINE
from tandem.types import JSON

STOP_POLLING = 286  # htmx's own status
LONGEST_POLLED = 2 * 3600
Found = dict[str, Any]


@dataclass(frozen=True)
class ResultsRequest:
    """A campaign with the options of an address, as forms."""

    campaign: Campaign
    address: Address
    report: ReportForm
    measures: MeasuresForm

    @classmethod
    def of(cls, request: HttpRequest, campaign: Campaign) -> ResultsRequest:
        address = address_of(request)
        available = offered_options(campaign)
        form = MeasuresForm(address.measures, get_account(request), campaign)
        return cls(campaign, address, ReportForm(address.report, available), form)

    def problems(self) -> list[str]:
        """Return error messages about the options."""
        forms = [self.report, *([self.measures] if self.address.shown else [])]
        return list(dict.fromkeys(text for form in forms for text in form.problems()))

    def context(self) -> Found:
        address = self.address
        return {
            "campaign": self.campaign,
            "form": self.report,
            "measures_form": self.measures,
            "formats": FORMATS.values(),
            "formats_of_measures": FORMATS_OF_MEASURES.values(),
            "query": address.report.urlencode(),
            "filters": filters_of(address.report),
            "measures_query": address.measures.urlencode(),
            "whole_query": address.whole.urlencode(),
            "frozen": frozen_reports(self.campaign),
            "problems": self.problems(),
        }


@require_safe
@role_required(*READERS)
def results(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the page, or the part that htmx asks for; wrong options are reported instead."""
    campaign = readable_campaign(request, pk)
    part = PARTS.get((request.htmx.target or "") if request.htmx else "", _page)  # type: ignore[attr-defined]
    return part(request, campaign)


def _page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    asked = ResultsRequest.of(request, campaign)
    context = asked.context()
    if context["problems"]:
        return render(request, "results/results.html", context, status=422)
    numbers = _numbers(request, asked)
    if isinstance(numbers, HttpResponse):
        return numbers
    measures = _measures(request, asked) if asked.address.shown else {}
    if isinstance(measures, HttpResponse):
        return measures
    is_sorted = SORT in request.GET and not numbers.get("blind")
    queries = by_query_context(request, campaign) if is_sorted else {}
    if isinstance(queries, HttpResponse):
        return queries
    context |= {**numbers, "measures": {**context, **measures}, "queries": {**context, **queries}}
    opened = {"systems": asked.address.shown, QUERIES: is_sorted}
    context["open_sections"] = [name for name, is_open in opened.items() if is_open]
    return render(request, "results/results.html", context)


def _report_part(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    asked = ResultsRequest.of(request, campaign)
    context = asked.context()
    if context["problems"]:
        return _refused(context["problems"])
    numbers = _numbers(request, asked)
    if isinstance(numbers, HttpResponse):
        return numbers
    parts = {"measures": context, "queries": context}
    return render(request, "results/_report.html", {**context, **numbers, **parts})


def _measures_part(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    asked = ResultsRequest.of(request, campaign)
    context = asked.context()
    if problems := asked.measures.problems():
        return _refused(problems)
    found = _measures(request, asked)
    if isinstance(found, HttpResponse):
        return found
    return render(request, "results/_measures.html", {**context, **found})


def _queries_part(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if is_blind(get_account(request), campaign):
        return HttpResponse(status=STOP_POLLING)
    found = by_query_context(request, campaign)
    if isinstance(found, HttpResponse):
        return found
    return render(request, "results/_by_query.html", found)


def _numbers(request: HttpRequest, asked: ResultsRequest) -> Found | HttpResponse:
    """Return the page's context for the report, or a response without a page."""
    campaign = asked.campaign
    if is_blind(get_account(request), campaign):
        return {"blind": True}
    page, job_options = request.path, report_question(campaign, asked.report.options)
    shown = jobs.result_or_progress(request, REPORT, job_options, page, page)
    if isinstance(shown, HttpResponse):
        return shown
    if shown.value is None:
        return {"shown": shown}
    found = shown.value["report"]
    return {
        "shown": shown,
        "report": found,
        "document": _document(campaign, found),
        "figures": [
            (figure, subject.name)
            for figure in FIGURES.values()
            for subject in subjects(found, figure)
        ],
        "kinds": available_kinds(),
        "newest": shown.value["newest"],
        "polled": shown.job if shown.is_checking else None,
        "exposes": _exposes(request, campaign, shown),
        "opened": int(time.time()),
        "manages": may_manage(get_account(request), campaign.pk),
        "has_labels": any(rater["labels"] for rater in found["raters"]),
        "chosen": describe_options(found["choices"]) if asked.address.report else [],
    }


def _document(campaign: Campaign, report: JSON) -> Document:
    """Return the report with the page's own parts: agreement by query, and the guideline's use."""
    made = document(report)
    is_compared = any(each.name == GUIDELINE for each in made.sections)
    points = tuple(guideline_points(campaign, is_compared))
    sections = []
    for each in made.sections:
        if each.name == GUIDELINE:
            each = replace(each, points=(*points, *each.points))
        sections.append(each)
        if each.name == PEOPLE_SECTION:
            sections.append(Section("By query", (), name=QUERIES))
            if not is_compared:
                sections.append(Section("Guideline", (), points=points, name=GUIDELINE))
    return replace(made, sections=tuple(sections))


def _check_part(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Render what has become of the check of a report on the page."""
    ours = Job.objects.filter(kind=REPORT, options__campaign=campaign.pk)
    job = ours.filter(key=request.GET.get("job", "")).first()
    if job is None or is_blind(get_account(request), campaign):
        return HttpResponse(status=STOP_POLLING)
    if job.state == Job.State.RUNNING:
        return HttpResponse(status=204)
    found = quiet_value(job) if job.state == Job.State.DONE else None
    check = found["report"]["check"] if found else skipped_crosscheck(job.error or "it ended early")
    return render(
        request, "results/_badge.html", {"campaign": campaign, "report": {"check": check}}
    )


def _exposes(request: HttpRequest, campaign: Campaign, shown: jobs.PageResult) -> bool:
    """Return whether reading the page marks this person's later labels as exposed."""
    notes = shown.job.result.get("notes", ()) if shown.job else ()
    mine = open_campaigns(get_account(request)).filter(pk=campaign.pk)
    return exposes(notes, campaign) and mine.exists()


def _measures(request: HttpRequest, asked: ResultsRequest) -> Found | HttpResponse:
    """Return the page's context for the measures, or a response without a page."""
    campaign, form, page = asked.campaign, asked.measures, request.path
    if is_blind(get_account(request), campaign):
        return {"blind": True}
    job_options = measures_question(campaign, form.resolved)
    shown = jobs.result_or_progress(request, MEASURES_JOB, job_options, page, page, "#measures")
    if isinstance(shown, HttpResponse):
        return shown
    return {
        "shown": shown,
        "every": asked.address.shown == ALL,
        **measures_context(shown.value, form, asked.address.whole, asked.address.shown != ALL),
    }


def _live_part(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Render the number of labels newer than the page's numbers.

    Empty if the page already says so.
    """
    since, opened, shown = (_number(request, name) for name in LIVE)
    number = labels_since(campaign, since)
    if opened and time.time() - opened > LONGEST_POLLED:
        return HttpResponse(status=STOP_POLLING)
    if "shown" in request.GET and number == shown:
        return HttpResponse(status=204)
    context = {"campaign": campaign, "query": jobs.options_of(request, *LIVE).urlencode()}
    context |= {"newest": since, "number": number, "opened": opened}
    return render(request, "results/_since.html", context)


PARTS: dict[str, Callable[[HttpRequest, Campaign], HttpResponse]] = {
    "report": _report_part,
    "measures": _measures_part,
    "queries": _queries_part,
    "since": _live_part,
    "check": _check_part,
}
"""The parts of the page by the element that htmx replaces."""


OF, UNITS = "of", "units"


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def label_first(request: HttpRequest, pk: int) -> HttpResponse:
    """Preview a campaign over the units to label first. Create it on POST.

    `of` is the variable and `units` how many units; the other parameters are the report's options.
    """
    campaign = managed_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    given = jobs.options_of(request, OF, UNITS)
    form = ReportForm(given, offered_options(campaign))
    if problems := form.problems():
        return _refused(problems)
    asked = jobs.follow(request, REPORT, report_question(campaign, form.options))
    back = f"{reverse('results', args=[pk])}?{given.urlencode()}".rstrip("?")
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, back)
    try:
        report = job_results.value(asked.job)["report"]
    except job_results.GoneError:
        return redirect(request.get_full_path())
    return _label_first(request, campaign, report, {"back": back, "kept": _pairs(given)})


def _pairs(given: QueryDict) -> list[tuple[str, str]]:
    return [(name, value) for name, values in given.lists() for value in values]


def _label_first(
    request: HttpRequest, campaign: Campaign, report: JSON, context: Found
) -> HttpResponse:
    lists = label_first_lists(report)
    context |= {"campaign": campaign, "variables": [each.variable for each in lists]}
    try:
        whole = list_of(report, request.GET.get(OF, ""))
        number = _number(request, UNITS) or len(whole.units)
        chosen = chosen_items_of(campaign, whole._replace(units=whole.units[:number]))
    except DesignError as error:
        context["problem"] = as_sentence(error)
        return render(request, "results/label_first.html", context, status=422)
    if request.method == "POST":
        return begin_chosen(request, chosen)
    context |= {"chosen": chosen, "sentences": sentences(chosen), "variable": whole.variable}
    context |= {"most": len(whole.units), "query": jobs.options_of(request).urlencode()}
    return render(request, "results/label_first.html", context)


@require_safe
@role_required(*READERS)
def batch_measures(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the measures of a batch without labels."""
    batch = get_object_or_404(visible_batches(get_account(request)), pk=pk)
    shown = jobs.result_or_progress(
        request, BATCH_MEASURES, batch_question(batch), request.path, request.path
    )
    if isinstance(shown, HttpResponse):
        return shown
    context = {"batch": batch, "shown": shown}
    if found := shown.value:
        boards = board_views(found, DisplayOptions(), QueryDict())
        context |= {"report": found, "boards": boards, "document": texts_document(found)}
    name = "results/_batch.html" if request.htmx else "results/batch.html"  # type: ignore[attr-defined]
    return render(request, name, context)


@require_safe
@role_required(*READERS)
def old_report(request: HttpRequest, pk: int) -> HttpResponse:
    """Redirect from the report's address in earlier versions to the page."""
    readable_campaign(request, pk)
    return _redirect(request, pk)


@require_safe
@role_required(*READERS)
def old_measures(request: HttpRequest, pk: int) -> HttpResponse:
    """Redirect from the measures' address in earlier versions to the page's open measures."""
    readable_campaign(request, pk)
    answer = _redirect(request, pk, {MEASURES: OWN})
    answer["Location"] += SYSTEMS
    return answer


def _redirect(request: HttpRequest, pk: int, more: dict[str, str] | None = None) -> HttpResponse:
    query = request.GET.copy()
    for name, value in (more or {}).items():
        query[name] = value
    path = reverse("results", args=[pk])
    return HttpResponsePermanentRedirect(f"{path}{'?' if query else ''}{query.urlencode()}")


def _refused(problems: list[str]) -> HttpResponse:
    text = "\n".join(problems)
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")


def _number(request: HttpRequest, name: str) -> int:
    return number_in(request.GET.get(name, ""))
