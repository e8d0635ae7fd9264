"""Classes that Django REST framework finds by name: the exception handler and the schema class.

They are a module of their own because the framework loads them before its views.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework.response import Response
from rest_framework.views import exception_handler

from datasets.api.base import ERROR_DESCRIPTIONS
from datasets.api.concurrency import HEADER, KEY_LIFETIME
from datasets.api.errors import body_of
from datasets.api.examples import examples_of
from datasets.api.permissions import required_scopes


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
