"""API endpoint of figures of a campaign's report and measures, as files."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from analysis.campaigns.report_job import FIGURE, REPORT, figure_key, figure_question, report_in
from analysis.campaigns.report_job import question as report_question
from analysis.evaluation.measures_job import MEASURES
from analysis.evaluation.measures_job import question as measures_question
from analysis.evaluation.selection import MeasuresOptions, resolve_options
from analysis.pages import attached
from annotation.access import get_account
from annotation.api.access import readable_unless_blind
from annotation.api.exports import FormatOfAddress
from annotation.models import Campaign
from audit.recording import record_export
from datasets.api.concurrency import PerReport
from datasets.api.routes import JobKey, Routes, finished_job, given
from datasets.option_fields import OptionFields
from datasets.work.pages import send_file
from tandem.figures import FIGURES
from tandem.figures.files import (
    FILES,
    FigureError,
    Look,
    NoFigureError,
    figure_file,
    figure_of,
)
from tandem.labels.selection import ReportOptions
from tandem.options import options_of, values_of

api = Routes("studies")

LOOK = options_of(Look)
NAME = OpenApiParameter(
    "name", str, OpenApiParameter.PATH, enum=list(FIGURES), description="which figure"
)
FORM = OpenApiParameter(
    "form", str, OpenApiParameter.PATH, enum=list(FILES), description="file format"
)
KINDS: dict[Any, Any] = {
    (200, kind.media_type.partition(";")[0]): OpenApiTypes.BINARY for kind in FILES.values()
}
LONGEST = 500


class FigureQuery(JobKey, OptionFields):
    """The subject and look of a figure's file, and optionally the job that wrote it."""

    options = LOOK

    of = serializers.CharField(
        required=False,
        default="",
        max_length=LONGEST,
        help_text="the variable, score or measure; by default the first that the figure suits",
    )


@api.get(
    "campaigns/<int:pk>/figures/<slug:name>/<slug:form>/",
    "Download a figure",
    "A figure of the current report with its default options, or of the papers' measures: the "
    "same file as on the page and by `figure`. As SVG, PDF or PNG it can be in black and white "
    "and as wide as a column or the text of a paper. 202 with a job if the report or the file "
    "takes more than 20 seconds; repeat the request then. 422 if it does not fit such a width.",
    KINDS,
    name="figure",
    takes=FigureQuery,
    job=True,
    raises={NoFigureError: Http404, FigureError: 422},
    parameters=[NAME, FORM],
    throttles=(PerReport,),
    view={"content_negotiation_class": FormatOfAddress},
)
def figures_read(request: Request, pk: int, name: str, form: str) -> Any:
    campaign, sent = readable_unless_blind(request, pk), given(request)
    if name not in FIGURES or form not in FILES:
        raise Http404
    computed = finished_job(request, *_question(request, campaign, name))
    look, report = Look(**values_of(LOOK, sent)), report_in(computed)
    figure, kind, subject = figure_of(report, name, form, sent.get("of", ""), look)
    if not kind.slow:
        made = figure_file(report, name, form, subject.name, look)
        record_export(request, pk, f"figure-{figure.name}", form)
        return attached(made.content, kind.media_type, f"{made.name}-{pk}.{form}")
    asked = figure_question(computed, name, form, subject.name, look)
    job = finished_job(request, FIGURE, asked, figure_key(sent.get("job")))
    record_export(request, pk, f"figure-{figure.name}", form)
    return send_file(request._request, job)


def _question(request: Request, campaign: Campaign, name: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and question of the job that computes the figure's report."""
    if FIGURES[name].of_measures:
        options = resolve_options(get_account(request), campaign, MeasuresOptions(), {})
        return MEASURES, measures_question(campaign, options)
    return REPORT, report_question(campaign, ReportOptions())
