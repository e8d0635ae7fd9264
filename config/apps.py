"""The static files app, and checks of `manage.py check`: of TLS, and of the database's version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS


@register(Tags.security, deploy=True)
def check_tls(**_: Any) -> list[CheckMessage]:
    """Warn if no proxy ends TLS, since the web server would then redirect to https for ever."""
    if settings.PLAIN_HTTP or settings.PROXIES:
        return []
    hint = "set TANDEM_PROXIES=1 behind a proxy with TLS, TANDEM_PLAIN_HTTP=1 on your own machine"
    return [Warning("No proxy ends TLS in front of the site.", hint=hint, id="tandem.W001")]


@register(Tags.database)
def check_version(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Refuse a database that a newer version has migrated. The table is not read without need."""
    from datasets.db.versions import NewerDatabaseError, refuse_newer_database

    try:
        if databases and DEFAULT_DB_ALIAS in databases:
            refuse_newer_database()
    except NewerDatabaseError as error:
        return [Error(str(error), id="tandem.E001")]
    return []


class StaticFiles(StaticFilesConfig):
    """Leaves out files of packages that no page uses, which are most of them."""

    ignore_patterns = [
        *StaticFilesConfig.ignore_patterns,
        "*.map",
        "rest_framework",
        "redoc",
        "*-preset.js",
    ]
