"""Django's own apps, as Tandem uses them."""

from __future__ import annotations

from django.contrib.staticfiles.apps import StaticFilesConfig

from config import checks  # noqa: F401 - registered by being read


class StaticFiles(StaticFilesConfig):
    """What packages bring and no page of ours asks for is not collected: it is the most of it."""

    ignore_patterns = [
        *StaticFilesConfig.ignore_patterns,
        "*.map",
        "rest_framework",
        "redoc",
        "*-preset.js",
    ]
