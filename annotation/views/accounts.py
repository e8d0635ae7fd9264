"""Pages of log-in and log-out, the home page of each role, and one's own API tokens."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import user_of
from annotation.models import User
from datasets.access import role_required
from datasets.api.permissions import LEAST, MOST, SCOPES
from datasets.tokens import DAYS, LONGEST_NOTE, TokenError, make_token, take_back, tokens_of

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


LONGEST_DAYS = 365


class TokenForm(forms.Form):
    """What a new token is for. On the page it lasts a year at most."""

    note = forms.CharField(
        label="What it is for", required=False, max_length=LONGEST_NOTE, help_text="For yourself."
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one thing that it may do."},
    )
    days = forms.IntegerField(label="Days until it ends", min_value=1, max_value=LONGEST_DAYS)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["scopes"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(name, SCOPES[name]) for name in MOST[user.role]]


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*User.Role.values)
def tokens(request: HttpRequest) -> HttpResponse:
    """The list with a form; after a POST with the new token's words, this once."""
    user = _person(request)
    form = TokenForm(
        request.POST if request.method == "POST" else None,
        user=user,
        initial={"scopes": LEAST[user.role], "days": min(DAYS, 90)},
    )
    words, status = "", 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                words, status = make_token(user, **form.cleaned_data)[1], 200
            except TokenError as error:
                form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    context = {"form": form, "words": words, "grants": tokens_of(user), "now": timezone.now()}
    return render(request, "accounts/tokens.html", {**context, "section": "tokens"}, status=status)


@require_POST
@role_required(*User.Role.values)
def take_back_one(request: HttpRequest, pk: int) -> HttpResponse:
    take_back(get_object_or_404(tokens_of(_person(request)), pk=pk))
    return redirect("tokens")


def _person(request: HttpRequest) -> User:
    """Whose tokens they are; a guest came for one campaign, and gets none."""
    user = user_of(request)
    if user.is_guest:
        raise PermissionDenied
    return user
