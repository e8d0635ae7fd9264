"""Who may open a page, and the address that a request comes from.

This is in the leftmost app because every other app has pages too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from ipaddress import ip_address
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, JsonResponse

P = ParamSpec("P")
Called = TypeVar("Called", bound=Callable[..., object])
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def role_required(*roles: str) -> Callable[[View[P]], View[P]]:
    """Lets only accounts of these roles in; a script without a session hears 401, not a page."""

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


def takes_files(view: Called) -> Called:
    """Marks a view that takes files, up to TANDEM_MAX_UPLOAD_MB; others take what a form needs."""
    view.takes_files = True  # type: ignore[attr-defined]
    return view


def wants_data(request: HttpRequest) -> bool:
    """Whether a script asks, which can do nothing with a page."""
    accepted = request.headers.get("Accept", "")
    from_script = "application/json" in accepted or request.path_info.startswith("/api/")
    return from_script or "HX-Request" in request.headers


def client_address(request: HttpRequest) -> str:
    """Who asks: as our own proxies tell it, where there are any, else who is connected.

    Each proxy adds at the end the address that it was asked from, so that of the outermost of ours
    stands as many from the end as there are proxies. What stands before it may be made up.
    """
    connected = str(request.META.get("REMOTE_ADDR") or "")
    told = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if not settings.PROXIES or len(told) < settings.PROXIES:
        return connected
    address = told[-settings.PROXIES].strip()
    try:
        return str(ip_address(address))
    except ValueError:
        return connected


def _log_in_first(request: HttpRequest) -> HttpResponseBase:
    if wants_data(request):
        return JsonResponse({"message": "log in again"}, status=401)
    return redirect_to_login(request.get_full_path())
