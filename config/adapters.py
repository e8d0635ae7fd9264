"""Adapters for django-allauth: no e-mail, no messages, no registration, and our own identities."""

from __future__ import annotations

import base64
import secrets
from hashlib import sha256
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.utils import is_mfa_enabled
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as gettext

from annotation.models import Invitation, User
from annotation.people import identities, second_factor
from annotation.people.identities import Identity
from annotation.people.invitations import landing
from annotation.people.languages import sentence
from annotation.people.membership import PeopleError
from tandem.messages import Message

BACKEND = "django.contrib.auth.backends.ModelBackend"
INVITATION = "invitation"
DISABLED = Message("this account is disabled; ask an administrator")


class _Quiet:
    """Sends no messages and no e-mail, since the pages say what happened."""

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        pass

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        pass

    def is_open_for_signup(self, *args: Any, **kwargs: Any) -> bool:
        return False


class AccountAdapter(_Quiet, DefaultAccountAdapter):
    """Logs people in with Django's backend, and never redirects to another host."""

    def pre_login(self, request: HttpRequest, user: Any, **more: Any) -> HttpResponse | None:
        response: HttpResponse | None = super().pre_login(request, user, **more)
        if response is None:
            second_factor.begin_step(request, user)
        return response

    def login(self, request: HttpRequest, user: Any) -> None:
        login(request, user, backend=BACKEND)

    def is_safe_url(self, url: str) -> bool:
        host, secure = context.request.get_host(), context.request.is_secure()
        return url_has_allowed_host_and_scheme(url, {host}, require_https=secure)

    def respond_user_inactive(self, request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
        return login_refusal(request, DISABLED)

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """On a site without passwords, only a second factor can be asked for again."""
        user = context.request.user
        if settings.TANDEM_PASSWORDS and user.has_usable_password():
            return super().is_reauthentication_required(app=app, **kwargs)
        return is_mfa_enabled(user)

    def get_reauthentication_methods(self, user: Any) -> list[dict]:
        found = super().get_reauthentication_methods(user)
        by_password = reverse("account_reauthenticate")
        words = {by_password: gettext("With your password")}
        return [
            each | {"description": words.get(each["url"], gettext("With a code"))}
            for each in found
            if settings.TANDEM_PASSWORDS or each["url"] != by_password
        ]


class SecondFactorAdapter(DefaultMFAAdapter):
    """Keeps secrets encrypted with the site's key, so a copy of the database holds no factor."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": gettext("This code is wrong, or was used before; enter the next one."),
    }

    def encrypt(self, text: str) -> str:
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return _cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            # The site's key has changed. No code is valid until an admin removes the factor.
            return base64.b32encode(secrets.token_bytes(20)).decode()

    def get_totp_issuer(self) -> str:
        return f"Tandem ({context.request.get_host()})"

    def generate_authenticator_name(self, user: Any, type: Any) -> str:
        return "Security key"


def _cipher() -> Fernet:
    key = sha256(b"tandem.second-factor\0" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))


class SingleSignOnAdapter(_Quiet, DefaultSocialAccountAdapter):
    """Finds an identity's account through `annotation.people.identities`, and stores no claims."""

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: Any) -> Any:
        claims = sociallogin.account.extra_data
        token, more = claims.get("id_token") or {}, claims.get("userinfo") or {}
        if token and more and token.get("sub") != more.get("sub"):
            raise ImmediateHttpResponse(
                login_refusal(
                    request, Message("the identity provider returned two different people")
                )
            )
        try:
            identities.check_nonce(token.get("nonce"), request.GET.get("state", ""))
            identity = identities.identity_of(
                merge_claims(token, more), settings.TANDEM_OIDC_ISSUER
            )
        except PeopleError as error:
            raise ImmediateHttpResponse(login_refusal(request, error.args[0])) from error
        sociallogin.identity = identity
        sociallogin.account.uid, sociallogin.account.extra_data = identity.uid, {}
        sociallogin.email_addresses = []
        return sociallogin.user

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        invitation = Invitation.objects.filter(pk=request.session.pop(INVITATION, None)).first()
        try:
            if sociallogin.state.get("process") == "connect":
                if isinstance(request.user, User):
                    identities.check_connectable(sociallogin.identity, request.user)
            elif sociallogin.is_existing:
                identities.take_part(invitation, sociallogin.user)
            else:
                self._connect_account(request, sociallogin, invitation)
        except PeopleError as error:
            raise ImmediateHttpResponse(login_refusal(request, error.args[0])) from error
        if invitation is not None and invitation.team_id is not None:
            sociallogin.state.setdefault("next", landing(invitation, sociallogin.user))

    def _connect_account(self, request: HttpRequest, sociallogin: Any, invitation: Any) -> None:
        identity: Identity = sociallogin.identity
        try:
            with transaction.atomic():
                user = identities.account_for(identity, invitation)
                if not user.is_active:
                    raise PeopleError(DISABLED)
                sociallogin.connect(request, user)
        except IntegrityError as error:
            raise PeopleError(
                Message("an account with this name was just created; log in again")
            ) from error

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return f"{reverse('mfa_index')}?done=linked"

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Any = None,
        extra_context: Any = None,
    ) -> None:
        reason = Message("the log-in was cancelled or failed at the identity provider; try again")
        raise ImmediateHttpResponse(login_refusal(request, reason, status=401))


def merge_claims(token: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Merge two sources of claims. `email_verified` is about the address of its own source only."""
    if "email" in more:
        token = {name: said for name, said in token.items() if name != "email_verified"}
    return {**token, **more}


def login_refusal(request: HttpRequest, reason: str, status: int = 403) -> HttpResponse:
    """Answer a log-in that leads to no account, with the reason and a link back to the log-in."""
    context = {"reason": sentence(PeopleError(reason))}
    return render(request, "accounts/refused.html", context, status=status)
