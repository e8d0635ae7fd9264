"""What every address of the API is: who may ask, what they may ask for, and pages of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django.core.paginator import EmptyPage, Paginator
from django.db.models import QuerySet
from django.http import Http404, QueryDict
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from datasets.api.scopes import UNLESS_SAID, ScopeMaySuffice
from datasets.api.shapes import NoParameters, PageParameters, Strict

ANNOTATOR, RESEARCHER, ADMIN = "annotator", "researcher", "admin"
EVERYBODY = (ANNOTATOR, RESEARCHER, ADMIN)
WORKERS = (ANNOTATOR, RESEARCHER)
READERS = (RESEARCHER, ADMIN)
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


def _plain(shape: type[Strict], parameters: QueryDict) -> dict[str, Any]:
    """A plain dictionary: from a form, DRF would read an absent flag as false.

    What the shape takes as a list may stand in an address several times.
    """
    fields = shape().fields
    lists = {name for name, of in fields.items() if isinstance(of, serializers.ListField)}
    return {
        name: parameters.getlist(name) if name in lists else value
        for name, value in parameters.dict().items()
    }


def checked(shape: type[Strict], data: Any) -> dict[str, Any]:
    """What was sent, in its shape. Raises ValidationError, which is answered by 400."""
    serializer = shape(data=data)
    serializer.is_valid(raise_exception=True)
    found: dict[str, Any] = serializer.validated_data
    return found


def rendered(shape: Callable[..., Any], rows: Sequence[Any]) -> list[Any]:
    return list(shape(rows, many=True).data)


def page_shape(of: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """The shape of one page of a list, for the description."""
    return inline_serializer(
        name=of.__name__ + "Page",
        fields={
            "count": serializers.IntegerField(help_text="how many there are in all"),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": of(many=True),
        },
    )


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
