"""Celery's broker in a folder, for a site without Redis or Valkey.

kombu writes a message into the very file in which a worker looks for it. A worker moves it to the
folder for temporary files before it reads it; if that is another file system, the move is a copy,
which another worker's copy may replace. A worker that finds half a message ends. Here a message is
whole as soon as it can be found, and one worker takes it.
"""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

OLD_SECONDS = 600
"""Younger messages are not read again at each new one."""


class Channel(filesystem.Channel):
    """kombu's channel with its own way to put and to take a message.

    A message is a file `<nanoseconds>_<token>.<queue>.msg`, so that messages are taken in their
    order. A name that begins with a full stop belongs to no queue.
    """

    def _put(self, queue: str, payload: dict[str, Any], **_: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        _remove_expired(folder)
        name = f"{time.monotonic_ns()}_{secrets.token_hex(16)}.{queue}.msg"
        new = folder / f".{name}"
        try:
            new.write_text(dumps(payload), "utf-8")
            new.rename(folder / name)
        except OSError as error:
            raise ChannelError(f"a message cannot be written to {str(folder)!r}") from error

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        folder = Path(self.data_folder_in)
        for path in sorted(folder.iterdir()):
            if path.name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = folder / f".{path.name}"
            try:
                path.rename(taken)
            except FileNotFoundError:
                continue  # another worker has it
            try:
                text = taken.read_text("utf-8")
                taken.unlink()
            except OSError as error:
                raise ChannelError(f"the message {path.name!r} cannot be read") from error
            message: dict[str, Any] = loads(text)
            return message
        raise Empty


def _remove_expired(folder: Path) -> None:
    """Remove old messages that have expired, which on a site without workers nobody takes."""
    old = time.time() - OLD_SECONDS
    for path in folder.glob("[!.]*.msg"):
        with suppress(OSError, ValueError, AttributeError):
            if path.stat().st_mtime < old:
                expires = loads(path.read_text("utf-8"))["headers"].get("expires")
                if expires and datetime.fromisoformat(expires) < datetime.now(UTC):
                    path.unlink()


class Transport(filesystem.Transport):
    Channel = Channel
