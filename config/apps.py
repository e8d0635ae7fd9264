"""Django's own apps as Tandem uses them, and the checks of `manage.py check --deploy`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security, deploy=True)
def tls_ends_somewhere(**_: Any) -> list[CheckMessage]:
    """The web server speaks no TLS: without a proxy every request is sent to https for ever."""
    if settings.PLAIN_HTTP or settings.PROXIES:
        return []
    hint = "set TANDEM_PROXIES=1 behind a proxy with TLS, TANDEM_PLAIN_HTTP=1 on your own machine"
    return [Warning("Nothing in front of the site ends TLS.", hint=hint, id="tandem.W001")]


class StaticFiles(StaticFilesConfig):
    """What packages bring and no page of ours asks for is not collected: it is the most of it."""

    ignore_patterns = [
        *StaticFilesConfig.ignore_patterns,
        "*.map",
        "rest_framework",
        "redoc",
        "*-preset.js",
    ]
