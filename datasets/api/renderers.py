"""Responses with the lines of an export: one page as JSON, or all lines from a job's file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from datasets.api.base import LARGEST_PAGE, PAGE, address_with
from datasets.api.concurrency import PerExport
from datasets.api.routes import JobKey, given

Line = dict[str, Any]
JSON_LINES = "application/x-ndjson"


class JSONLinesRenderer(BaseRenderer):
    """Renders errors; `Accept: application/x-ndjson` or `?format=jsonl` choose it for streams."""

    media_type = JSON_LINES
    format = "jsonl"
    charset = None

    def render(self, data: Any, accepted: Any = None, context: Any = None) -> bytes:
        return as_bytes(data)


def as_bytes(line: Any) -> bytes:
    return (json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


class LineParameters(JobKey):
    cursor = serializers.RegexField(
        r"^[0-9]{1,9}\Z",
        required=False,
        trim_whitespace=False,
        help_text="where the page begins, as in `next` of the page before",
    )
    page_size = serializers.IntegerField(
        min_value=1,
        max_value=LARGEST_PAGE,
        default=PAGE,
        help_text="lines on a page, which may exceed it to complete its last item",
    )
    format = serializers.ChoiceField(
        ("json", "jsonl"), required=False, help_text="jsonl for all lines as a file"
    )


def lines_serializer(of: type[serializers.Serializer[Any]]) -> dict[Any, Any]:
    """Return the serializers of a page of lines and of the stream, for the description."""
    page = inline_serializer(
        name=of.__name__.removesuffix("Serializer") + "Page",
        fields={
            "next": serializers.URLField(allow_null=True),
            "results": of(many=True),
        },
    )
    return {(200, "application/json"): page, (200, JSON_LINES): of}


def is_streamed(request: Request) -> bool:
    return isinstance(getattr(request, "accepted_renderer", None), JSONLinesRenderer)


class PerStream(PerExport):
    """Limits streams of all lines, but not their pages."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        return not is_streamed(request) or super().allow_request(request, view)


LINES: dict[str, Any] = {
    "takes": LineParameters,
    "throttles": (PerStream,),
    "view": {"renderer_classes": [JSONRenderer, JSONLinesRenderer]},
}
"""How an endpoint of lines is declared."""


def lines_page(
    request: Request,
    since: Callable[[int], Iterator[Line]],
    position: Callable[[Line], int],
) -> Response:
    """Return a page of lines in the order of their items' positions.

    A page ends with an item, and the cursor is the position of the next one. So every page costs
    the same, and an answer that arrives between two pages neither hides nor repeats a line.
    """
    sent = given(request)
    page, following = _page(since(int(sent.get("cursor", "0"))), sent["page_size"])
    address = address_with(request, cursor=position(following)) if following else None
    return Response({"next": address, "results": page})


def _page(lines: Iterator[Line], size: int) -> tuple[list[Line], Line | None]:
    """Return the lines up to the end of the item that fills the page, and the line after them."""
    page: list[Line] = []
    for line in lines:
        if len(page) >= size and line["item"] != page[-1]["item"]:
            return page, line
        page.append(line)
    return page, None
