"""Derived batches: storing one with its lineage.

A batch is derived from another one, its source: by a rule from people's labels, by a preparation
step, or by adding a file. Its lineage says how. All is stored in one transaction, so that a
derivation that dies leaves nothing. A digest of each unit with its labels records what a derivation
read.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from django.conf import settings
from django.db import transaction

from audit.recording import record
from datasets.atomic_files import new_file
from datasets.db.bulk import bulk_write, compress_fast, refresh_statistics
from datasets.loading import TABLES, Writer, check_name
from datasets.material import Digest, as_line
from datasets.models import Batch, LabelsRead, LeftOut, Lineage
from datasets.readers.batch_rules import BatchRules
from tandem.files import rows
from tandem.files.rows import InputError, Located, Place, ReadNotes
from tandem.options import FieldError

DERIVED = "derived"
RULE, STEP, EXTENDED = "rule", "step", "extended"
CHUNK = 2000
UNIT = 8
"""The bytes of a unit's digest."""
MAX_REASON = 200
SHOWN = 20
"""How many of the dropped parts a command lists."""


class DerivationError(FieldError):
    """Why a batch cannot be derived, and what to do, without a full stop."""


class NotDecidedError(DerivationError):
    """Labels are missing or tied. The message names units and the options that would decide."""


@dataclass(frozen=True)
class Origin:
    """The facts about a derivation that are known in advance. `by` is an account's primary key."""

    kind: str
    rule: str
    version: str
    source: Batch
    options: Mapping[str, Any] = field(default_factory=dict)
    campaigns: Sequence[Mapping[str, str]] = ()
    decided_by: str = ""
    ties: str = ""
    files: Sequence[Mapping[str, str]] = ()
    by: int | None = None


@dataclass
class Tally:
    """What a derivation kept and dropped, in numbers, with each dropped part.

    `kept` counts parts by kind, `dropped` by kind and reason, and `undecided` those kept or dropped
    without a decision. `facts` are other numbers. `left_out` is written to the database and emptied
    now and then, while `first_left_out` stays.
    """

    kept: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, Counter[str]] = field(default_factory=dict)
    undecided: Counter[str] = field(default_factory=Counter)
    facts: dict[str, Any] = field(default_factory=dict)
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    first_left_out: list[tuple[str, str, str]] = field(default_factory=list)

    def keep(self, what: str, number: int = 1) -> None:
        self.kept[what] += number

    def drop(self, what: str, key: str, reason: str) -> None:
        self.dropped.setdefault(what, Counter())[reason] += 1
        self.left_out.append((what, key, reason[:MAX_REASON]))
        if len(self.first_left_out) < SHOWN:
            self.first_left_out.append(self.left_out[-1])

    def as_counts(self) -> dict[str, Any]:
        """Return the counts as they are stored, in a stable order."""
        return {
            "kept": dict(sorted(self.kept.items())),
            "dropped": {
                what: dict(sorted(reasons.items()))
                for what, reasons in sorted(self.dropped.items())
            },
            "undecided": dict(sorted(self.undecided.items())),
        }


_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


class UnitDigests:
    """The digests of the units that were read, and one over all of them."""

    def __init__(self) -> None:
        self._all = hashlib.sha256()
        self._units = bytearray()

    def add(self, unit: object) -> None:
        """Add a unit with its labels, as JSON."""
        text = _encode(unit)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        self._all.update(digest)
        self._units += digest[:UNIT]

    def __bool__(self) -> bool:
        return bool(self._units)

    def hexdigest(self) -> str:
        return self._all.hexdigest() if self._units else ""

    def array(self) -> np.ndarray[Any, Any]:
        """Return the digests of units, sorted."""
        return np.sort(np.frombuffer(bytes(self._units), ">u8"))


@dataclass
class Derived:
    """A derivation's result. `batch` is None for a dry run.

    `queries` is the number of queries that it has. `unchanged` if the batch existed before.
    """

    name: str
    digest: str
    queries: int
    tally: Tally
    batch: Batch | None = None
    unchanged: bool = False


def derive_batch(
    name: str,
    origin: Origin,
    made: Iterable[rows.Query],
    tally: Tally,
    digests: UnitDigests,
    output: Path | None = None,
    dry_run: bool = False,
    finish: Callable[[], None] = lambda: None,
    places: Mapping[str, Place] | None = None,
) -> Derived:
    """Store the queries of a derivation as a batch with its lineage, all or nothing.

    `made` yields the queries and fills `tally` and `digests` on the way. `finish` is called after
    the last query, and may refuse the whole. A batch of this name with the same content stays, and
    its lineage says what was read now. `output` gets the batch's file. A dry run stores nothing.
    `places` has the places of queries in files, for errors. Raises DerivationError or InputError.
    """
    check_name(name)
    derivation = _Derivation(name, origin, tally, digests, finish, places or {})
    with _new_file(output if not dry_run else None) as file:
        if dry_run:
            return derivation.count(made)
        with transaction.atomic():
            derived = derivation.store(_write_through(made, file))
    return derived


class _Derivation:
    """One derivation under way."""

    def __init__(
        self,
        name: str,
        origin: Origin,
        tally: Tally,
        digests: UnitDigests,
        finish: Callable[[], None],
        places: Mapping[str, Place],
    ) -> None:
        self.name, self.origin, self.tally, self.digests = name, origin, tally, digests
        self.places = places
        self.finish, self.notes, self.digest, self.queries = finish, ReadNotes(), Digest(), 0

    def check_queries(self, made: Iterable[rows.Query]) -> Iterator[rows.Query]:
        rules = BatchRules(self.notes)
        for query in made:
            self.queries += 1
            place = self.places.get(query.id) or Place(f"query {query.id!r} of {self.name!r}")
            rules.add(Located(query, place))
            self.digest.add(query)
            yield query
        rules.finish()
        self.finish()
        if not self.queries:
            raise DerivationError(
                f"{self.origin.rule} leaves no query of {self.origin.source.name!r}; "
                "no batch was created"
            )

    def count(self, made: Iterable[rows.Query]) -> Derived:
        for _ in self.check_queries(made):
            self.tally.left_out = []
        return self._result(None)

    def store(self, made: Iterable[rows.Query]) -> Derived:
        if there := Batch.objects.filter(name=self.name).first():
            return self._compare_with_existing(there, made)
        compress_fast()
        source = self.origin.source
        batch = Batch.objects.create(
            name=self.name, format=DERIVED, team=source.team, made_by_id=self.origin.by
        )
        lineage = Lineage(batch=batch)
        self._save(lineage)
        counts = Writer(batch).write(self._flush_left_out(lineage, self.check_queries(made)))
        self._finish(lineage)
        batch.digest, batch.counts = self.digest.hexdigest(), counts
        batch.warnings, batch.skipped = self.notes.warnings, self.notes.skipped
        batch.save()
        number = counts.get("queries", 0)
        record("batch.derived", of=batch, after=batch.digest, queries=number, rule=self.origin.rule)
        refresh_statistics(*TABLES)
        return self._result(batch)

    def _compare_with_existing(self, there: Batch, made: Iterable[rows.Query]) -> Derived:
        """Compare with the batch of this name, and renew its lineage if it has the same content."""
        if there.team_id != self.origin.source.team_id:
            raise DerivationError(f"the name {self.name!r} is taken; choose another", "name")
        lineage = Lineage.objects.filter(batch=there).first()
        found = list[tuple[str, str, str]]()
        for _ in self.check_queries(made):
            found += self.tally.left_out
            self.tally.left_out = []
        found += self.tally.left_out
        if self.digest.hexdigest() != there.digest:
            raise DerivationError(
                f"a batch called {self.name!r} has other content; choose another name, since a "
                "batch never changes",
                "name",
            )
        about = lineage is not None and self._is_about(lineage)
        if lineage is not None and about and lineage.labels != self.digests.hexdigest():
            lineage.left_out.all().delete()
            self._write_left_out(lineage, found)
            self._finish(lineage)
            record("batch.derived", of=there, after=there.digest, rule=self.origin.rule)
        return self._result(there, unchanged=True)

    def _is_about(self, lineage: Lineage) -> bool:
        same = lineage.kind, lineage.rule, lineage.source_id
        return same == (self.origin.kind, self.origin.rule, self.origin.source.pk)

    def _flush_left_out(self, lineage: Lineage, made: Iterable[rows.Query]) -> Iterator[rows.Query]:
        """Yield the queries, and write what was left out before it takes much memory."""
        for query in made:
            if len(self.tally.left_out) >= CHUNK:
                self._write_left_out(lineage, self.tally.left_out)
                self.tally.left_out = []
            yield query

    def _write_left_out(self, lineage: Lineage, found: Sequence[tuple[str, str, str]]) -> None:
        lines = ((lineage.pk, *each) for each in found)
        bulk_write(LeftOut, ("lineage_id", "what", "key", "reason"), lines)

    def _save(self, lineage: Lineage) -> None:
        origin = self.origin
        lineage.kind, lineage.rule, lineage.rule_version = origin.kind, origin.rule, origin.version
        lineage.source, lineage.options = origin.source, dict(origin.options)
        lineage.campaigns = [dict(each) for each in origin.campaigns]
        lineage.files = [dict(each) for each in origin.files]
        lineage.decided_by, lineage.ties = origin.decided_by, origin.ties
        lineage.by_id, lineage.version = origin.by, settings.TANDEM_VERSION
        lineage.labels = self.digests.hexdigest()
        lineage.counts, lineage.facts = self.tally.as_counts(), self.tally.facts
        lineage.save()

    def _finish(self, lineage: Lineage) -> None:
        """Store what is known only after the last query."""
        if self.tally.left_out:
            self._write_left_out(lineage, self.tally.left_out)
            self.tally.left_out = []
        self._save(lineage)
        if self.digests:
            read = {"digests": self.digests.array().tobytes()}
            LabelsRead.objects.update_or_create(lineage=lineage, defaults=read)

    def _result(self, batch: Batch | None, unchanged: bool = False) -> Derived:
        digest = self.digest.hexdigest()
        return Derived(self.name, digest, self.queries, self.tally, batch, unchanged)


@contextmanager
def _new_file(path: Path | None) -> Iterator[BinaryIO | None]:
    """Yield the file for the batch, moved into place if no error occurs; None without a path."""
    with ExitStack() as stack:
        file = None
        if path is not None:
            target = path.resolve()
            try:
                if target.is_dir():
                    raise IsADirectoryError(21, "is a folder")
                file = stack.enter_context(new_file(target))
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                wrong = f"cannot be written ({why})"
                raise InputError(Place(str(path)), wrong, "choose another") from error
        yield file


def _write_through(made: Iterable[rows.Query], file: BinaryIO | None) -> Iterator[rows.Query]:
    for query in made:
        if file is not None:
            file.write(file_line(query))
        yield query


def file_line(query: rows.Query) -> bytes:
    """Return a query's line in the native format, the same from every database."""
    line = _sorted_meta(as_line(query))
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _sorted_meta(value: Any, inside: bool = False) -> Any:
    """Sort the keys of every `meta`, whose order a database may change."""
    if isinstance(value, Mapping):
        names = sorted(value) if inside else value
        return {name: _sorted_meta(value[name], inside or name == "meta") for name in names}
    return [_sorted_meta(each, inside) for each in value] if isinstance(value, list) else value
