"""The guard of the log-in page: django-axes asks it before a password is checked.

The limits are in `annotation.people.login_limits`. Axes itself counts only after the check, so
concurrent attempts exceed its limit, and it locks either an account everywhere or an address.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from axes.handlers.base import AxesHandler
from django.contrib.auth import get_user_model
from django.http import HttpRequest

from annotation.models import User
from annotation.people import login_limits
from annotation.people.devices import guess_of
from audit.recording import record

logger = logging.getLogger("tandem.security")

Credentials = dict[str, Any] | None


class LogInGuard(AxesHandler):
    """Counts an attempt before its password is checked. A correct one is taken back later."""

    def is_locked(self, request: HttpRequest, credentials: Credentials = None) -> bool:
        return bool(_wait(request, credentials))

    def is_allowed(self, request: HttpRequest, credentials: Credentials = None) -> bool:
        counts = guess_of(request, _account(credentials)).passwords()
        return not login_limits.take(counts, request.axes_attempt_time)  # type: ignore[attr-defined]

    def user_login_failed(
        self, sender: Any, credentials: dict, request: Any = None, **kwargs: Any
    ) -> None:
        if request is None:
            return
        if request.axes_locked_out or self.is_locked(request, credentials):
            request.log_in_wait = _wait(request, credentials)
            request.axes_locked_out = True
            # The name is not logged, since people type passwords into the wrong field.
            logger.warning("log-in locked", extra={"address": request.axes_ip_address})
            return
        # The trail names an existing account, and never the text that was typed.
        accounts = get_user_model()._default_manager.filter(username=_account(credentials))
        record("login.failed", of=("account", accounts.values_list("pk", flat=True).first()))

    def reset_attempts(self, *, username: str | None = None, **_: Any) -> int:
        """Unlock an account, or everything, for the commands of axes."""
        if username is None:
            return login_limits.unlock_all()
        user = User.objects.filter(username=username).first()
        return int(user is not None and login_limits.unlock(user))


def _wait(request: Any, credentials: Credentials) -> timedelta:
    guess = guess_of(request, _account(credentials))
    return login_limits.wait(guess.passwords(), request.axes_attempt_time)


def _account(credentials: Credentials) -> str:
    return str((credentials or {}).get("username") or "")[:255]
