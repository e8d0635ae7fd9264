"""Pages of log-in and log-out, also by OpenID Connect, of passwords, home pages and API tokens.

It asks for the old password or a code of the app first, as the pages of the second factor do, but
not after a log-in by a link that an admin gave them.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import requests
from allauth.account.decorators import reauthentication_required
from allauth.account.utils import perform_login
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django import forms
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm
from django.contrib.auth.password_validation import password_validators_help_texts
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as gettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account
from annotation.models import User
from annotation.people import identities
from annotation.people.identities import account_of
from annotation.people.invitations import invitation_of
from annotation.people.languages import sentence, set_language
from annotation.people.login_limits import accept_password
from annotation.people.second_factor import record_authentication
from annotation.views.second_factor import done_at, own_account
from audit.recording import record
from datasets.access import EVERYBODY, client_address, role_required
from datasets.api.concurrency import seconds_to_wait, try_again_after
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


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@own_account
@reauthentication_required
def new_password(request: HttpRequest) -> HttpResponse:
    """Set a new password, which ends the account's other log-ins and its tokens."""
    if not settings.TANDEM_PASSWORDS:
        raise PermissionDenied
    user = get_account(request)
    form: SetPasswordForm[User] = SetPasswordForm(user, request.POST or None)
    # Django's list of rules is an HTML list, which cannot be inside a paragraph.
    form.fields["new_password2"].label = gettext("Repeat the new password")
    form.fields["new_password2"].help_text = ""
    form.fields["new_password1"].help_text = " ".join(password_validators_help_texts())
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            form.save()
            record("account.password", of=("account", user.pk), by=user.pk)
        update_session_auth_hash(request, user)
        return redirect(done_at("mfa_index", "password"))
    context: dict[str, Any] = {"form": form, "part": "tokens"}
    return render(request, "accounts/password.html", context, status=422 if form.errors else 200)


INVITATION = "invitation"
require_confirmation = reauthentication_required(app="allauth.socialaccount")(lambda request: None)
"""Raises ReauthenticationRequired unless the person has just confirmed who they are."""
AWAY = gettext("The identity provider cannot be reached right now. Try again in a minute.")


@require_POST
def start(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Redirect to the identity provider to log in, to join by an invitation, or to link an account.

    A page redirects there, since a form of this site may not be sent to another (`form-action`).
    """
    _check(provider_id)
    # Allauth reads the query string, too, where the checks below would not see it.
    if request.GET or request.POST.get("process", "login") not in ("login", "connect"):
        raise PermissionDenied
    if request.POST.get("process") == "connect":
        if not request.user.is_authenticated or get_account(request).is_guest:
            raise PermissionDenied
        require_confirmation(request)
    invitation = invitation_of(request.POST.get("key", ""))
    # An invitation that an earlier person left unfinished in this browser is not for the next one.
    request.session.pop(INVITATION, None)
    if invitation is not None and invitation.state == "open":
        request.session[INVITATION] = invitation.pk
    try:
        response = openid_connect.login(request, provider_id)
    except requests.RequestException:
        return render(request, "accounts/refused.html", {"reason": AWAY}, status=503)
    if response.status_code != 302:
        return response
    context = {"address": _with_nonce(response["Location"]), "name": settings.TANDEM_OIDC_NAME}
    return render(request, "accounts/away.html", context)


def _with_nonce(address: str) -> str:
    """Add the nonce, which allauth does not send."""
    state = parse_qs(urlsplit(address).query)["state"][0]
    return f"{address}&{urlencode({'nonce': identities.nonce_of(state)})}"


@require_safe
def back(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Handle the identity provider's response, which is valid once and only in this browser."""
    _check(provider_id)
    response: HttpResponseBase = openid_connect.callback(request, provider_id)
    return response


def _check(provider_id: str) -> None:
    if not settings.TANDEM_OIDC_ISSUER or provider_id != identities.PROVIDER:
        raise Http404


def _remove_link(request: HttpRequest) -> HttpResponse:
    user = get_account(request)
    if not (settings.TANDEM_PASSWORDS and user.has_usable_password()):
        raise PermissionDenied
    require_confirmation(request)
    identities.unlink(user)
    return redirect(done_at("mfa_index", "unlinked"))


remove_link = require_POST(own_account(_remove_link))


@require_http_methods(["GET", "HEAD", "POST"])
def log_in_by_link(request: HttpRequest) -> HttpResponseBase:
    """Log in by a link from an admin or a command; a GET only shows the button.

    The person may set a new password at once, without the old one.
    """
    wait = seconds_to_wait("join", client_address(request))
    if wait is not None:
        context = {"reason": gettext("Too many links were tried from your network address.")}
        return try_again_after(wait, render(request, "accounts/refused.html", context, status=429))
    user = account_of(request.GET.get("key", ""))
    if user is None:
        context = {"reason": gettext("This link was used, or is older than ten minutes.")}
        return render(request, "accounts/refused.html", context, status=410)
    if request.method == "POST":
        then = reverse("password") if settings.TANDEM_PASSWORDS else None
        answer: Any = perform_login(request, user, redirect_url=then)
        if request.user.is_authenticated:
            record_authentication(request, user, method="link", reauthenticated=True)
        return answer
    return render(request, "accounts/link.html", {"account": user})
