"""The root of the API: its URLs, its OpenAPI description, and the page that shows it."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import URLPattern, URLResolver, include, path, reverse
from django.utils.encoding import force_bytes
from django.views.decorators.http import require_safe
from django.views.defaults import page_not_found
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework import serializers
from rest_framework.authentication import SessionAuthentication
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from datasets.access import ADMIN, EVERYBODY, READERS, WORKERS, wants_data
from datasets.api.base import SENTENCES, NoParameters, Shape, validate
from datasets.api.permissions import ANY, TokenInHeader, scopes_of
from datasets.api.routes import Routes, urls_of

api = Routes("start", roles=EVERYBODY, reads=ANY)
LISTS = {
    "campaigns": EVERYBODY,
    "assignments": WORKERS,
    "batches": READERS,
    "uploads": READERS,
    "teams": READERS,
    "people": (ADMIN,),
    "invitations": READERS,
    "judges": READERS,
    "runs": READERS,
    "reports": READERS,
    "jobs": READERS,
    "audit": (ADMIN,),
}


class RootSerializer(Shape):
    account = serializers.CharField()
    role = serializers.ChoiceField(EVERYBODY)
    scopes = serializers.ListField(
        child=serializers.CharField(), help_text="what this token is for"
    )
    lists = serializers.DictField(child=serializers.URLField())
    schema = serializers.URLField(help_text="this description, as OpenAPI")


@api.get(
    "",
    "Where to begin",
    "The account behind the token, and the lists that its role may read.",
    RootSerializer,
    name="root",
)
def root(request: Request) -> dict[str, Any]:
    def address(name: str) -> str:
        return request.build_absolute_uri(reverse(name))

    role = getattr(request.user, "role", "")
    lists = [name for name, roles in LISTS.items() if role in roles]
    return {
        "account": request.user.get_username(),
        "role": role,
        "scopes": scopes_of(request.auth),
        "lists": {name: address(f"api-{name}") for name in lists},
        "schema": address("api-schema"),
    }


class Description(SpectacularAPIView):
    """The OpenAPI description, which contains no data.

    The page that shows it uses the person's session; no other endpoint accepts a session.
    """

    authentication_classes = [TokenInHeader, SessionAuthentication]
    permission_classes = [IsAuthenticated]
    http_method_names = ["get", "head"]

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        others = {k: v for k, v in request.query_params.items() if k != "format"}
        validate(NoParameters, others)
        renderer: type[BaseRenderer] = type(request.accepted_renderer)
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        return HttpResponse(
            render_schema(renderer.media_type or ""),
            content_type=f"{renderer.media_type}{charset}",
            headers={"Content-Disposition": f'inline; filename="Tandem.{renderer.format}"'},
        )


@cache
def render_schema(media_type: str) -> bytes:
    """Render the description once per format, since it takes seconds and is the same for all."""
    (renderer,) = (r for r in Description.renderer_classes if r.media_type == media_type)
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return force_bytes(renderer().render(schema, renderer_context={}))


@require_safe
@login_required
def docs(request: HttpRequest) -> HttpResponse:
    return render(request, "api/docs.html")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Handle a 404, with a sentence for a script and a page for a person."""
    if wants_data(request):
        sentence = SENTENCES.get(type(exception), NO_ADDRESS)
        return JsonResponse({"error": sentence, "problems": []}, status=404)
    return page_not_found(request, exception)


NO_ADDRESS = "this address does not exist; every address ends with a slash"

PACKAGES = ("datasets.api", "annotation.api", "judging.api", "analysis.api")
v1: list[URLPattern | URLResolver] = [
    *api.urls,
    *(url for package in PACKAGES for url in urls_of(package)),
]
urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", Description.as_view(), name="api-schema"),
    path("docs/", docs, name="api-docs"),
]
