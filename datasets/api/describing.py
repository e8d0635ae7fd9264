"""Describing addresses for the schema: the errors that each may answer, and examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from datasets.api.shapes import ErrorShape

MEANINGS = {
    400: "The request is not as described.",
    401: "There is no token, or it is not known.",
    403: "The role of this account may not do this.",
    404: "There is no such thing for this account.",
    406: "The address has no form that the client accepts.",
    409: "It is no more as it was seen.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The content cannot be taken; every problem is named.",
    429: "Too many requests; `Retry-After` says when to come again.",
    503: "The database is away; `Retry-After` says when to come again.",
    507: "The disk of this site is full; its admin must know.",
}
ALWAYS = (400, 401, 403, 404, 406, 429, 503)
Described = Callable[[Any], Any]


def described(
    summary: str,
    description: str,
    responses: Mapping[int, Any],
    *,
    tag: str,
    example: Any,
    sent: Any = None,
    request: Any = None,
    status: int = 200,
    refuses: tuple[int, ...] = (),
    parameters: list[Any] | None = None,
    operation_id: str | None = None,
) -> Described:
    """Describes a method: what it is for, what it gives, an example, and how it may refuse.

    `example` is of the answer with `status`, `sent` of the body.
    """
    examples = [
        OpenApiExample("answer", example, response_only=True, status_codes=[str(status)]),
    ]
    if sent is not None:
        kind = next(iter(request)) if isinstance(request, Mapping) else "application/json"
        examples.append(OpenApiExample("request", sent, request_only=True, media_type=kind))
    errors = (*ALWAYS, *refuses, *((413, 415) if request else ()))
    return extend_schema(
        summary=summary,
        description=description,
        request=request,
        responses={**responses, **{code: failing(code) for code in errors}},
        examples=examples,
        parameters=parameters,
        tags=[tag],
        operation_id=operation_id,
    )


def failing(code: int) -> OpenApiResponse:
    return OpenApiResponse(ErrorShape, description=MEANINGS[code])


def header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, required=False, description=description
    )
