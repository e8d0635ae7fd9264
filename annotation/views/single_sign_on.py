"""Pages for log-in by OpenID Connect, for linking an account, and for log-in by an admin's link."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import requests
from allauth.account.decorators import reauthentication_required
from allauth.account.utils import perform_login
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account
from annotation.people import identities
from annotation.people.invitations import invitation_of
from annotation.people.log_in_links import account_of
from annotation.people.second_factor import record_authentication
from annotation.views.second_factor import done_at, own_account
from datasets.access import client_address
from datasets.api.throttling import seconds_to_wait, try_again_after

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
