"""Files as one ZIP archive that is made while it is sent, and never held whole."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator

from django.utils import timezone

from annotation.files.sink import Sink

STORED = (".parquet",)


def zipped(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """An archive of files, each given as its path and its pieces."""
    sink, now = Sink(), timezone.now().timetuple()[:6]
    with zipfile.ZipFile(sink, "w") as archive:
        for path, pieces in files:
            entry = zipfile.ZipInfo(path, now)
            packed = path.endswith(STORED)
            entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            # Its size is not known before, and the head of an entry must say how wide sizes are.
            with archive.open(entry, "w", force_zip64=True) as file:
                for piece in pieces:
                    file.write(piece)
                    if written := sink.taken():
                        yield written
        yield sink.taken()
    yield sink.taken()
