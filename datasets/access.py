"""Who may open a page. It stands in the leftmost app, since every other one has pages too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, JsonResponse

P = ParamSpec("P")
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


def _log_in_first(request: HttpRequest) -> HttpResponseBase:
    from_script = "application/json" in request.headers.get("Accept", "")
    if from_script or request.headers.get("HX-Request"):
        return JsonResponse({"message": "log in again"}, status=401)
    return redirect_to_login(request.get_full_path())
