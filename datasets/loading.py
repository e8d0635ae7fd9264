"""Load a batch into the database, all or nothing, and report what was skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.db import models as db
from django.db import transaction

from audit.recording import record
from datasets import models
from datasets.access import visible_to_team
from datasets.db.bulk import Row, bulk_write, compress_fast, refresh_statistics, reserve
from datasets.digests import line_digest, text_digests
from datasets.material import Digest, part_of_line
from datasets.readers import read, recognise
from datasets.readers.batch_rules import BatchRules
from tandem.files import rows
from tandem.files.rows import InputError, Located, Place, ReadNotes
from tandem.names import why_no_name

CHUNK = 2000
Stored = tuple[int, rows.Query]
"""A query's primary key and its row."""

_QUERY = ("id", "batch_id", "key", "position", "text", "history", "asked_at", "references", "meta")
_DIGEST = ("query_id", "line", "texts")
_PASSAGE = ("id", "batch_id", "key", "text")
_PART = ("batch_id", "query_id", "key", "position", "text", "meta")
_GROUNDING = (
    "query_id",
    "passage_id",
    "position",
    "title",
    "source",
    "published_at",
    "age",
    "sentences",
    "relevant",
    "use",
    "meta",
)
_REPORT = (
    *_PART,
    "system",
    "family",
    "setting",
    "context",
    "citations",
    "sentences",
    "sentence_citations",
    "deflected",
    "key_points",
)


class Writer:
    """Writes a batch's queries with all their parts, within the caller's transaction."""

    def __init__(self, batch: models.Batch) -> None:
        self.batch = batch.pk
        self.counts: Counter[str] = Counter()
        self.passages: dict[str, int] = {}
        self.late: list[Stored] = []

    def write(self, queries: Iterable[rows.Query]) -> dict[str, int]:
        """Write all queries; return the number of rows of each kind."""
        chunk: list[rows.Query] = []
        size = 0
        for query in queries:
            chunk.append(query)
            size += 1 + len(query.passages) + len(query.questions) + len(query.reports)
            if size >= CHUNK:
                self._chunk(chunk)
                chunk, size = [], 0
        self._chunk(chunk)
        self._bulk("key_points", self.late)
        return dict(self.counts)

    def _chunk(self, chunk: list[rows.Query]) -> None:
        keys = reserve(models.Query, len(chunk))
        stored = list(zip(keys, chunk, strict=True))
        first = self.counts["queries"]
        queries = (self._query(key, q, first + n) for n, (key, q) in enumerate(stored))
        bulk_write(models.Query, _QUERY, queries)
        digests = (
            (key, line_digest(first + n, q), text_digests(q)) for n, (key, q) in enumerate(stored)
        )
        bulk_write(models.QueryDigest, _DIGEST, digests)
        self.counts["queries"] += len(chunk)
        self._passages(chunk)
        self._bulk("questions", stored)
        self._bulk("groundings", stored)
        self._bulk("reports", stored)
        self._bulk("nuggets", stored)
        self._bulk("key_points", [each for each in stored if not self._is_early(each)])
        self._bulk("rankings", stored)

    def _is_early(self, stored: Stored) -> bool:
        """Return whether a key point names a passage of a later line."""
        early = any(point.passage not in self.passages for point in stored[1].key_points)
        if early:
            self.late.append(stored)
        return early

    def _bulk(self, name: str, stored: Iterable[Stored]) -> None:
        model, columns = _TABLES[name]
        make = getattr(self, f"_{name}")
        made = [row for key, query in stored for row in make(key, query)]
        if made:
            bulk_write(model, columns, made)
        if name != "groundings":
            self.counts[name] += len(made)

    def _passages(self, chunk: list[rows.Query]) -> None:
        new = {p.id: p.text for q in chunk for p in q.passages if p.id not in self.passages}
        keys = reserve(models.Passage, len(new))
        self.passages |= zip(new, keys, strict=True)
        made = zip(keys, new.items(), strict=True)
        if new:
            bulk_write(
                models.Passage, _PASSAGE, ((pk, self.batch, *passage) for pk, passage in made)
            )
        self.counts["passages"] += len(new)

    def _query(self, key: int, query: rows.Query, position: int) -> Row:
        references = [part_of_line(reference) for reference in query.references]
        return (
            key,
            self.batch,
            query.id,
            position,
            query.text,
            [part_of_line(turn) for turn in query.history],
            query.asked_at,
            references,
            query.meta,
        )

    def _part(self, query: int, row: Any, position: int) -> tuple[Any, ...]:
        return self.batch, query, row.id, position, row.text, row.meta

    def _questions(self, key: int, query: rows.Query) -> Iterator[Row]:
        for n, row in enumerate(query.questions):
            yield *self._part(key, row, n), row.weight

    def _groundings(self, key: int, query: rows.Query) -> Iterator[Row]:
        for n, p in enumerate(query.passages):
            values = (p.title, p.source, p.published_at, p.age, p.sentences)
            yield key, self.passages[p.id], n, *values, p.relevant, p.use, p.meta

    def _reports(self, key: int, query: rows.Query) -> Iterator[Row]:
        for n, r in enumerate(query.reports):
            facts = r.system, r.family, r.setting
            lists = r.context, r.citations, r.sentences, r.sentence_citations
            points = None if r.key_points is None else [part_of_line(k) for k in r.key_points]
            yield *self._part(key, r, n), *facts, *lists, r.deflected, points

    def _nuggets(self, key: int, query: rows.Query) -> Iterator[Row]:
        for n, row in enumerate(query.nuggets):
            yield *self._part(key, row, n), row.importance, row.sources

    def _key_points(self, key: int, query: rows.Query) -> Iterator[Row]:
        for n, row in enumerate(query.key_points):
            yield *self._part(key, row, n), self.passages[row.passage], row.spans, row.score

    def _rankings(self, key: int, query: rows.Query) -> Iterator[Row]:
        for n, row in enumerate(query.rankings):
            yield key, row.system, n, row.passages


_TABLES: dict[str, tuple[type[db.Model], Sequence[str]]] = {
    "questions": (models.Question, (*_PART, "weight")),
    "groundings": (models.Grounding, _GROUNDING),
    "reports": (models.Report, _REPORT),
    "key_points": (models.KeyPoint, (*_PART, "passage_id", "spans", "score")),
    "nuggets": (models.Nugget, (*_PART, "importance", "sources")),
    "rankings": (models.Ranking, ("query_id", "system", "position", "passages")),
}
TABLES: tuple[type[db.Model], ...] = (
    models.Query,
    models.Passage,
    *(model for model, _ in _TABLES.values()),
)
"""The models of a batch's rows."""


@dataclass
class LoadReport:
    """The result of a load. `unchanged` if the same batch already existed."""

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
    names: Sequence[str] = (),
    team: models.Team | None = None,
    by: Any = None,
) -> LoadReport:
    """Load files as one batch of a team. Raises InputError, and then stores nothing.

    Without a team it belongs to the site's only one. `by` is the account that loads it, None for a
    command.

    A batch of that name with the same content stays as it is. Other content under that name is an
    error, since texts must not change under their labels. Content with another digest than the
    `expected` one is an error, too. `names` are those of the files, if their paths have others.
    """
    check_name(name)
    format = format or recognise(paths)
    notes, digest = ReadNotes(), Digest()
    located = check_queries(read(paths, format, notes), notes, digest, progress)
    with transaction.atomic():
        there = models.Batch.objects.filter(name=name).first()
        if there is not None:
            _check_visible(there, team)
            return _report_existing(there, located, digest, paths)
        compress_fast()
        batch = models.Batch(name=name, format=format, made_by=by)
        if team is not None:
            batch.team = team
        batch.save()
        counts = Writer(batch).write(located)
        check_content(paths, counts.get("queries", 0), digest, expected)
        batch.digest, batch.counts = digest.hexdigest(), counts
        batch.warnings, batch.skipped = notes.warnings, notes.skipped
        batch.files = file_facts(paths, names)
        batch.save()
        record("batch.loaded", of=batch, after=batch.digest, queries=counts.get("queries", 0))
        refresh_statistics(*TABLES)
    return LoadReport(name, format, counts, notes.warnings, notes.skipped)


def read_digest(paths: Sequence[Path], format: str | None = None) -> str:
    """Return the digest that a batch of these files would have. Raises InputError."""
    notes, digest = ReadNotes(), Digest()
    for _ in check_queries(
        read(paths, format or recognise(paths), notes), notes, digest, lambda _: None
    ):
        pass
    return digest.hexdigest()


def file_facts(paths: Sequence[Path], names: Sequence[str] = ()) -> list[dict[str, str]]:
    """Return the name and the SHA-256 of each file; those of a folder count one by one."""
    found: list[dict[str, str]] = []
    for path, name in zip(paths, names or [path.name for path in paths], strict=True):
        inside = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for each in inside:
            shown = name if each == path else f"{name}/{each.relative_to(path)}"
            found.append({"name": shown, "sha256": _file_digest(each)})
    return found


def _file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, or nothing for a pipe, which cannot be read again."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def check_name(name: str) -> None:
    longest = models.Batch._meta.get_field("name").max_length or 0
    if wrong := why_no_name(name, longest):
        raise InputError(Place("--name"), f"the batch's name {wrong}", "choose another")


def check_content(
    paths: Sequence[Path], queries: int, digest: Digest, expected: str | None = None
) -> None:
    """Check the rules that need all lines. Raises InputError."""
    if not queries:
        raise InputError(Place(str(paths[0])), "has no query", "choose a file with queries")
    if expected is not None and digest.hexdigest() != expected:
        wrong = "differs from its preview"
        raise InputError(Place(str(paths[0])), wrong, "read it again")


def check_queries(
    located: Iterable[Located],
    notes: ReadNotes,
    digest: Digest,
    progress: Callable[[int], None],
) -> Iterator[rows.Query]:
    """Yield the rows after checking all rules of a batch and adding to the digest."""
    rules = BatchRules(notes)
    for number, each in enumerate(located, start=1):
        rules.add(each)
        digest.add(each.query)
        progress(number)
        yield each.query
    rules.finish()


def _check_visible(there: models.Batch, team: models.Team | None) -> None:
    """Check that a batch of the same name may be revealed. Raises InputError."""
    rows = models.Batch.objects.filter(pk=there.pk)
    if team is not None and not rows.filter(visible_to_team(models.Batch, team)).exists():
        raise InputError(Place("--name"), f"the name {there.name!r} is taken", "choose another")


def _report_existing(
    there: models.Batch, located: Iterable[rows.Query], digest: Digest, paths: Sequence[Path]
) -> LoadReport:
    for _ in located:
        pass
    if digest.hexdigest() != there.digest:
        raise InputError(
            Place(str(paths[0])),
            f"a batch called {there.name!r} has other content",
            "choose another --name; a loaded batch never changes",
        )
    return LoadReport(
        there.name, there.format, there.counts, there.warnings, there.skipped, unchanged=True
    )
