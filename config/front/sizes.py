"""The maximum length of bodies by path, for the front, which checks it before the site does."""

from __future__ import annotations

from urllib.parse import unquote

from django.conf import settings
from django.http import Http404
from django.urls import resolve

from config.front.incoming import DiskBudget, Limits
from config.middleware import MEGABYTE

UPLOADS_AT_ONCE = 3


def longest_body(path: str) -> int:
    """Return the maximum number of bytes that `config.middleware.BodyGuard` accepts."""
    try:
        view = resolve(unquote(path)).func
    except Http404:
        return 0
    return _files() if getattr(view, "takes_files", False) else 0


def body_limits() -> Limits:
    plain = min(_files(), int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
    folder = str(settings.FILE_UPLOAD_TEMP_DIR)
    return Limits(plain, longest_body, DiskBudget(UPLOADS_AT_ONCE * _files()), folder)


def _files() -> int:
    return int(settings.TANDEM_MAX_UPLOAD_MB) * MEGABYTE
