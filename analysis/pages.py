"""Helpers of the pages of results and snapshots."""

from __future__ import annotations

from functools import partial

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from analysis.campaigns.report_job import FIGURE, figure_question, report_in
from annotation.models import Campaign
from audit.recording import record_export
from datasets.models import Job
from datasets.option_fields import form_fields
from datasets.work import pages as jobs
from datasets.work import results
from datasets.work.pages import options_of
from tandem.figures.files import FigureError, Look, NoFigureError, figure_file, figure_of
from tandem.options import options_of as declared
from tandem.options import values_of

LOOK = declared(Look)
BESIDE = ("of", *(option.name for option in LOOK))
"""The parameters of a figure's file in addition to the report's options."""


def options_query(request: HttpRequest) -> str:
    """Return the options in the address, without empty ones."""
    query = options_of(request)
    for name in list(query):
        query.setlist(name, [value for value in query.getlist(name) if value])
    return query.urlencode()


def report_address(campaign: Campaign, query: str) -> str:
    """Return the address of the current results with these options."""
    address = reverse("results", args=[campaign.pk])
    return f"{address}?{query}" if query else address


def attached(content: str | bytes, media_type: str, name: str) -> HttpResponse:
    """Return a text or bytes as a download."""
    response = HttpResponse(content, content_type=media_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


class LookForm(forms.Form):
    """The look of a figure's file, from an address."""

    def __init__(self, request: HttpRequest) -> None:
        given = {option.name: request.GET.get(option.name) or option.default for option in LOOK}
        super().__init__(given)
        self.fields.update(form_fields(LOOK))

    def problems(self) -> list[str]:
        """Return the errors, in sentences."""
        return [str(problem) for problems in self.errors.values() for problem in problems]


def figure_response(
    request: HttpRequest, job: Job, name: str, suffix: str, back: str
) -> HttpResponseBase:
    """Return a figure of a finished report as a file, or the page that waits for it.

    `of` in the address names the subject, such as a variable; by default it is the first suitable
    one.
    """
    form = LookForm(request)
    if not form.is_valid():
        return _plain("\n".join(form.problems()))
    look, of = Look(**values_of(LOOK, form.cleaned_data)), request.GET.get("of", "")
    pk = job.options["campaign"]
    try:
        report = report_in(job)
        figure, kind, subject = figure_of(report, name, suffix, of, look)
        record = partial(record_export, request, pk, f"figure-{figure.name}", suffix)
        if kind.slow:
            job_options = figure_question(job, name, suffix, subject.name, look)
            return jobs.file(request, FIGURE, job_options, back, record)
        made = figure_file(report, name, suffix, subject.name, look)
    except results.GoneError:
        return redirect(request.get_full_path())
    except NoFigureError as error:
        raise Http404(str(error)) from error
    except FigureError as error:
        return _plain(str(error))
    record()
    return attached(made.content, kind.media_type, f"{made.name}-{pk}.{suffix}")


def _plain(text: str) -> HttpResponse:
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")
