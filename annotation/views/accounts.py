"""Pages of log-in and log-out, the home page of each role, and one's own API tokens."""

from __future__ import annotations

from typing import Any

from allauth.account.utils import perform_login
from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account
from annotation.models import User
from annotation.people.devices import accept_password
from annotation.people.languages import sentence, set_language
from datasets.access import EVERYBODY, role_required
from datasets.api.permissions import LEAST, MOST, SCOPES
from datasets.api_tokens import DAYS, LONGEST_NOTE, TokenError, make_token, revoke, tokens_of
from datasets.option_fields import set_choices

MAX_DAYS = 365
HOMES = {
    User.Role.ANNOTATOR: "work",
    User.Role.RESEARCHER: "start",
    User.Role.ADMIN: "batches",
}


@method_decorator(require_http_methods(["GET", "HEAD", "POST"]), name="dispatch")
class LogIn(LoginView):
    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        assert isinstance(user, User)
        accept_password(self.request, user)
        # Logs in, after asking for the second factor if the account has one.
        answer: HttpResponse = perform_login(
            self.request, user, redirect_url=self.get_success_url()
        )
        return answer

    def post(self, request: HttpRequest, *args: object, **more: object) -> HttpResponse:
        if not settings.TANDEM_PASSWORDS:
            return self.render_to_response({**_entrance(), "no_passwords": True}, status=403)
        return super().post(request, *args, **more)

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        return super().get_context_data(**more) | _entrance()


def _entrance() -> dict[str, Any]:
    return {"passwords": settings.TANDEM_PASSWORDS, "single_sign_on": settings.TANDEM_OIDC_NAME}


@method_decorator(require_POST, name="dispatch")
class LogOut(LogoutView):
    pass


@require_safe
def who(request: HttpRequest) -> HttpResponseBase:
    """Return the user who is logged in now, for a page that was opened earlier.

    The response sets a valid CSRF token, so that such a page can log in again or send again.
    """
    get_token(request)
    user = request.user
    if not isinstance(user, User):
        return JsonResponse({"user": None})
    return JsonResponse({"user": user.pk, "name": user.get_full_name() or user.username})


@require_safe
@role_required(*EVERYBODY)
def home(request: HttpRequest) -> HttpResponseBase:
    return redirect(HOMES[User.Role(get_account(request).role)])


class TokenForm(forms.Form):
    """A new API token, valid for at most a year."""

    note = forms.CharField(
        label=gettext("Note"),
        required=False,
        max_length=LONGEST_NOTE,
        help_text=gettext("Only you see it."),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext("Scopes"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext("Choose at least one scope.")},
    )
    days = forms.IntegerField(label=gettext("Valid for, in days"), min_value=1, max_value=MAX_DAYS)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "scopes", [(name, gettext(SCOPES[name])) for name in MOST[user.role]])


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*EVERYBODY)
def tokens(request: HttpRequest) -> HttpResponse:
    """List the user's tokens with a form; after a POST, show the new token once."""
    user = _token_owner(request)
    form = TokenForm(
        request.POST if request.method == "POST" else None,
        user=user,
        initial={"scopes": LEAST[user.role], "days": min(DAYS, 90)},
    )
    new_token, status = "", 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                new_token, status = make_token(user, **form.cleaned_data)[1], 200
            except TokenError as error:
                form.add_error(None, sentence(error))
    context = {
        "form": form,
        "new_token": new_token,
        "grants": tokens_of(user),
        "now": timezone.now(),
        "section": "tokens",
    }
    return render(request, "accounts/tokens.html", context, status=status)


@require_POST
@role_required(*EVERYBODY)
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    revoke(get_object_or_404(tokens_of(_token_owner(request)), pk=pk))
    return redirect("tokens")


def _token_owner(request: HttpRequest) -> User:
    """Return the logged-in user. Raises PermissionDenied for a guest, who gets no tokens."""
    user = get_account(request)
    if user.is_guest:
        raise PermissionDenied
    return user


@require_POST
@role_required(*EVERYBODY)
def choose_language(request: HttpRequest) -> HttpResponse:
    """Store the language of one's own pages; an empty one follows the browser."""
    set_language(get_account(request), request.POST.get("language", ""))
    return redirect("work" if get_account(request).role != User.Role.ADMIN else "home")
