"""Writing what a command makes."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from django.core.management.base import CommandError, OutputWrapper


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Writes a text file whole or not at all: beside it first, then in its place.

    Raises CommandError where the file cannot be written.
    """

    def write(file: BinaryIO) -> None:
        file.writelines(line.encode("utf-8") for line in lines)

    write_file(path, write)


def write_file(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """A file that `write` fills, whole or not at all. A link's target is written, not the link;
    a device or a pipe has no place beside it and is written as it comes.

    Raises CommandError where the file cannot be written.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as file:
                write(file)
        else:
            _replace(target, write)
    except BrokenPipeError:
        pass
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be written ({why}); choose another file.") from error


def _replace(path: Path, write: Callable[[BinaryIO], None]) -> None:
    beside = path.parent / f".{path.name[:50]}.{secrets.token_hex(8)}"
    try:
        with beside.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def print_lines(out: OutputWrapper, lines: Iterable[str]) -> None:
    """Lines to a command's standard output, for as long as somebody reads it."""
    try:
        for line in lines:
            out.write(line, ending="")
        out.flush()
    except BrokenPipeError:
        # Python would complain of it once more at its end, when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
