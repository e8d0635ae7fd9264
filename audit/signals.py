"""Record log-ins and log-outs from Django's signals.

`config.login_guard` records wrong passwords.
"""

from __future__ import annotations

from typing import Any

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver

from audit.recording import record


@receiver(user_logged_in)
def _record_login(sender: Any, user: Any, request: Any = None, **more: Any) -> None:
    facts: Any = _means(request)
    record("login", of=("account", user.pk), by=user.pk, **facts)


def _means(request: Any) -> dict[str, str | bool]:
    """Return how somebody logged in, beyond a password; django-allauth notes it in the session."""
    session = getattr(request, "session", None) or {}
    methods = {each.get("method") for each in session.get(AUTHENTICATION_METHODS_SESSION_KEY, ())}
    how: dict[str, str | bool] = {"how": "oidc"} if "socialaccount" in methods else {}
    return how | {"second_factor": True} if "mfa" in methods else how


@receiver(user_logged_out)
def _record_logout(sender: Any, user: Any, **more: Any) -> None:
    # The user is None if the session had already ended.
    if user is not None:
        record("logout", of=("account", user.pk), by=user.pk)
