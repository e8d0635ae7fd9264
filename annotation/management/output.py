"""Writing what a command makes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from django.core.management.base import CommandError


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Writes a file whole or not at all: beside it first, then in its place.

    Raises CommandError where the file cannot be written.
    """
    beside = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
    try:
        with beside.open("x", encoding="utf-8", newline="") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be written ({why}); choose another file.") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
