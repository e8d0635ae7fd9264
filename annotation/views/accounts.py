"""Log-in and log-out, and the home of each role."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import User
from annotation.views.mine import user_of
from datasets.access import role_required

HOMES = {
    User.Role.ANNOTATOR: "work",
    User.Role.RESEARCHER: "campaigns",
    User.Role.ADMIN: "batches",
}


@method_decorator(require_http_methods(["GET", "HEAD", "POST"]), name="dispatch")
class LogIn(LoginView):
    template_name = "accounts/login.html"
    redirect_authenticated_user = True


@method_decorator(require_POST, name="dispatch")
class LogOut(LogoutView):
    pass


@require_safe
def who(request: HttpRequest) -> HttpResponseBase:
    """Who is logged in in this browser by now, for a page that was opened earlier.

    A CSRF token that holds comes with it, so that such a page can log in again or send again.
    """
    get_token(request)
    user = request.user
    if not isinstance(user, User):
        return JsonResponse({"user": None})
    return JsonResponse({"user": user.pk, "name": user.get_full_name() or user.username})


@require_safe
@role_required(*User.Role.values)
def home(request: HttpRequest) -> HttpResponseBase:
    return redirect(HOMES[User.Role(user_of(request).role)])
