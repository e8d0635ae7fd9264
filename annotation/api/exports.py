"""API endpoints of exports: pages of lines, and every export as a streamed file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from annotation.access import get_account, managed_campaign
from annotation.api.access import check_blind, managed_unless_blind
from annotation.exports import rows as exporting
from annotation.exports.bundles import (
    BUNDLES,
    EXPORT,
    ZIP,
    ExportOption,
    export_options,
    question,
    reveals_answers,
)
from annotation.exports.contents import EXPORTS
from annotation.exports.workbook import XLSX
from annotation.exports.writers import FORMS
from annotation.models import Campaign
from audit.recording import record_export, was_exported
from datasets.api.base import results_serializer
from datasets.api.concurrency import PerExport
from datasets.api.renderers import LINES, Line, is_streamed, lines_page, lines_serializer
from datasets.api.routes import JobKey, Routes, finished_job, given
from datasets.work.pages import send_file

api = Routes("studies")

WHOLE = (
    " By default one page of lines as JSON, with the address of the `next` one. With `Accept: "
    "application/x-ndjson` or `?format=jsonl`, all lines as a stream of JSON Lines, at most "
    "twelve times an hour for a campaign."
)


class UnitLineSerializer(serializers.Serializer[Any]):
    item = serializers.CharField()
    unit = serializers.CharField()
    kind = serializers.CharField()
    query = serializers.CharField()
    system = serializers.CharField(allow_null=True)
    variables = serializers.ListField(child=serializers.CharField())
    texts = serializers.DictField(child=serializers.CharField())


class SpanSerializer(serializers.Serializer[Any]):
    field = serializers.CharField()
    start = serializers.IntegerField(allow_null=True)
    end = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()


class LabelLineSerializer(serializers.Serializer[Any]):
    """A label, or a missing one with its reason (`missing`). Keys without a value are left out."""

    campaign = serializers.CharField()
    protocol = serializers.CharField()
    item = serializers.CharField()
    unit = serializers.CharField()
    kind = serializers.CharField()
    variable = serializers.CharField()
    value = serializers.CharField(required=False)
    missing = serializers.CharField(required=False)
    rater = serializers.CharField()
    rater_kind = serializers.ChoiceField(("human", "judge", "reference"))
    replicate = serializers.IntegerField()
    created_at = serializers.DateTimeField(required=False)
    revision = serializers.IntegerField(required=False)
    seconds = serializers.FloatField(required=False)
    score = serializers.FloatField(required=False)
    spans = SpanSerializer(many=True, required=False)
    assisted_by = serializers.CharField(required=False)
    batch = serializers.CharField()
    query = serializers.CharField()
    system = serializers.CharField(required=False)
    setting = serializers.CharField(required=False)
    meta = serializers.DictField(required=False)


class ResponseLineSerializer(serializers.Serializer[Any]):
    campaign = serializers.CharField()
    protocol = serializers.CharField()
    item = serializers.CharField()
    rater = serializers.CharField()
    rater_kind = serializers.ChoiceField(("human", "judge", "reference"))
    replicate = serializers.IntegerField()
    revision = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    seconds = serializers.FloatField(allow_null=True)
    assisted_by = serializers.CharField(allow_null=True)
    comment = serializers.CharField(allow_null=True)
    units = serializers.DictField()


def _lines(
    request: Request, pk: int, what: str, export: Callable[[Campaign, int], Iterator[Line]]
) -> HttpResponseBase:
    campaign, sent = managed_unless_blind(request, pk), given(request)
    streamed = is_streamed(request)
    form, job = "jsonl" if streamed else "pages", None
    if streamed:
        job = finished_job(request, EXPORT, question(campaign, what, form), sent.get("job"))
    # Only the first page of an export is recorded.
    continues = not streamed and "cursor" in sent
    if not (continues and was_exported(request, pk, what, form)):
        record_export(request, pk, what, form)
    if job is not None:
        return send_file(request._request, job)

    def position(line: Line) -> int:
        return campaign.items.get(key=line["item"]).position

    return lines_page(request, partial(export, campaign), position)


@api.get(
    "campaigns/<int:pk>/units/",
    "List the units of a campaign",
    "The units that are asked, with their systems: the same lines as `export --what "
    "units`. 403 while you have an open item in the campaign." + WHOLE,
    lines_serializer(UnitLineSerializer),
    name="units",
    **LINES,
)
def units_list(request: Request, pk: int) -> HttpResponseBase:
    return _lines(request, pk, "units", exporting.units)


@api.get(
    "campaigns/<int:pk>/labels/",
    "List the labels of a campaign",
    "All current labels, and missing ones with their reasons: the same lines as `export "
    "--what labels`." + WHOLE,
    lines_serializer(LabelLineSerializer),
    name="labels",
    **LINES,
)
def labels_list(request: Request, pk: int) -> HttpResponseBase:
    return _lines(request, pk, "labels", exporting.labels)


@api.get(
    "campaigns/<int:pk>/responses/",
    "List the responses of a campaign",
    "All current answers as they were given: the same lines as `export --what responses`." + WHOLE,
    lines_serializer(ResponseLineSerializer),
    name="responses",
    **LINES,
)
def responses_list(request: Request, pk: int) -> HttpResponseBase:
    return _lines(request, pk, "responses", exporting.responses)


TEXTS = ("application/x-ndjson", "application/ld+json", "text/csv", "text/plain")
BYTES = ("application/vnd.apache.parquet", XLSX, ZIP)
KINDS: dict[Any, Any] = {
    (200, "application/json"): OpenApiTypes.ANY,
    **{(200, kind): OpenApiTypes.STR for kind in TEXTS},
    **{(200, kind): OpenApiTypes.BINARY for kind in BYTES},
}
WHAT = OpenApiParameter(
    "what", str, OpenApiParameter.PATH, enum=[*EXPORTS, *BUNDLES], description="which export"
)
FORM = OpenApiParameter(
    "form", str, OpenApiParameter.PATH, enum=list(FORMS), description="file format"
)


class ExportOptionSerializer(serializers.Serializer[Any]):
    what = serializers.CharField()
    row = serializers.CharField(help_text="what one line contains")
    tells_answers = serializers.BooleanField(
        help_text="whether it is refused while you have an open item"
    )
    files = serializers.DictField(
        child=serializers.URLField(), help_text="addresses by file format"
    )


class FormatOfAddress(BaseContentNegotiation):
    """Ignore the Accept header: the address of a file names its format."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


@api.get(
    "campaigns/<int:pk>/exports/",
    "List the exports of a campaign",
    "All exports of a campaign with their file formats, the same as for `export --what`.",
    results_serializer("ExportOptions", ExportOptionSerializer),
    name="exports",
)
def exports_list(request: Request, pk: int) -> Any:
    campaign = managed_campaign(request, pk)
    return {"results": [_described(request, campaign, each) for each in export_options(campaign)]}


def _described(request: Request, campaign: Campaign, option: ExportOption) -> dict[str, Any]:
    def address(form: str) -> str:
        path = reverse("api-export", args=[campaign.pk, option.what, form])
        return request.build_absolute_uri(path)

    return {
        "what": option.what,
        "row": option.row,
        "tells_answers": reveals_answers(option.what),
        "files": {form: address(form) for form in option.forms},
    }


@api.get(
    "campaigns/<int:pk>/exports/<slug:what>/<slug:form>/",
    "Download an export",
    "The whole file; several files as a ZIP archive with a manifest. A job writes it: 200 if "
    "it is ready within 20 seconds, else 202 with the job, which says where the file will be. "
    "At most twelve exports of a campaign an hour; fetching the result of a job is not "
    "counted. 403 for exports with answers while you have an open item in the campaign, and "
    "422 if an id does not fit into TREC's format.",
    KINDS,
    name="export",
    takes=JobKey,
    refuses=(422,),
    parameters=[WHAT, FORM],
    job=True,
    throttles=(PerExport,),
    view={"content_negotiation_class": FormatOfAddress},
)
def exports_read(request: Request, pk: int, what: str, form: str) -> Any:
    campaign = managed_campaign(request, pk)
    options = [each for each in export_options(campaign) if each.what == what]
    if not any(form in each.forms for each in options):
        raise Http404
    if reveals_answers(what):
        check_blind(get_account(request), campaign)
    asked = question(campaign, what, form)
    job = finished_job(request, EXPORT, asked, given(request).get("job"))
    record_export(request, pk, what, form)
    return send_file(request._request, job)
