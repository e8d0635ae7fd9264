"""DRF's exception handler, apart from the errors: DRF's parsers are read before its views."""

from __future__ import annotations

from typing import Any

from rest_framework.response import Response
from rest_framework.views import exception_handler

from datasets.api.errors import body_of


def answer_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler; what is nobody's mistake but ours is raised again."""
    response = exception_handler(error, context)
    if response is not None:
        response.data = body_of(error)
    return response
