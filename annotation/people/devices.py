"""The cookie that exempts a known browser from the waits that others' wrong passwords cause.

It holds a random key for each of the last accounts, signed, beside a digest of the account's name.
The cookie logs nobody in. A thief of it can try passwords for these accounts only as often as
anybody at the log-in page (`annotation.people.login_limits`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.core import signing
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase

from annotation.models import User
from annotation.people.login_limits import KNOWN_FOR, Guess, digest_of, give_back, remember
from datasets.access import client_address

COOKIE, SALT, PATH = "device", "tandem.devices", "/login/"
MOST = 10
"""A browser in a computer room remembers this many accounts."""


def guess_of(request: HttpRequest, account: str) -> Guess:
    """Return where an attempt to log in comes from."""
    return Guess(account, client_address(request), device_of(request, account))


def accept_password(request: HttpRequest, user: User) -> None:
    """Undo the count of an attempt, since its password was correct."""
    give_back(guess_of(request, user.username).passwords())


def device_of(request: HttpRequest, account: str) -> str:
    """Return the browser's key for an account; empty if it has not logged in from this browser."""
    digest = digest_of(account)
    return next((key for name, key in _read(request) if name == digest), "")


def _read(request: HttpRequest) -> list[tuple[str, str]]:
    try:
        found = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=KNOWN_FOR)
    except signing.BadSignature:
        return []
    return [(name, key) for name, key in found]


@receiver(user_logged_in)
def _note(sender: Any, request: Any, user: User, **more: Any) -> None:
    # A guest has no password to guess.
    if request is not None and not user.is_guest:
        request.logged_in_now = user
        remember(user.username, client_address(request))


def devices(handle: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., object]:
    """Give the browser its cookie when somebody has logged in."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        response = handle(request)
        user = getattr(request, "logged_in_now", None)
        if user is not None:
            _write(request, response, user.username)
        return response

    return handled


def _write(request: HttpRequest, response: HttpResponseBase, account: str) -> None:
    key = device_of(request, account) or secrets.token_urlsafe(12)
    others = [each for each in _read(request) if each[0] != digest_of(account)]
    response.set_cookie(
        COOKIE,
        signing.dumps([(digest_of(account), key), *others][:MOST], salt=SALT),
        max_age=KNOWN_FOR,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
