"""Responses with the lines of an export: one page as JSON, or all lines from a job's file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.response import Response

from datasets.api.base import LARGEST_PAGE, PAGE, Resource
from datasets.api.jobs import JobKey
from datasets.api.throttling import PerExport

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


class LineSource:
    """A campaign's lines, which can be read from any position on."""

    def since(self, position: int) -> Iterator[Line]:
        raise NotImplementedError

    def position(self, line: Line) -> int:
        raise NotImplementedError


class Lines(Resource):
    """Lines in the order of their items' positions.

    A page ends with an item, and the cursor is the position of the next one. So every page costs
    the same, and an answer that arrives between two pages neither hides nor repeats a line.
    """

    takes = LineParameters
    renderer_classes = [JSONRenderer, JSONLinesRenderer]

    @property
    def streamed(self) -> bool:
        renderer = getattr(self.request, "accepted_renderer", None)
        return isinstance(renderer, JSONLinesRenderer)

    def get_throttles(self) -> list[Any]:
        own = [PerExport()] if self.streamed and "job" not in self.request.query_params else []
        return [*super().get_throttles(), *own]

    def answer(self, source: LineSource) -> Response:
        lines = source.since(int(self.parameters.get("cursor", "0")))
        page, following = _page(lines, self.parameters["page_size"])
        cursor = source.position(following) if following else None
        return Response({"next": self._address(cursor), "results": page})

    def _address(self, cursor: int | None) -> str | None:
        if cursor is None:
            return None
        parameters = self.request.query_params.copy()
        parameters["cursor"] = str(cursor)
        return self.request.build_absolute_uri(f"{self.request.path}?{parameters.urlencode()}")


def _page(lines: Iterator[Line], size: int) -> tuple[list[Line], Line | None]:
    """Return the lines up to the end of the item that fills the page, and the line after them."""
    page: list[Line] = []
    for line in lines:
        if len(page) >= size and line["item"] != page[-1]["item"]:
            return page, line
        page.append(line)
    return page, None
