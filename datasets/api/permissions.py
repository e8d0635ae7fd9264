"""The scopes of a token: they narrow what its account may do, and never widen it.

Each endpoint names, by method, the scopes of which one is enough (`Resource.scopes`). This module
defines what the scopes mean and who may have which, and is the only place that checks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from datasets.api.errors import ScopeError

if TYPE_CHECKING:
    from rest_framework.views import APIView

READ, LABEL, MANAGE, JUDGE, PEOPLE = "read", "label", "manage", "judge", "people"
SCOPES: Mapping[str, str] = {
    READ: "read batches, campaigns, items, labels, reports and exports",
    LABEL: "take one's own items and answer them",
    MANAGE: "send and prepare batches, make and change campaigns, load labels, freeze reports",
    JUDGE: "define judges, try them, and start and stop their runs",
    PEOPLE: "read and change accounts, invitations and who takes part",
}
ANY = tuple(SCOPES)
LEAST: Mapping[str, tuple[str, ...]] = {
    "annotator": (LABEL,),
    "researcher": (READ,),
    "admin": (READ,),
}
"""The scopes of a token for which nobody asked for any, by the role of its account."""
MOST: Mapping[str, tuple[str, ...]] = {
    "annotator": (READ, LABEL),
    "researcher": ANY,
    "admin": (READ, MANAGE, JUDGE, PEOPLE),
}
"""The scopes that are of any use to a role."""
SAFE = ("GET", "HEAD")
UNLESS_SAID: Mapping[str, tuple[str, ...]] = {"GET": (READ,), "POST": (MANAGE,), "PUT": (MANAGE,)}


class ScopeMaySuffice(BasePermission):
    """A token without any of the scopes that an address asks for hears which one it lacks."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        wanted = wanted_by(view, str(request.method))
        if wanted and not set(wanted) & set(scopes_of(request.auth)):
            raise ScopeError(
                f"this token lacks the scope {' or '.join(wanted)}; make one with it, on the page "
                "of tokens or by `create_token --scope`"
            )
        return True


def wanted_by(view: Any, method: str) -> tuple[str, ...]:
    """The scopes of which one is enough; none for a method that the address lacks."""
    plain = "GET" if method in SAFE else method
    found: Iterable[str] = getattr(view, "scopes", {}).get(plain, ())
    return tuple(found)


def scopes_of(token: Any) -> tuple[str, ...]:
    """None for a token that nobody granted any."""
    grant = getattr(token, "grant", None) if token is not None else None
    return tuple(grant.scopes) if grant is not None else ()
