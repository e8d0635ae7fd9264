"""Write ZIP archives in constant memory."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils import timezone


class Sink(io.RawIOBase):
    """A writable stream that cannot seek, like a connection."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        found, self._written = b"".join(self._written), []
        return found


STORED = (".parquet",)


def stream_zip(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield an archive of files, each given as its path and its pieces."""
    sink, now = Sink(), timezone.now().timetuple()[:6]
    with zipfile.ZipFile(sink, "w") as archive:
        for path, pieces in files:
            entry = zipfile.ZipInfo(path, now)
            packed = path.endswith(STORED)
            entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            # The size is unknown here, so the entry's header must allow for a large one.
            with archive.open(entry, "w", force_zip64=True) as file:
                for piece in pieces:
                    file.write(piece)
                    if written := sink.take():
                        yield written
        yield sink.take()
    yield sink.take()
