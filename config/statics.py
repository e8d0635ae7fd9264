"""Static files under names that hold a hash of their content; a browser keeps them for ever."""

from __future__ import annotations

from django.contrib.staticfiles.storage import HashedFilesMixin
from whitenoise.storage import CompressedManifestStaticFilesStorage

_CSS = HashedFilesMixin.patterns[0][1]
_IMPORTS = HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined]


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Files name each other by their hashed names too: one changed module changes its importers.

    Ours alone: the files of packages name source maps that are not collected, and hold words in
    texts and comments that look like an import.
    """

    support_js_module_import_aggregation = False
    patterns = (("css/*.css", _CSS), ("js/*.js", _IMPORTS))
