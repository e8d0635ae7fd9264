"""The registry of file formats that batches are read from, with one module for each format.

A reader is a module with `SUMMARY` (one line for `--help`), `recognises(path, first)` and
`read(paths, notes)`. `first` is the object on a file's first line, and None for a folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from datasets.readers import clapnq, crux, garage, label_studio, native, trec
from tandem.files.file_kinds import refuse_object
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Located, Place, ReadNotes
from tandem.files.tables import first_object
from tandem.similar import did_you_mean

__all__ = ["READERS", "Reader", "read", "recognise"]


class Reader(Protocol):
    """The interface of each reader module."""

    SUMMARY: str

    def recognises(self, path: Path, first: Mapping[str, Any] | None) -> bool: ...

    def read(self, paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]: ...


# Tried in this order, since the first line of another format may look native, too.
READERS: Mapping[str, Reader] = {
    "trec-rag": trec,
    "crux": crux,
    "clapnq": clapnq,
    "garage": garage,
    "label-studio": label_studio,
    "native": native,
}


def recognise(paths: Sequence[Path]) -> str:
    """Return the name of the files' format, by their first lines or a folder's layout.

    All files are considered together, since CRUX's passages alone would pass for native queries.
    Tables of TREC, which have no objects, come with others.
    Raises InputError if a first line cannot be read, or if no reader recognises any of the files.
    """
    tables = {path for path in paths if trec.is_table(path)}
    if len(tables) == len(paths):
        tables = set()
    firsts = [(path, None if path in tables else _first(path)) for path in paths]
    for name, reader in READERS.items():
        if any(reader.recognises(path, first) for path, first in firsts):
            return name
    for path, first in firsts:
        if first is not None:
            refuse_object(first, Place(str(path), 1), "batch")
    path, first = firsts[0]
    raise InputError(
        Place(str(path), None if first is None else 1),
        "the format is not recognised",
        f"name it with --format: {', '.join(READERS)}",
    )


def read(
    paths: Sequence[Path], format: str | None = None, notes: ReadNotes | None = None
) -> Iterator[Located]:
    """Yield the queries of the files, which form one batch, each with its place.

    Raises InputError for a format that is unknown or not recognised, and while iterating for
    anything in a file that cannot be loaded.
    """
    name = format or recognise(paths)
    if name not in READERS:
        raise InputError(
            Place(str(paths[0])),
            f"there is no format {excerpt(name)}",
            did_you_mean(name, READERS, f"choose one of {', '.join(READERS)}"),
        )
    return READERS[name].read(paths, notes if notes is not None else ReadNotes())


def _first(path: Path) -> Mapping[str, Any] | None:
    if path.is_dir() or path.suffix == crux.RUN:
        return None
    return first_object(path)
