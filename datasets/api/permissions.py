"""The scopes of a token, which restrict what its account may do.

Each endpoint names, by method, the scopes of which one suffices (`Resource.scopes`). This module
defines what the scopes mean and which roles may have them, and is the only place that checks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

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
