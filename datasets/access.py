"""Access to pages by role, and the address that a request comes from.

The lowest app has this module, since every app has pages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from ipaddress import ip_address
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse

ANNOTATOR, RESEARCHER, ADMIN = "annotator", "researcher", "admin"
EVERYBODY = (ANNOTATOR, RESEARCHER, ADMIN)
WORKERS = (ANNOTATOR, RESEARCHER)
READERS = (RESEARCHER, ADMIN)
"""Groups of roles, under the names by which pages and the API require them."""

P = ParamSpec("P")
ViewT = TypeVar("ViewT", bound=Callable[..., object])
Found = TypeVar("Found")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def role_required(*roles: str) -> Callable[[View[P]], View[P]]:
    """Allow only accounts of these roles. A script without a session gets 401, not a page."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _log_in_first(request)
            if request.user.role not in roles:
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def takes_files(view: ViewT) -> ViewT:
    """Mark a view that accepts files, up to TANDEM_MAX_UPLOAD_MB. Others take smaller bodies."""
    view.takes_files = True  # type: ignore[attr-defined]
    return view


def longest_body(most: int) -> Callable[[ViewT], ViewT]:
    """Mark a view that takes no body of more bytes than this."""

    def mark(view: ViewT) -> ViewT:
        view.longest_body = most  # type: ignore[attr-defined]
        return view

    return mark


def found_or_404(found: Found | None) -> Found:
    """Return what a look-up found. Raises Http404 if that is nothing."""
    if found is None:
        raise Http404
    return found


def wants_data(request: HttpRequest) -> bool:
    """Whether a script sent the request, and needs data instead of a page."""
    accepted = request.headers.get("Accept", "")
    from_script = "application/json" in accepted or request.path_info.startswith("/api/")
    return from_script or "HX-Request" in request.headers


def client_address(request: HttpRequest) -> str:
    """Return the client's address, as the site's own proxies or the connection give it.

    Each proxy appends the address of its client, so with N proxies the client's address is the N-th
    from the end. Earlier addresses may be forged.
    """
    connected = str(request.META.get("REMOTE_ADDR") or "")
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if not settings.PROXIES or len(forwarded) < settings.PROXIES:
        return connected
    address = forwarded[-settings.PROXIES].strip()
    try:
        return str(ip_address(address))
    except ValueError:
        return connected


def _log_in_first(request: HttpRequest) -> HttpResponseBase:
    if wants_data(request):
        return JsonResponse({"message": "log in again"}, status=401)
    return redirect_to_login(request.get_full_path())
