"""The registry of file formats that batches are read from: one module and one line for each.

A reader is a module with `SUMMARY` (one line for `--help`), `recognises(path, first)` for a folder
(`first` is None) or a file and the object on its first line, and `read(paths, notes)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from datasets.readers import clapnq, crux, garage, label_studio, native
from datasets.readers.jsonl import objects, shown
from datasets.rows import InputError, Located, Place, ReadNotes

__all__ = ["READERS", "Reader", "read", "recognise"]


class Reader(Protocol):
    """What a module under this package offers."""

    SUMMARY: str

    def recognises(self, path: Path, first: Mapping[str, Any] | None) -> bool: ...

    def read(self, paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]: ...


# Asked in this order: a foreign format's first line may look native too.
READERS: Mapping[str, Reader] = {
    "crux": crux,
    "clapnq": clapnq,
    "garage": garage,
    "label-studio": label_studio,
    "native": native,
}


def recognise(paths: Sequence[Path]) -> str:
    """The name of the format that the files are in, by their first lines or a folder's layout.

    Files are taken together, since CRUX's passages alone would pass for native queries. Raises
    InputError where a first line cannot be read or no reader knows one of the files.
    """
    firsts = [(path, _first(path)) for path in paths]
    for name, reader in READERS.items():
        if any(reader.recognises(path, first) for path, first in firsts):
            return name
    path, first = firsts[0]
    raise InputError(
        Place(str(path), None if first is None else 1),
        "the format is not recognised",
        f"name it with --format: {', '.join(READERS)}",
    )


def read(
    paths: Sequence[Path], format: str | None = None, notes: ReadNotes | None = None
) -> Iterator[Located]:
    """The queries of the files, which make one batch, each with its place.

    Raises InputError for a format that is not recognised or not known, and while iterating for
    anything in a file that cannot be taken.
    """
    name = format or recognise(paths)
    if name not in READERS:
        raise InputError(
            Place(str(paths[0])),
            f"there is no format {shown(name)}",
            f"choose one of {', '.join(READERS)}",
        )
    return READERS[name].read(paths, notes if notes is not None else ReadNotes())


def _first(path: Path) -> Mapping[str, Any] | None:
    if path.is_dir() or path.suffix == crux.RUN:
        return None
    _, record = next(objects(path))
    return record
