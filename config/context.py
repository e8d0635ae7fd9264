"""Variables of every template, and static files under names that hold a hash of their content."""

from __future__ import annotations

from django.conf import settings
from django.contrib.staticfiles.storage import HashedFilesMixin
from django.http import HttpRequest
from whitenoise.storage import CompressedManifestStaticFilesStorage


def csp_nonce(request: HttpRequest) -> dict[str, object]:
    """The nonce under the name that django-htmx's tags look for."""
    return {"csp_nonce": getattr(request, "csp_nonce", "")}


def product(request: HttpRequest) -> dict[str, object]:
    return {"version": settings.TANDEM_VERSION}


_CSS = HashedFilesMixin.patterns[0][1]
_IMPORTS = HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined]


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Files name each other by their hashed names too: one changed module changes its importers.

    Ours alone: the files of packages name source maps that are not collected, and hold words in
    texts and comments that look like an import.
    """

    support_js_module_import_aggregation = False
    patterns = (("css/*.css", _CSS), ("js/*.js", _IMPORTS))
