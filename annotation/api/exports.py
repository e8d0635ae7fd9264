"""API endpoints of exports: pages of lines, and every export as a streamed file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from django.http import Http404
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, managed_campaign
from annotation.api.access import check_blind
from annotation.exports import rows as exporting
from annotation.exports.bundles import (
    BUNDLES,
    ZIP,
    ExportOption,
    export_options,
    reveals_answers,
)
from annotation.exports.jobs import EXPORT, question
from annotation.exports.registry import EXPORTS
from annotation.exports.workbook import XLSX
from annotation.exports.writers import FORMS
from annotation.models import Campaign
from audit.recording import record_export, was_exported
from datasets.access import READERS
from datasets.api.base import (
    SAFE,
    Resource,
    describe_endpoint,
)
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.permissions import READ
from datasets.api.renderers import Line, LineParameters, Lines, LineSource, lines_serializer
from datasets.api.throttling import PerExport
from datasets.jobs.pages import send_file

A_UNIT = {
    "item": "r1",
    "unit": "q1:1",
    "kind": "question",
    "query": "q1",
    "system": "one",
    "variables": ["answerable"],
    "texts": {"report": "It opened in 1901."},
}
A_SPAN = {"field": "report", "start": 3, "end": 17, "text": "opened in 1901"}
A_LABEL = {
    "campaign": "pilot-coverage",
    "protocol": "report-coverage",
    "item": "r1",
    "unit": "q1:1",
    "kind": "question",
    "variable": "answerable",
    "value": "yes",
    "rater": "ada",
    "rater_kind": "human",
    "replicate": 0,
    "created_at": "2026-11-20T09:31:00+00:00",
    "revision": 1,
    "seconds": 41.5,
    "spans": [A_SPAN],
    "batch": "pilot",
    "query": "q1",
    "system": "one",
}
A_RESPONSE = {
    "campaign": "pilot-coverage",
    "protocol": "report-coverage",
    "item": "r1",
    "rater": "ada",
    "rater_kind": "human",
    "replicate": 0,
    "revision": 1,
    "created_at": "2026-11-20T09:31:00+00:00",
    "seconds": 41.5,
    "assisted_by": None,
    "comment": None,
    "units": {"q1:1": {"evidence": [{"quote": "opened in 1901", "start": 3}], "answerable": "yes"}},
}
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


class CampaignLineSource(LineSource):
    def __init__(
        self, campaign: Campaign, export: Callable[[Campaign, int], Iterator[Line]]
    ) -> None:
        self.campaign, self.export = campaign, export

    def since(self, position: int) -> Iterator[Line]:
        return self.export(self.campaign, position)

    def position(self, line: Line) -> int:
        return self.campaign.items.get(key=line["item"]).position


class CampaignLines(Lines):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    export: ClassVar[Callable[[Campaign, int], Iterator[Line]]]

    def respond(self, request: Request, pk: int) -> HttpResponseBase:
        campaign = managed_campaign(request, pk)
        check_blind(get_account(request), campaign)
        what, form = type(self).__name__.lower(), "jsonl" if self.streamed else "pages"
        # Only the first page of an export is recorded.
        continues = not self.streamed and "cursor" in self.parameters
        job = None
        if self.streamed:
            asked = question(campaign, what, form)
            job = current_job(request, EXPORT, asked, self.parameters.get("job"))
            if job is None:
                return accepted_response(request)
        if not (continues and was_exported(request, pk, what, form)):
            record_export(request, pk, what, form)
        if job is not None:
            return send_file(request._request, job)
        return self.answer(CampaignLineSource(campaign, type(self).export))


class Units(CampaignLines):
    export = exporting.units

    @describe_endpoint(
        "List the units of a campaign",
        "The units that are asked, with their systems: the same lines as `export --what "
        "units`. 403 while you have an open item in the campaign." + WHOLE,
        lines_serializer(UnitLineSerializer),
        tag="studies",
        example={"next": None, "results": [A_UNIT]},
        parameters=[LineParameters],
        operation_id="units_list",
    )
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        return self.respond(request, pk)


class Labels(CampaignLines):
    export = exporting.labels

    @describe_endpoint(
        "List the labels of a campaign",
        "All current labels, and missing ones with their reasons: the same lines as `export "
        "--what labels`." + WHOLE,
        lines_serializer(LabelLineSerializer),
        tag="studies",
        example={"next": None, "results": [A_LABEL]},
        parameters=[LineParameters],
        operation_id="labels_list",
    )
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        return self.respond(request, pk)


class Responses(CampaignLines):
    export = exporting.responses

    @describe_endpoint(
        "List the responses of a campaign",
        "All current answers as they were given: the same lines as `export --what responses`."
        + WHOLE,
        lines_serializer(ResponseLineSerializer),
        tag="studies",
        example={"next": None, "results": [A_RESPONSE]},
        parameters=[LineParameters],
        operation_id="responses_list",
    )
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        return self.respond(request, pk)


AN_OPTION: dict[str, Any] = {
    "what": "label-studio",
    "row": "one unit as a task of Label Studio, with the labels from all raters",
    "tells_answers": True,
    "files": {"json": "https://tandem.example/api/v1/campaigns/1/exports/label-studio/json/"},
}
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


class ExportOptionsSerializer(serializers.Serializer[Any]):
    results = ExportOptionSerializer(many=True)


class FormatOfAddress(BaseContentNegotiation):
    """Ignore the Accept header: the address of a file names its format."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class Exports(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}

    @describe_endpoint(
        "List the exports of a campaign",
        "All exports of a campaign with their file formats, the same as for `export --what`.",
        {200: ExportOptionsSerializer},
        tag="studies",
        example={"results": [AN_OPTION]},
        operation_id="exports_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = managed_campaign(request, pk)
        rows = [self._describe(campaign, option) for option in export_options(campaign)]
        return Response(ExportOptionsSerializer({"results": rows}).data)

    def _describe(self, campaign: Campaign, option: ExportOption) -> dict[str, Any]:
        def address(form: str) -> str:
            path = reverse("api-export", args=[campaign.pk, option.what, form])
            return self.request.build_absolute_uri(path)

        return {
            "what": option.what,
            "row": option.row,
            "tells_answers": reveals_answers(option.what),
            "files": {form: address(form) for form in option.forms},
        }


class OneExport(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = JobKey
    content_negotiation_class = FormatOfAddress

    def get_throttles(self) -> list[Any]:
        asks = self.request.method in SAFE and "job" not in self.request.query_params
        own = [PerExport()] if asks else []
        return [*super().get_throttles(), *own]

    @describe_endpoint(
        "Download an export",
        "The whole file; several files as a ZIP archive with a manifest. A job writes it: 200 if "
        "it is ready within 20 seconds, else 202 with the job, which says where the file will be. "
        "At most twelve exports of a campaign an hour; fetching the result of a job is not "
        "counted. 403 for exports with answers while you have an open item in the campaign, and "
        "422 if an id does not fit into TREC's format.",
        KINDS | {202: JobSerializer},
        tag="studies",
        example=[{"id": 1, "data": {"report": "It opened in 1901."}, "annotations": []}],
        refuses=(422,),
        parameters=[WHAT, FORM, JobKey],
        operation_id="exports_read",
    )
    def get(self, request: Request, pk: int, what: str, form: str) -> HttpResponseBase:
        campaign = managed_campaign(request, pk)
        if form not in {
            each
            for option in export_options(campaign)
            if option.what == what
            for each in option.forms
        }:
            raise Http404
        if reveals_answers(what):
            check_blind(get_account(request), campaign)
        asked = question(campaign, what, form)
        job = current_job(request, EXPORT, asked, self.parameters.get("job"))
        if job is None:
            return accepted_response(request)
        record_export(request, pk, what, form)
        return send_file(request._request, job)
