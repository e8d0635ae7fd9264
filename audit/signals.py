"""Records log-ins and log-outs from Django's signals.

Wrong passwords are recorded where they are counted, in `config.login_guard`.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver

from audit.recording import record


@receiver(user_logged_in)
def _came(sender: Any, user: Any, **more: Any) -> None:
    record("login", of=("account", user.pk), by=user.pk)


@receiver(user_logged_out)
def _went(sender: Any, user: Any, **more: Any) -> None:
    # Nobody is told of where the session had ended before.
    if user is not None:
        record("logout", of=("account", user.pk), by=user.pk)
