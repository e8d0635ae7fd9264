"""Counting wrong passwords by account and by address, in django-axes' table."""

from __future__ import annotations

import logging
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import router, transaction
from django.db.models import F, Sum
from django.http import HttpRequest

from audit.recording import record

logger = logging.getLogger("tandem.security")

Credentials = dict[str, Any] | None


class LogInGuard(AxesDatabaseHandler):
    """Counts an attempt before checking its password, and uncounts it if the password is correct.

    Axes counts only after the check, so concurrent attempts exceed its limit. It also clears a
    whole address after a correct password, so a person with an account could guess at other
    accounts without limit. Here no more attempts than the limit are checked, and a correct password
    clears only its own account. Attempts during the wait are not counted and do not extend it.
    """

    def is_locked(self, request: HttpRequest, credentials: Credentials = None) -> bool:
        return self._left(request, credentials) <= 0

    def is_allowed(self, request: HttpRequest, credentials: Credentials = None) -> bool:
        if not super().is_allowed(request, credentials):
            return False
        self.clean_expired_user_attempts(request, credentials)
        self._count(request, credentials)
        # Every attempt is counted before its check, so concurrent ones cannot exceed the limit.
        return self._left(request, credentials) >= 0

    def user_login_failed(
        self, sender: Any, credentials: dict, request: Any = None, **kwargs: Any
    ) -> None:
        if request is None:
            return
        if request.axes_locked_out or self.is_locked(request, credentials):
            request.axes_locked_out = True
            request.axes_credentials = credentials
            # The name is not logged, since people type passwords into the wrong field.
            logger.warning("log-in locked", extra={"address": request.axes_ip_address})
            return
        # The trail names an existing account, and never the text that was typed.
        accounts = get_user_model()._default_manager.filter(username=_account(credentials))
        record("login.failed", of=("account", accounts.values_list("pk", flat=True).first()))

    def reset_user_attempts(self, request: HttpRequest, credentials: Credentials = None) -> int:
        rows = AccessAttempt.objects.filter(username=_account(credentials))
        return rows.delete()[0]

    def _left(self, request: Any, credentials: Credentials) -> int:
        """Return the attempts left; negative if more came at once."""
        attempts = zip(
            settings.AXES_LOCKOUT_PARAMETERS,
            self.get_user_attempts(request, credentials),
            strict=True,
        )
        return min(
            settings.LOGIN_TRIES[by] - (rows.aggregate(n=Sum("failures_since_start"))["n"] or 0)
            for by, rows in attempts
        )

    def _count(self, request: Any, credentials: Credentials) -> None:
        with transaction.atomic(using=router.db_for_write(AccessAttempt)):
            row, created = AccessAttempt.objects.get_or_create(
                username=_account(credentials),
                ip_address=request.axes_ip_address,
                user_agent="",
                defaults={
                    "get_data": "",
                    "post_data": "",
                    "http_accept": "",
                    "path_info": request.axes_path_info,
                    "failures_since_start": 1,
                    "attempt_time": request.axes_attempt_time,
                },
            )
            if not created:
                AccessAttempt.objects.filter(pk=row.pk).update(
                    failures_since_start=F("failures_since_start") + 1,
                    attempt_time=request.axes_attempt_time,
                )


def _account(credentials: Credentials) -> str:
    return str((credentials or {}).get("username") or "")[:255]
