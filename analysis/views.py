"""The report's page: a frame at once, its numbers as soon as they are computed."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from analysis.figures import FIGURES, Figure, Subject, subjects
from analysis.figures.files import offered
from analysis.formats import FORMATS
from analysis.formats.building import document
from analysis.formats.robustness import robustness_document
from analysis.reports import Choices, campaign_report
from analysis.robustness import sheet
from annotation.models import Campaign, User
from datasets.access import role_required
from judging.models import JudgeRun

READERS = (User.Role.RESEARCHER, User.Role.ADMIN)


@require_safe
@role_required(*READERS)
def report(request: HttpRequest, pk: int) -> HttpResponse:
    context = {"campaign": _campaign(pk), "formats": FORMATS.values()}
    return render(request, "reports/report.html", context)


@require_safe
@role_required(*READERS)
def body(request: HttpRequest, pk: int) -> HttpResponse:
    """The numbers, as a part of the page."""
    campaign = _campaign(pk)
    found = campaign_report(campaign, Choices())
    context = {"campaign": campaign, "report": found, "document": document(found)}
    return render(request, "reports/body.html", context)


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int, suffix: str) -> HttpResponse:
    """The report as a file, in the format of that ending."""
    chosen = next(each for each in FORMATS.values() if each.suffix == suffix)
    text = chosen.render(campaign_report(_campaign(pk), Choices()))
    response = HttpResponse(text, content_type=chosen.media_type)
    response["Content-Disposition"] = f'attachment; filename="report-{pk}.{suffix}"'
    return response


@require_safe
@role_required(*READERS)
def figure(request: HttpRequest, pk: int, name: str, suffix: str) -> HttpResponse:
    """A figure as a file; `of` in the address names the variable or score that it is drawn of.

    Without it the first one that it can be drawn of.
    """
    campaign = _campaign(pk)
    chosen = next((each for each in offered() if each.suffix == suffix), None)
    if name not in FIGURES or chosen is None:
        raise Http404("No such figure, or not as such a file.")
    drawn, subject = FIGURES[name], request.GET.get("of", "")
    found = _subject(drawn, campaign_report(campaign, Choices()), subject)
    response = HttpResponse(chosen.render(drawn, found), content_type=chosen.media_type)
    file_name = f"{drawn.name}-{slugify(found.name) or 'figure'}-{pk}.{suffix}"
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


def _subject(drawn: Figure, report: dict[str, Any], name: str) -> Subject:
    for subject in subjects(report, drawn):
        if name in ("", subject.name):
            return subject
    raise Http404("This report has nothing that the figure could be drawn of.")


@require_safe
@role_required(*READERS)
def robustness(request: HttpRequest, pk: int) -> HttpResponse:
    """The robustness sheet of a run's judge over its campaign; of a trial, that of its base."""
    run = get_object_or_404(JudgeRun.objects.select_related("campaign", "judge__base"), pk=pk)
    judge = run.judge.base or run.judge
    found = robustness_document(sheet(run.campaign, judge))
    context = {"run": run, "judge": judge, "campaign": run.campaign, "document": found}
    return render(request, "reports/robustness.html", context)


def _campaign(pk: int) -> Campaign:
    return get_object_or_404(Campaign.objects.select_related("batch"), pk=pk)
