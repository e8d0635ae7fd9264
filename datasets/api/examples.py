"""Examples of the API's description, read from one file (`settings.API_EXAMPLES`).

Under `bodies` it has an example of each serializer: what a base class's example and those of nested
serializers do not say already. Under `operations` it has what is different in the request or the
answer of one operation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers

from datasets.api.routes import Endpoint


@cache
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(settings.API_EXAMPLES).read_text("utf-8"))
    return found


def examples_of(endpoint: Endpoint) -> list[OpenApiExample]:
    """Return the examples of an endpoint's request, if it takes a body, and of its answer."""
    own = _file()["operations"].get(endpoint.function.__name__, {})
    shape = endpoint.answer
    if isinstance(shape, Mapping):
        shape = shape.get(endpoint.status)
    answer = _changed(example_of(shape) if shape else None, own.get("answer"))
    if endpoint.is_list:
        answer = {"count": 1, "next": None, "previous": None, "results": [answer]}
    codes = [str(endpoint.status)]
    found = [OpenApiExample("answer", answer, response_only=True, status_codes=codes)]
    if endpoint.body:
        sent = _changed(example_of(endpoint.body), own.get("request"))
        of = endpoint.media_type
        found.append(OpenApiExample("request", sent, request_only=True, media_type=of))
    return found


def _changed(example: Any, changes: Any) -> Any:
    if isinstance(example, dict) and isinstance(changes, dict):
        return example | changes
    return example if changes is None else changes


@cache
def example_of(kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the example of a serializer, in the order of its fields."""
    bodies = _file()["bodies"]
    said: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        said |= bodies.get(each.__name__, {})
    fields: dict[str, Any] = dict(kind().fields)
    for name, field in fields.items():
        if name not in said and field.required and (nested := _nested(field)) is not None:
            said[name] = nested
    return {name: said[name] for name in fields if name in said} | said


def _nested(field: Any) -> Any:
    """Return the example of a field that is a serializer, or a list of one; None for others."""
    if isinstance(field, serializers.Serializer):
        return example_of(type(field))
    return [_nested(field.child)] if isinstance(field, serializers.ListSerializer) else None
