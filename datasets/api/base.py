"""The base classes of the API: resources with their roles, pages of results, and serializers.

Serializers of input are closed: an unknown key is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django.core.paginator import EmptyPage, Paginator
from django.db.models import QuerySet
from django.http import Http404, QueryDict
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from datasets.api.permissions import DEFAULT_SCOPES, HasScope

LARGEST_PAGE, PAGE = 200, 50


class Strict(serializers.Serializer[Any]):
    """The base class of input serializers: a field that is not declared is an error."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - {*self.fields})):
            raise serializers.ValidationError(
                {name[:200]: "is not a field here; remove it" for name in unknown}
            )
        return super().to_internal_value(data)


class NoParameters(Strict):
    pass


class PageParameters(Strict):
    page = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, default=1, help_text="which page, from 1"
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


class ProblemSerializer(serializers.Serializer[Any]):
    unit = serializers.CharField(allow_null=True, help_text="the unit's name, if it is about one")
    field = serializers.CharField(allow_null=True, help_text="the field's name, if it is about one")
    wrong = serializers.CharField(help_text="what is wrong, and what to do")


class ErrorSerializer(serializers.Serializer[Any]):
    error = serializers.CharField(help_text="what is wrong, and what to do, in one sentence")
    problems = ProblemSerializer(many=True)


SAFE = ("GET", "HEAD")


def _method(request: Request) -> str:
    return "GET" if request.method in SAFE else str(request.method)


class HasRole(BasePermission):
    """Whether the account has a role that the endpoint names; an unknown method is answered 405."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        assert isinstance(view, Resource)
        method = _method(request)
        return method not in view.roles or getattr(request.user, "role", None) in view.roles[method]


class Resource(APIView):
    """An endpoint.

    `roles` names the permitted roles by method, and `scopes` the scopes of a token, of which one
    suffices: 401 without a token, 403 for another role or scope, before anything is looked up.
    Functions `visible_…` find objects for a user, so an object that is not visible is not found
    (404). `takes` declares the parameters of a GET, read into `parameters`; others are refused
    (400).
    """

    roles: ClassVar[Mapping[str, Sequence[str]]]
    scopes: ClassVar[Mapping[str, Sequence[str]]] = DEFAULT_SCOPES
    takes: ClassVar[type[Strict]] = NoParameters
    permission_classes = [IsAuthenticated, HasRole, HasScope]
    http_method_names = ["get", "head", "post", "put"]
    parameters: Mapping[str, Any]

    @classmethod
    def as_view(cls, **options: Any) -> Any:
        view = super().as_view(**options)
        # A redirect would turn a POST into a GET, whose 200 would look as if something was saved.
        view.should_append_slash = False  # type: ignore[attr-defined]
        return view

    def check_throttles(self, request: Request) -> None:
        """Count the request, unless the endpoint lacks its method, which is answered 405."""
        if _method(request) in self.roles:
            super().check_throttles(request)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if _method(request) not in self.roles:
            return  # dispatch answers 405, whatever the parameters
        takes = self.takes if request.method in SAFE else NoParameters
        self.parameters = validate(takes, _plain(takes, request.query_params))


def _plain(kind: type[Strict], parameters: QueryDict) -> dict[str, Any]:
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


def serialize(kind: Callable[..., Any], rows: Sequence[Any]) -> list[Any]:
    return list(kind(rows, many=True).data)


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


def page_example(row: Any) -> dict[str, Any]:
    """Return a page of one row, for the description."""
    return {"count": 1, "next": None, "previous": None, "results": [row]}


class List(Resource):
    """An endpoint of a list, which answers with one page at a time."""

    takes = PageParameters

    def page(
        self, rows: QuerySet[Any] | Sequence[Any], as_results: Callable[[list[Any]], Sequence[Any]]
    ) -> Response:
        paginator = Paginator(rows, self.parameters["page_size"])
        try:
            page = paginator.page(self.parameters["page"])
        except EmptyPage as error:
            raise Http404 from error
        return Response(
            {
                "count": paginator.count,
                "next": self._address(page.number + 1) if page.has_next() else None,
                "previous": self._address(page.number - 1) if page.has_previous() else None,
                "results": as_results(list(page.object_list)),
            }
        )

    def _address(self, number: int) -> str:
        parameters = self.request.query_params.copy()
        parameters["page"] = str(number)
        return self.request.build_absolute_uri(f"{self.request.path}?{parameters.urlencode()}")


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
MethodDecorator = Callable[[Any], Any]


def describe_endpoint(
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
) -> MethodDecorator:
    """Describe a method: its purpose, its responses, an example, and its errors.

    `example` is an example of a response with `status`, and `sent` an example of a request's body.
    """
    examples = [
        OpenApiExample("answer", example, response_only=True, status_codes=[str(status)]),
    ]
    if sent is not None:
        kind = next(iter(request)) if isinstance(request, Mapping) else "application/json"
        examples.append(OpenApiExample("request", sent, request_only=True, media_type=kind))
    errors = (*COMMON_ERRORS, *refuses, *((413, 415) if request else ()))
    return extend_schema(
        summary=summary,
        description=description,
        request=request,
        responses={**responses, **{code: error_response(code) for code in errors}},
        examples=examples,
        parameters=parameters,
        tags=[tag],
        operation_id=operation_id,
    )


def error_response(code: int) -> OpenApiResponse:
    return OpenApiResponse(ErrorSerializer, description=ERROR_DESCRIPTIONS[code])


def header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, required=False, description=description
    )
