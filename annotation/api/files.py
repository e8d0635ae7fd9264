"""Every export of a campaign by the API, as a file: the same that the page offers, streamed."""

from __future__ import annotations

from typing import Any

from django.http import Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.visible import check_blind, person, visible_studies
from annotation.exports.bundles import BUNDLES
from annotation.exports.forms import FORMS
from annotation.exports.offered import (
    ZIP,
    BlankError,
    Offer,
    download,
    offers,
    tells_answers,
)
from annotation.exports.registry import EXPORTS
from annotation.models import Campaign
from audit.recording import record_export
from datasets.api.base import READERS, SAFE, Resource, described
from datasets.api.errors import RefusedBodyError
from datasets.api.permissions import READ
from datasets.api.throttling import PerExport

AN_OFFER: dict[str, Any] = {
    "what": "label-studio",
    "row": "one unit as a task of Label Studio, with what all raters said of it",
    "tells_answers": True,
    "files": {"json": "https://tandem.example/api/v1/campaigns/1/exports/label-studio/json/"},
}
TEXTS = ("application/x-ndjson", "application/ld+json", "text/csv", "text/plain")
BYTES = ("application/vnd.apache.parquet", ZIP)
KINDS: dict[Any, Any] = {
    (200, "application/json"): OpenApiTypes.ANY,
    **{(200, kind): OpenApiTypes.STR for kind in TEXTS},
    **{(200, kind): OpenApiTypes.BINARY for kind in BYTES},
}
WHAT = OpenApiParameter(
    "what", str, OpenApiParameter.PATH, enum=[*EXPORTS, *BUNDLES], description="which export"
)
FORM = OpenApiParameter(
    "form", str, OpenApiParameter.PATH, enum=list(FORMS), description="in which form"
)


class OfferShape(serializers.Serializer[Any]):
    what = serializers.CharField()
    row = serializers.CharField(help_text="what a line of it is, in words")
    tells_answers = serializers.BooleanField(
        help_text="whether it waits until one has answered one's open item"
    )
    files = serializers.DictField(child=serializers.URLField(), help_text="addresses, by form")


class OffersShape(serializers.Serializer[Any]):
    results = OfferShape(many=True)


class AsItComes(BaseContentNegotiation):
    """A file has the form that its address names, whatever the client says that it accepts."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class Exports(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}

    @described(
        "List the exports of a campaign",
        "All that can be taken along of it, with the forms that each comes in: the same as "
        "`export --what`.",
        {200: OffersShape},
        tag="studies",
        example={"results": [AN_OFFER]},
        operation_id="exports_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = _campaign(request, pk)
        rows = [self._shown(campaign, offer) for offer in offers(campaign)]
        return Response(OffersShape({"results": rows}).data)

    def _shown(self, campaign: Campaign, offer: Offer) -> dict[str, Any]:
        def address(form: str) -> str:
            path = reverse("api-export", args=[campaign.pk, offer.what, form])
            return self.request.build_absolute_uri(path)

        return {
            "what": offer.what,
            "row": offer.row,
            "tells_answers": tells_answers(offer.what),
            "files": {form: address(form) for form in offer.forms},
        }


class OneExport(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    content_negotiation_class = AsItComes

    def get_throttles(self) -> list[Any]:
        own = [PerExport()] if self.request.method in SAFE else []
        return [*super().get_throttles(), *own]

    @described(
        "Take an export along",
        "The whole file, streamed; several files come as a ZIP archive, with a manifest. Twelve "
        "exports of a campaign an hour. 403 for what tells answers while one has an open item in "
        "the campaign, 422 where an id does not fit into TREC's form.",
        KINDS,
        tag="studies",
        example=[{"id": 1, "data": {"report": "It opened in 1901."}, "annotations": []}],
        refuses=(422,),
        parameters=[WHAT, FORM],
        operation_id="exports_read",
    )
    def get(self, request: Request, pk: int, what: str, form: str) -> StreamingHttpResponse:
        campaign = _campaign(request, pk)
        if what not in {offer.what for offer in offers(campaign)}:
            raise Http404
        if tells_answers(what):
            check_blind(person(request), campaign)
        try:
            found = download(campaign, what, form)
        except KeyError as error:
            raise Http404 from error
        except BlankError as error:
            raise RefusedBodyError(str(error)) from error
        record_export(request, pk, what, form)
        response = StreamingHttpResponse(found.pieces, content_type=found.media_type)
        response["Content-Disposition"] = f'attachment; filename="{found.name}"'
        return response


def _campaign(request: Request, pk: int) -> Campaign:
    return get_object_or_404(visible_studies(person(request)), pk=pk)
