"""API endpoint of figures of a campaign's report and measures, as files."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from analysis.campaigns.jobs import FIGURE, REPORT, figure_key, figure_question, report_in
from analysis.campaigns.jobs import question as report_question
from analysis.evaluation.jobs import MEASURES
from analysis.evaluation.jobs import question as measures_question
from analysis.evaluation.selection import MeasuresOptions, resolve_options
from analysis.pages import attached
from annotation.access import get_account, readable_campaign
from annotation.api.access import check_blind
from annotation.api.exports import FormatOfAddress
from annotation.models import Campaign
from audit.recording import record_export
from datasets.access import READERS
from datasets.api.base import Resource, describe_endpoint
from datasets.api.errors import RefusedBodyError
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.permissions import READ
from datasets.api.throttling import PerReport
from datasets.jobs.pages import send_file
from datasets.models import Job
from datasets.option_fields import serializer_fields
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


class FigureQuery(JobKey):
    """The subject and look of a figure's file, and optionally the job that wrote it."""

    of = serializers.CharField(
        required=False,
        default="",
        max_length=LONGEST,
        help_text="the variable, score or measure; by default the first that the figure suits",
    )

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **serializer_fields(LOOK)}


class CampaignFigure(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = FigureQuery
    content_negotiation_class = FormatOfAddress

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @describe_endpoint(
        "Download a figure",
        "A figure of the current report with its default options, or of the papers' measures: the "
        "same file as on the page and by `figure`. As SVG, PDF or PNG it can be in black and white "
        "and as wide as a column or the text of a paper. 202 with a job if the report or the file "
        "takes more than 20 seconds; repeat the request then. 422 if it does not fit such a width.",
        KINDS | {202: JobSerializer},
        tag="studies",
        example="division,part,rater,units,kappa\n",
        refuses=(422,),
        parameters=[NAME, FORM, FigureQuery],
        operation_id="figures_read",
    )
    def get(self, request: Request, pk: int, name: str, form: str) -> HttpResponseBase:
        campaign = readable_campaign(request, pk)
        check_blind(get_account(request), campaign)
        if name not in FIGURES or form not in FILES:
            raise Http404
        computed = current_job(request, *_question(request, campaign, name))
        if computed is None:
            return accepted_response(request)
        try:
            return self._file(request, computed, name, form)
        except NoFigureError as error:
            raise Http404(str(error)) from error
        except FigureError as error:
            raise RefusedBodyError(str(error)) from error

    def _file(self, request: Request, computed: Job, name: str, form: str) -> HttpResponseBase:
        pk, of = computed.options["campaign"], self.parameters.get("of", "")
        look = Look(**values_of(LOOK, self.parameters))
        report = report_in(computed)
        figure, kind, subject = figure_of(report, name, form, of, look)
        if not kind.slow:
            made = figure_file(report, name, form, subject.name, look)
            record_export(request, pk, f"figure-{figure.name}", form)
            return attached(made.content, kind.media_type, f"{made.name}-{pk}.{form}")
        asked = figure_question(computed, name, form, subject.name, look)
        job = current_job(request, FIGURE, asked, figure_key(self.parameters.get("job")))
        if job is None:
            return accepted_response(request)
        record_export(request, pk, f"figure-{figure.name}", form)
        return send_file(request._request, job)


def _question(request: Request, campaign: Campaign, name: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and question of the job that computes the figure's report."""
    if FIGURES[name].of_measures:
        options = resolve_options(get_account(request), campaign, MeasuresOptions(), {})
        return MEASURES, measures_question(campaign, options)
    return REPORT, report_question(campaign, ReportOptions())
