"""Authentication by a token in a header, and the scopes that restrict what its account may do.

Each endpoint names, by method, the scopes of which one suffices (`Resource.scopes`). This module
defines what the scopes mean and which roles may have them, and is the only place that checks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from datasets.api.base import ScopeError
from tandem.verbs import verb_of

if TYPE_CHECKING:
    from rest_framework.views import APIView

READ, LABEL, MANAGE, JUDGE, PEOPLE = "read", "label", "manage", "judge", "people"
SCOPES: Mapping[str, str] = {
    READ: "read batches, campaigns, items, labels, reports and exports",
    LABEL: "take one’s own items and answer them",
    MANAGE: "upload and prepare batches, create and change campaigns, import labels, "
    "create snapshots",
    JUDGE: "define judges, try them, and start and stop their runs",
    PEOPLE: "read and change accounts, invitations and members of campaigns",
}
ANY = tuple(SCOPES)
LEAST: Mapping[str, tuple[str, ...]] = {
    "annotator": (LABEL,),
    "researcher": (READ,),
    "admin": (READ,),
}
"""The scopes of a token that was created without any, by the role of its account."""
MOST: Mapping[str, tuple[str, ...]] = {
    "annotator": (READ, LABEL),
    "researcher": ANY,
    "admin": (READ, MANAGE, JUDGE, PEOPLE),
}
"""The scopes that a role can use."""
SAFE = ("GET", "HEAD")


class HasScope(BasePermission):
    """Whether the token has a scope that the endpoint requires; raises ScopeError otherwise."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        required = required_scopes(view, str(request.method))
        if required and not set(required) & set(scopes_of(request.auth)):
            raise ScopeError(
                f"this token lacks the scope {' or '.join(required)}; create one with it on the "
                f"page of tokens or by `{verb_of('create_token')} --scope`"
            )
        return True


def required_scopes(view: Any, method: str) -> tuple[str, ...]:
    """Return the scopes of which one suffices; none for a method that the endpoint lacks."""
    plain = "GET" if method in SAFE else method
    scopes: Iterable[str] = getattr(view, "scopes", {}).get(plain, ())
    return tuple(scopes)


def scopes_of(token: Any) -> tuple[str, ...]:
    """Return the scopes of a token; none for a token without a grant."""
    grant = getattr(token, "grant", None) if token is not None else None
    return tuple(grant.scopes) if grant is not None else ()


WORDS = ("Token", "Bearer")
"""The words before a token. They mean the same: many HTTP libraries only know the second."""


class TokenInHeader(TokenAuthentication):
    """`Authorization: Token …` or `Bearer …`, by `manage.py create_token`, stored as a hash."""

    def authenticate_header(self, request: Any) -> str:
        """Return the word that the request uses, which is also the one of a refusal."""
        used = get_authorization_header(request).partition(b" ")[0].lower()
        return next((word for word in WORDS if word.lower().encode() == used), WORDS[0])

    def authenticate_credentials(self, token: bytes) -> tuple[Any, Any]:
        if not token.isascii():
            raise AuthenticationFailed
        user_and_token: tuple[Any, Any] = super().authenticate_credentials(token)
        return user_and_token


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "datasets.api.permissions.TokenInHeader"
    name = ["token", "bearer"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """Return one requirement for each scheme: either of them suffices."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        creates = f"`{verb_of('create_token')} NAME` creates one."
        return [
            {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": f"`Token tandem_…`, including the word `Token`. {creates}",
            },
            {
                "type": "http",
                "scheme": "bearer",
                "description": f"`Bearer tandem_…`: the same tokens. {creates}",
            },
        ]
