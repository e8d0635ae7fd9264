"""Log-in, and the home of each role."""

from __future__ import annotations

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from annotation.models import User
from annotation.views.mine import user_of
from datasets.access import role_required

HOMES = {
    User.Role.ANNOTATOR: "work",
    User.Role.RESEARCHER: "campaigns",
    User.Role.ADMIN: "batches",
}


class LogIn(LoginView):
    template_name = "accounts/login.html"
    redirect_authenticated_user = True


@require_safe
@role_required(*User.Role.values)
def home(request: HttpRequest) -> HttpResponseBase:
    return redirect(HOMES[User.Role(user_of(request).role)])
