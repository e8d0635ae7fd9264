"""Classes that Django REST framework finds by name, and the examples of the API's description.

They are a module of their own because the framework loads them before its views.

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
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import exception_handler

from datasets.api.base import ERROR_DESCRIPTIONS, body_of
from datasets.api.concurrency import HEADER, KEY_LIFETIME
from datasets.api.permissions import required_scopes
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


def answer_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Handle exceptions for DRF; errors of the server are raised again."""
    response = exception_handler(error, context)
    if response is not None:
        response.data = body_of(error)
    return response


HOURS = int(KEY_LIFETIME.total_seconds() // 3600)
KEY: dict[str, Any] = {
    "in": "header",
    "name": HEADER,
    "schema": {"type": "string"},
    "description": "A key that the client chooses for this write, 1 to 64 printable ASCII "
    f"characters. For {HOURS} hours the same request under the same key is carried out once and "
    "gets the same answer; another request under it is refused (422).",
}

KEY_REFUSED = "The Idempotency-Key came with another request before."


class Schema(AutoSchema):
    def get_examples(self) -> Any:
        view: Any = self.view
        return examples_of(view.endpoints[self.method])

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        scopes = required_scopes(self.view, self.method)
        operation["x-scopes"] = list(scopes)
        sentence = f"Scope of the token: {' or '.join(f'`{each}`' for each in scopes)}."
        operation["description"] = f"{operation.get('description', '')}\n\n{sentence}".strip()
        if getattr(getattr(self.view, self.method.lower(), None), "keyed", False):
            self._add_key(operation)
        return operation

    def _add_key(self, operation: dict[str, Any]) -> None:
        operation["parameters"] = [*operation.get("parameters", ()), KEY]
        responses = operation["responses"]
        for code in (413, 415, 422):
            words = ERROR_DESCRIPTIONS[code] if code != 422 else KEY_REFUSED
            responses.setdefault(str(code), {**responses["400"], "description": words})
