"""The base classes of the API: resources, pages of results, serializers, and errors.

Serializers of input are closed: an unknown key is an error.

The body is `{"error": SENTENCE, "problems": [{"unit", "field", "wrong"}]}`. A conflict also holds
the current state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.paginator import EmptyPage, Paginator
from django.db.models import QuerySet
from django.http import Http404, QueryDict
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    inline_serializer,
)
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tandem.verbs import verb_of

LARGEST_PAGE, PAGE = 200, 50
LARGEST = 2**31 - 1
"The largest number that a column of the database takes."


class Strict(serializers.Serializer[Any]):
    """The base class of input serializers: a field that is not declared is an error."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - {*self.fields})):
            raise serializers.ValidationError(
                {name[:200]: "is not a field here; remove it" for name in unknown}
            )
        return super().to_internal_value(data)


class Computed(serializers.SerializerMethodField):
    """A field whose value, of the type `of`, a function computes from the object."""

    def __init__(self, function: Callable[[Any], Any], of: Any, **about: Any) -> None:
        self.function = lambda value: function(value)
        self.function.__annotations__ = {"return": of}
        super().__init__(**about)

    def bind(self, field_name: str, parent: Any) -> None:
        setattr(parent, f"get_{field_name}", self.function)
        super().bind(field_name, parent)


# Comments, since a base class's docstring would describe its subclasses in OpenAPI.
class Shape(serializers.Serializer[Any]):
    # The base class of serializers that only describe JSON which another module builds.
    def to_representation(self, instance: Any) -> Any:
        return instance


class NoParameters(Strict):
    pass


class PageParameters(Strict):
    page = serializers.IntegerField(
        min_value=1, max_value=LARGEST, default=1, help_text="which page, from 1"
    )
    page_size = serializers.IntegerField(
        min_value=1, max_value=LARGEST_PAGE, default=PAGE, help_text="how many on a page"
    )


class Number(serializers.FloatField):
    """A finite number; neither NaN nor a boolean."""

    def to_internal_value(self, data: Any) -> float:
        number = super().to_internal_value(data)
        if isinstance(data, bool) or not math.isfinite(number):
            raise serializers.ValidationError("is not a number; give one")
        return number


class Positive(serializers.IntegerField):
    """A whole number from 1, such as the id of a row."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**{"min_value": 1, "max_value": LARGEST, **about})


class Exact(serializers.CharField):
    """A text that a list is filtered by, exactly as it is."""

    def __init__(self, help_text: str) -> None:
        super().__init__(required=False, trim_whitespace=False, help_text=help_text)


class ProblemSerializer(serializers.Serializer[Any]):
    unit = serializers.CharField(allow_null=True, help_text="the unit's name, if it is about one")
    field = serializers.CharField(allow_null=True, help_text="the field's name, if it is about one")
    wrong = serializers.CharField(help_text="what is wrong, and what to do")


class ErrorSerializer(serializers.Serializer[Any]):
    error = serializers.CharField(help_text="what is wrong, and what to do, in one sentence")
    problems = ProblemSerializer(many=True)


def results_serializer(
    name: str, of: type[serializers.Serializer[Any]]
) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a list that is short enough to be sent whole."""
    return type(f"{name}Serializer", (serializers.Serializer,), {"results": of(many=True)})


def conflict_serializer(name: str, **current: Any) -> type[ErrorSerializer]:
    """Return the serializer of an error with the current state, under a name of its own."""
    return type(f"{name}Serializer", (ErrorSerializer,), current)


SAFE = ("GET", "HEAD")


def plain_parameters(kind: type[Strict], parameters: QueryDict) -> dict[str, Any]:
    """Return the parameters as a dictionary: from a form, DRF would read an absent flag as false.

    A parameter that the serializer declares as a list may be repeated in the address.
    """
    fields = kind().fields
    lists = {name for name, of in fields.items() if isinstance(of, serializers.ListField)}
    return {
        name: parameters.getlist(name) if name in lists else value
        for name, value in parameters.dict().items()
    }


def validate(kind: type[Strict], data: Any) -> dict[str, Any]:
    """Return the validated data. Raises ValidationError, which is answered with 400."""
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    validated: dict[str, Any] = serializer.validated_data
    return validated


def page_serializer(of: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """Return the serializer of a page of a list, for the description."""
    return inline_serializer(
        name=of.__name__.removesuffix("Serializer") + "Page",
        fields={
            "count": serializers.IntegerField(help_text="the number of results on all pages"),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": of(many=True),
        },
    )


def page_of(
    request: Request,
    rows: QuerySet[Any] | Sequence[Any],
    as_results: Callable[[list[Any]], Sequence[Any]],
    parameters: Mapping[str, Any],
) -> Response:
    """Respond with the page of a list that the parameters name. Raises Http404."""
    paginator = Paginator(rows, parameters["page_size"])
    try:
        page = paginator.page(parameters["page"])
    except EmptyPage as error:
        raise Http404 from error
    return Response(
        {
            "count": paginator.count,
            "next": address_with(request, page=page.number + 1) if page.has_next() else None,
            "previous": address_with(request, page=page.number - 1)
            if page.has_previous()
            else None,
            "results": as_results(list(page.object_list)),
        }
    )


def address_with(request: Request, **changed: object) -> str:
    """Return the request's own address with other values of some parameters."""
    parameters = request.query_params.copy()
    for name, value in changed.items():
        parameters[name] = str(value)
    return request.build_absolute_uri(f"{request.path}?{parameters.urlencode()}")


ERROR_DESCRIPTIONS = {
    400: "The request does not match its description.",
    401: "The token is missing or unknown.",
    403: "The role of this account may not do this.",
    404: "Not found, or not visible to this account.",
    406: "The address has no format that the client accepts.",
    409: "The state has changed since the client read it.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The content is not valid; every problem is named.",
    429: "Too many requests; `Retry-After` says when to try again.",
    503: "The database is not available; `Retry-After` says when to try again.",
    507: "The disk of this site is full; tell its admin.",
}
COMMON_ERRORS = (400, 401, 403, 404, 406, 429, 503)


def error_response(code: int) -> OpenApiResponse:
    return OpenApiResponse(ErrorSerializer, description=ERROR_DESCRIPTIONS[code])


def header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, required=False, description=description
    )


Problem = dict[str, str | None]
Body = dict[str, Any]

SENTENCES: Mapping[type[Exception], str] = {
    exceptions.ValidationError: "the request does not match its description; correct what "
    "`problems` names",
    exceptions.NotAuthenticated: "send a token, as in `Authorization: Token tandem_…`; "
    f"create one on the page of tokens or by `{verb_of('create_token')}`",
    exceptions.AuthenticationFailed: "the token is not valid: it is mistyped, has expired or "
    "was revoked, as by a new password or role of its account; create a new one",
    exceptions.PermissionDenied: "your role may not do this; ask an admin of this site",
    PermissionDenied: "your role may not do this; ask an admin of this site",
    exceptions.NotFound: "not found, or not visible to this account; check the address",
    Http404: "not found, or not visible to this account; check the address",
    exceptions.MethodNotAllowed: "this address has other methods; `Allow` lists them",
    exceptions.NotAcceptable: "this address has no such format; accept application/json",
    exceptions.UnsupportedMediaType: "send the body as application/json",
    exceptions.Throttled: "too many requests; try again after the seconds in `Retry-After`",
}


class ApiError(exceptions.APIException):
    """An error with its own sentence and problems; `more` holds further keys of the body."""

    def __init__(
        self, sentence: str, problems: list[Problem] | None = None, more: Body | None = None
    ) -> None:
        super().__init__(sentence)
        self.body: Body = {"error": sentence, "problems": problems or [], **(more or {})}


class RefusedBodyError(ApiError):
    """The request is well-formed, but its content is not valid."""

    status_code = 422


class StateConflictError(ApiError):
    """The state has changed since the client read it."""

    status_code = 409


class BlindError(ApiError):
    """The account may read this only after its own work."""

    status_code = 403


class ScopeError(ApiError):
    """The account may do this, but not with this token."""

    status_code = 403


class TooLargeError(ApiError):
    status_code = 413


class NoSpaceError(ApiError):
    status_code = 507


class TooManyRequestsError(ApiError):
    """More requests of one kind than an account may send; `wait` is the seconds to wait."""

    status_code = 429

    def __init__(self, sentence: str, wait: int) -> None:
        super().__init__(sentence)
        self.wait = wait


def problem(wrong: str, field: str = "", unit: str = "") -> Problem:
    return {"unit": unit or None, "field": field or None, "wrong": wrong}


def refusal(sentence: str = "", field: str = "") -> Callable[[Exception], RefusedBodyError]:
    """Return how an endpoint refuses a body for an error of the domain: see `Endpoint.raises`.

    By default the sentence is the error's own, and so is the field.
    """

    def refused(error: Exception) -> RefusedBodyError:
        wrong = problem(str(error), field or getattr(error, "field", ""))
        return RefusedBodyError(sentence or str(error), [wrong])

    return refused


def body_of(error: Exception) -> Body:
    if isinstance(error, ApiError):
        return error.body
    if isinstance(error, exceptions.ValidationError):
        return {"error": _sentence(error), "problems": list(_problems(error.detail))}
    return {"error": _sentence(error), "problems": []}


def _sentence(error: Exception) -> str:
    return SENTENCES.get(type(error)) or str(error)


def _problems(detail: Any, path: str = "") -> Iterator[Problem]:
    """Yield the leaves of DRF's nested details, each with the path to its field."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            own = "" if name == "non_field_errors" else str(name)
            yield from _problems(inner, ".".join(filter(None, (path, own))))
    elif isinstance(detail, (list, tuple)):
        for inner in detail:
            yield from _problems(inner, path)
    else:
        yield problem(str(detail), path)
