"""The static files app, and a check of `manage.py check --deploy`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security, deploy=True)
def check_tls(**_: Any) -> list[CheckMessage]:
    """Warn if no proxy ends TLS, since the web server would then redirect to https for ever."""
    if settings.PLAIN_HTTP or settings.PROXIES:
        return []
    hint = "set TANDEM_PROXIES=1 behind a proxy with TLS, TANDEM_PLAIN_HTTP=1 on your own machine"
    return [Warning("No proxy ends TLS in front of the site.", hint=hint, id="tandem.W001")]


class StaticFiles(StaticFilesConfig):
    """Leaves out files of packages that no page uses, which are most of them."""

    ignore_patterns = [
        *StaticFilesConfig.ignore_patterns,
        "*.map",
        "rest_framework",
        "redoc",
        "*-preset.js",
    ]
