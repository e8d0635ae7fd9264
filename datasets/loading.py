"""Rows into the database, all or nothing, with a report of what was loaded and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction

from audit.recording import record
from datasets import models, rows
from datasets.bulk import compress_fast, refresh_statistics
from datasets.lines import Digest
from datasets.readers import read, recognise
from datasets.readers.batch_rules import BatchRules
from datasets.rows import InputError, Located, Place, ReadNotes
from datasets.storing import TABLES, Writer


@dataclass
class LoadReport:
    """What became of the files. `unchanged` where the same batch was there before."""

    name: str
    format: str
    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    unchanged: bool = False


def load_batch(
    paths: Sequence[Path],
    name: str,
    format: str | None = None,
    progress: Callable[[int], None] = lambda done: None,
    expected: str | None = None,
) -> LoadReport:
    """Loads files as one batch. Raises InputError, and then nothing is kept.

    A batch of that name with the same content is left as it is; with other content it is an error,
    since what was judged must not change under its labels. So is content with another digest than
    the `expected` one.
    """
    check_name(name)
    format = format or recognise(paths)
    notes, digest = ReadNotes(), Digest()
    located = checked(read(paths, format, notes), notes, digest, progress)
    with transaction.atomic():
        there = models.Batch.objects.filter(name=name).first()
        if there is not None:
            return _same(there, located, digest, paths)
        compress_fast()
        batch = models.Batch.objects.create(name=name, format=format)
        counts = Writer(batch).write(located)
        check_content(paths, counts.get("queries", 0), digest, expected)
        batch.digest, batch.counts = digest.hexdigest(), counts
        batch.warnings, batch.skipped = notes.warnings, notes.skipped
        batch.save()
        record("batch.loaded", of=batch, after=batch.digest, queries=counts.get("queries", 0))
        refresh_statistics(*TABLES)
    return LoadReport(name, format, counts, notes.warnings, notes.skipped)


def check_name(name: str) -> None:
    longest = models.Batch._meta.get_field("name").max_length or 0
    if "\0" in name:
        raise InputError(Place("--name"), "the batch's name has a NUL character", "take it out")
    if not name.strip() or len(name) > longest:
        wrong = f"the batch's name is blank or longer than {longest} characters"
        raise InputError(Place("--name"), wrong, "choose another")


def check_content(
    paths: Sequence[Path], queries: int, digest: Digest, expected: str | None = None
) -> None:
    """What can be said of files only when they are read through. Raises InputError."""
    if not queries:
        raise InputError(Place(str(paths[0])), "holds no query", "give a file with queries")
    if expected is not None and digest.hexdigest() != expected:
        wrong = "reads otherwise than when it was looked through"
        raise InputError(Place(str(paths[0])), wrong, "look through it again")


def checked(
    located: Iterable[Located],
    notes: ReadNotes,
    digest: Digest,
    progress: Callable[[int], None],
) -> Iterator[rows.Query]:
    """The rows as they pass all rules of a batch, each into the digest. Raises InputError."""
    rules = BatchRules(notes)
    for number, each in enumerate(located, start=1):
        rules.add(each)
        digest.add(each.query)
        progress(number)
        yield each.query
    rules.finish()


def _same(
    there: models.Batch, located: Iterable[rows.Query], digest: Digest, paths: Sequence[Path]
) -> LoadReport:
    for _ in located:
        pass
    if digest.hexdigest() != there.digest:
        raise InputError(
            Place(str(paths[0])),
            f"a batch called {there.name!r} holds other content",
            "choose another --name; a loaded batch never changes",
        )
    return LoadReport(
        there.name, there.format, there.counts, there.warnings, there.skipped, unchanged=True
    )
