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

from datasets.api.permissions import UNLESS_SAID, ScopeMaySuffice

LARGEST_PAGE, PAGE = 200, 50


class Strict(serializers.Serializer[Any]):
    """What a client sends: a field that is not declared is refused by its name."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - {*self.fields})):
            raise serializers.ValidationError(
                {name[:200]: "is not a field here; leave it out" for name in unknown}
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
    unit = serializers.CharField(allow_null=True, help_text="the unit's name, if one is meant")
    field = serializers.CharField(allow_null=True, help_text="the field's name, if one is meant")
    wrong = serializers.CharField(help_text="what is wrong, and what to do")


class ErrorSerializer(serializers.Serializer[Any]):
    error = serializers.CharField(help_text="what is wrong, and what to do, in one sentence")
    problems = ProblemSerializer(many=True)


SAFE = ("GET", "HEAD")


def _method(request: Request) -> str:
    return "GET" if request.method in SAFE else str(request.method)


class RoleMayAsk(BasePermission):
    """The roles that an address names for a method; a method that it lacks is answered by 405."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        assert isinstance(view, Resource)
        method = _method(request)
        return method not in view.roles or getattr(request.user, "role", None) in view.roles[method]


class Resource(APIView):
    """One address.

    `roles` says by method who may ask, and `scopes` with what kind of token, any one of them: 401
    without a token, 403 for another role or scope, before anything is looked up. Objects are
    reached only through functions `visible_…` that are given the user, so what is not for this user
    is not there (404). `takes` are the parameters of a GET; any other is refused by its name (400).
    """

    roles: ClassVar[Mapping[str, Sequence[str]]]
    scopes: ClassVar[Mapping[str, Sequence[str]]] = UNLESS_SAID
    takes: ClassVar[type[Strict]] = NoParameters
    permission_classes = [IsAuthenticated, RoleMayAsk, ScopeMaySuffice]
    http_method_names = ["get", "head", "post", "put"]
    chosen: Mapping[str, Any]

    @classmethod
    def as_view(cls, **options: Any) -> Any:
        view = super().as_view(**options)
        # A redirect would make a GET of a POST, and its 200 would look as if something was saved.
        view.should_append_slash = False  # type: ignore[attr-defined]
        return view

    def check_throttles(self, request: Request) -> None:
        """A method that an address lacks is answered by 405, however much was asked before."""
        if _method(request) in self.roles:
            super().check_throttles(request)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if _method(request) not in self.roles:
            return  # dispatch answers 405, whatever the address bears
        takes = self.takes if request.method in SAFE else NoParameters
        self.chosen = checked(takes, _plain(takes, request.query_params))


def _plain(kind: type[Strict], parameters: QueryDict) -> dict[str, Any]:
    """A plain dictionary: from a form, DRF would read an absent flag as false.

    What the serializer takes as a list may stand in an address several times.
    """
    fields = kind().fields
    lists = {name for name, of in fields.items() if isinstance(of, serializers.ListField)}
    return {
        name: parameters.getlist(name) if name in lists else value
        for name, value in parameters.dict().items()
    }


def checked(kind: type[Strict], data: Any) -> dict[str, Any]:
    """What was sent, read by the serializer. Raises ValidationError, which is answered by 400."""
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    found: dict[str, Any] = serializer.validated_data
    return found


def rendered(kind: Callable[..., Any], rows: Sequence[Any]) -> list[Any]:
    return list(kind(rows, many=True).data)


def page_serializer(of: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """The serializer of one page of a list, for the description."""
    return inline_serializer(
        name=of.__name__.removesuffix("Serializer") + "Page",
        fields={
            "count": serializers.IntegerField(help_text="how many there are in all"),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": of(many=True),
        },
    )


def page_example(row: Any) -> dict[str, Any]:
    """A page of one row, for the description."""
    return {"count": 1, "next": None, "previous": None, "results": [row]}


class List(Resource):
    """An address that gives a page of a list at a time."""

    takes = PageParameters

    def page(
        self, rows: QuerySet[Any] | Sequence[Any], as_results: Callable[[list[Any]], Sequence[Any]]
    ) -> Response:
        paginator = Paginator(rows, self.chosen["page_size"])
        try:
            page = paginator.page(self.chosen["page"])
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
    return OpenApiResponse(ErrorSerializer, description=MEANINGS[code])


def header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, required=False, description=description
    )
