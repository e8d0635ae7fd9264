"""The guard of the log-in page, asked before a password is checked, and the page for who waits.

The limits are in `annotation.people.login_limits`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import PermissionDenied
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.timezone import now

from annotation.people import login_limits
from annotation.people.login_limits import guess_of
from audit.recording import record
from datasets.access import client_address

logger = logging.getLogger("tandem.security")
MINUTE = 60  # seconds
Handler = Callable[[HttpRequest], HttpResponseBase]


class LogInGuard:
    """Counts an attempt before its password is checked. A correct one is taken back later.

    It logs nobody in, and has no `get_user`: the backends after it do and have.
    """

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        """Raise PermissionDenied, which ends the attempt, if it may not be made yet."""
        if request is None:
            raise ValueError("a log-in needs its request, by whose address attempts are counted")
        counts = guess_of(request, _account(credentials)).passwords()
        if wait := login_limits.take(counts, now()):
            request.log_in_wait = wait  # type: ignore[attr-defined]
            raise PermissionDenied


@receiver(user_login_failed)
def note_failure(
    sender: Any, credentials: Mapping[str, Any], request: Any = None, **more: Any
) -> None:
    """Record a wrong password, and close log-in if it was the last free one."""
    if request is None:
        return
    account = _account(credentials)
    counts = guess_of(request, account).passwords()
    request.log_in_wait = getattr(request, "log_in_wait", None) or login_limits.wait(counts, now())
    if request.log_in_wait:
        # The name is not logged, since people type passwords into the wrong field.
        logger.warning("log-in locked", extra={"address": client_address(request)})
        return
    # The trail names an existing account, and never the text that was typed.
    accounts = get_user_model()._default_manager.filter(username=account)
    record("login.failed", of=("account", accounts.values_list("pk", flat=True).first()))


def _account(credentials: Mapping[str, Any]) -> str:
    return str(credentials.get("username") or "")[:255]


def log_in_waits(handle: Handler) -> Handler:
    """Answer 429 after too many wrong guesses, equally for existing and unknown accounts.

    `request.log_in_wait`, which whoever counts guesses sets, is the time until the next one.
    """

    def handled(request: HttpRequest) -> HttpResponseBase:
        response = handle(request)
        wait = getattr(request, "log_in_wait", timedelta(0))
        return _locked_page(request, math.ceil(wait.total_seconds())) if wait else response

    return handled


def _locked_page(request: HttpRequest, wait: int) -> HttpResponseBase:
    page = render(request, "accounts/locked.html", {"wait": format_wait(wait)}, status=429)
    page["Retry-After"] = str(wait)
    return page


def format_wait(seconds: int) -> str:
    """Return a wait as a person would say it: "10 seconds", "a minute", "32 minutes"."""
    if seconds < MINUTE:
        return f"{seconds} second{'' if seconds == 1 else 's'}"
    minutes = math.ceil(seconds / MINUTE)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
