"""Variables of every template, and static files under names with a hash of their content."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import HashedFilesMixin
from django.http import HttpRequest
from whitenoise.storage import CompressedManifestStaticFilesStorage


def csp_nonce(request: HttpRequest) -> dict[str, object]:
    """Return the nonce under the name that django-htmx's tags use."""
    return {"csp_nonce": getattr(request, "csp_nonce", "")}


def product(request: HttpRequest) -> dict[str, object]:
    return {"version": settings.TANDEM_VERSION}


class NotCollectedError(Exception):
    """A page names a static file that `collectstatic` has not stored."""

    def __init__(self, name: str, folder: object) -> None:
        super().__init__(
            f"the static file {name} is not in {folder}: run tandem collectstatic --noinput, and "
            "restart the site"
        )


_CSS = HashedFilesMixin.patterns[0][1]
_IMPORTS = HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined]


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Stores files under hashed names, also in imports, so a changed module changes its importers.

    The patterns match only this project's files. Files of packages refer to source maps that are
    not collected, and have texts and comments that look like imports.
    """

    support_js_module_import_aggregation = False
    # A pass hashes what imports the files of the pass before, and item pages import seven deep.
    max_post_process_passes = 10
    patterns = (("css/*.css", _CSS), ("js/*.js", _IMPORTS))

    def post_process(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        """Compress with a umask under which a proxy may read the new files."""
        umask = os.umask(0o022)
        try:
            yield from super().post_process(*arguments, **options)
        finally:
            os.umask(umask)

    def stored_name(self, name: str) -> str:
        try:
            found: str = super().stored_name(name)
        except ValueError as error:
            raise NotCollectedError(name, self.location) from error
        return found
