"""The second factor: codes of an authenticator app, security keys, and recovery codes.

django-allauth stores and checks them. Which roles need one is `settings.TANDEM_SECOND_FACTOR`; a
person without one can do nothing but add one. API tokens need no second factor, since their owner
created each of them. When a factor is added, the owner decides whether existing tokens end.
"""

from __future__ import annotations

import time
from base64 import b32decode
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode

from allauth.account.authentication import (
    AUTHENTICATION_METHODS_SESSION_KEY,
    get_authentication_records,
)

# Allauth has no public function for this. It is the only internal one that we use.
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa import app_settings as mfa_settings
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authentication_failed, authenticator_removed
from allauth.mfa.utils import decrypt
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.hotp import HOTP
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from annotation.models import User
from annotation.people.accounts import end_sessions
from audit.recording import folded, record
from datasets.access import wants_data
from tandem.grouping import grouped

Type = Authenticator.Type
MAIN = (Type.TOTP, Type.WEBAUTHN)
"""The kinds of factors. Recovery codes are no factor, but can replace one."""
LAST = "last_counter"
STEP = "first_step"
OPEN = frozenset(
    {
        "login", "logout", "who", "mfa_index", "mfa_activate_totp", "mfa_reauthenticate",
        "account_reauthenticate",
    }
)  # fmt: skip
"""The addresses for a person who needs a second factor and has not given it.

Recovery codes are not among them, since a password alone would open them, and they stand in for the
factor.
"""


def is_required(user: User) -> bool:
    return user.role in settings.TANDEM_SECOND_FACTOR and not user.is_guest


def has_factor(user: User) -> bool:
    return Authenticator.objects.filter(user=user, type__in=MAIN).exists()


def is_confirmed(request: HttpRequest) -> bool:
    """Whether the account has given a second factor in this session. Makes no query."""
    records = get_authentication_records(request, request.user)
    return any(each.get("method") == "mfa" for each in records)


class Required:
    """Middleware that requires a second factor from the roles that need one."""

    def __init__(self, handle: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.handle(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponseBase | None:
        if not settings.TANDEM_SECOND_FACTOR or request.path_info.startswith("/api/"):
            return None
        user, match = request.user, request.resolver_match
        if not isinstance(user, User) or not is_required(user) or is_confirmed(request):
            return None
        if match is not None and match.view_name in OPEN:
            return None
        if wants_data(request):
            return JsonResponse({"message": "give your second factor first"}, status=401)
        where = reverse("mfa_reauthenticate" if has_factor(user) else "mfa_index")
        back = request.get_full_path() if request.method == "GET" else reverse("home")
        return redirect(f"{where}?{urlencode({'next': back})}")


def begin_step(request: HttpRequest, user: User) -> None:
    """Remember the account's state at the first step of a log-in."""
    request.session[STEP] = user.get_session_auth_hash()


def is_outdated(request: HttpRequest, user: User) -> bool:
    """Return whether the first step no longer counts, for example since the password changed."""
    known = request.session.get(STEP, "")
    return not user.is_active or not constant_time_compare(known, user.get_session_auth_hash())


def record_new_factor(
    request: HttpRequest, user: User, kind: str, code: str, with_tokens: bool = False
) -> None:
    """Record a new factor, in the transaction that adds it. Its set-up counts as a confirmation.

    Other sessions end, since they were begun without it, and tokens if the person asks for that.
    The code that confirmed the factor is used up.
    """
    use_once(Authenticator.objects.get(user=user, type=kind), code)
    with folded():
        end_sessions(user, with_tokens)
    update_session_auth_hash(request, user)
    record("factor.added", of=("account", user.pk), by=user.pk, kind=kind)
    record_authentication(request, user, "mfa", type=kind)


def valid_steps() -> Iterable[int]:
    """Return the time steps whose codes are accepted now, the earliest first (RFC 6238)."""
    now = int(time.time()) // mfa_settings.TOTP_PERIOD
    return range(now - mfa_settings.TOTP_TOLERANCE, now + mfa_settings.TOTP_TOLERANCE + 1)


def code_at(step: int, secret: str) -> str:
    """Return the code of an app at a time step (RFC 4226)."""
    key = b32decode(secret, casefold=True)
    hotp = HOTP(key, mfa_settings.TOTP_DIGITS, SHA1(), enforce_key_length=False)
    return hotp.generate(step).decode()


def use_once(authenticator: Authenticator, code: str) -> bool:
    """Use up a correct code of an app. Returns False if it, or a later one, was used before.

    Allauth remembers used codes in one process only.
    """
    with transaction.atomic():
        row = Authenticator.objects.select_for_update().get(pk=authenticator.pk)
        secret = decrypt(row.data["secret"])
        used = [step for step in valid_steps() if code_at(step, secret) == code]
        if not used or used[0] <= row.data.get(LAST, 0):
            return False
        row.data[LAST] = used[0]
        row.save(update_fields=["data"])
    return True


def remove_all(user: User) -> bool:
    """Remove all factors of an account and end its sessions. Returns False if there were none.

    For a person who has lost them; the admin has to make sure that it is this person who asks.
    """
    with transaction.atomic():
        found = Authenticator.objects.filter(user=user)
        if not found.exists():
            return False
        found.delete()
        with folded():
            end_sessions(user)
        record("factor.removed", of=("account", user.pk), kind="all")
    return True


def kinds_of(users: Iterable[User]) -> dict[int, list[str]]:
    """Return the kinds of factors of accounts, by account."""
    rows = Authenticator.objects.filter(user__in=list(users), type__in=MAIN).order_by("pk")
    return grouped(rows.values_list("user", "type"))


@receiver(authenticator_removed)
def _record_removal(sender: Any, request: Any, user: User, authenticator: Any, **more: Any) -> None:
    record("factor.removed", of=("account", user.pk), by=user.pk, kind=authenticator.type)
    if not has_factor(user):
        records = request.session.get(AUTHENTICATION_METHODS_SESSION_KEY, [])
        request.session[AUTHENTICATION_METHODS_SESSION_KEY] = [
            each for each in records if each.get("method") != "mfa"
        ]


@receiver(authentication_failed)
def _record_failure(sender: Any, request: Any, user: User, authenticator: Any, **more: Any) -> None:
    record("login.failed", of=("account", user.pk), step="code")
