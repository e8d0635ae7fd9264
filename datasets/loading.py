"""Rows into the database, all or nothing, with a report of what was loaded and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import models as db
from django.db import transaction

from datasets import models, rows
from datasets.lines import Digest, as_line
from datasets.readers import read, recognise
from datasets.readers.batch_rules import BatchRules
from datasets.rows import InputError, Located, Place, ReadNotes

CHUNK = 2000


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
) -> LoadReport:
    """Loads files as one batch. Raises InputError, and then nothing is kept.

    A batch of that name with the same content is left as it is; with other content it is an error,
    since what was judged must not change under its labels.
    """
    _check_name(name)
    format = format or recognise(paths)
    notes, digest = ReadNotes(), Digest()
    located = _checked(read(paths, format, notes), notes, digest, progress)
    with transaction.atomic():
        there = models.Batch.objects.filter(name=name).first()
        if there is not None:
            return _same(there, located, digest, paths)
        batch = models.Batch.objects.create(name=name, format=format)
        counts = _Writer(batch).write(located)
        if not counts.get("queries"):
            raise InputError(Place(str(paths[0])), "holds no query", "give a file with queries")
        batch.digest, batch.counts = digest.hexdigest(), counts
        batch.warnings, batch.skipped = notes.warnings, notes.skipped
        batch.save()
    return LoadReport(name, format, counts, notes.warnings, notes.skipped)


def _check_name(name: str) -> None:
    longest = models.Batch._meta.get_field("name").max_length or 0
    if not name.strip() or len(name) > longest:
        wrong = f"the batch's name is blank or longer than {longest} characters"
        raise InputError(Place("--name"), wrong, "choose another")


def _checked(
    located: Iterable[Located],
    notes: ReadNotes,
    digest: Digest,
    progress: Callable[[int], None],
) -> Iterator[rows.Query]:
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


class _Writer:
    """Writes queries with their parts in chunks; a passage once, however often it stands."""

    def __init__(self, batch: models.Batch) -> None:
        self.batch = batch
        self.counts: Counter[str] = Counter()
        self.passages: dict[str, int] = {}
        self.late: list[tuple[models.Query, rows.Query]] = []

    def write(self, located: Iterable[rows.Query]) -> dict[str, int]:
        chunk: list[rows.Query] = []
        size = 0
        for query in located:
            chunk.append(query)
            size += 1 + len(query.passages) + len(query.questions) + len(query.reports)
            if size >= CHUNK:
                self._chunk(chunk)
                chunk, size = [], 0
        self._chunk(chunk)
        self._bulk("key_points", models.KeyPoint, (self._key_points(s, q) for s, q in self.late))
        return dict(self.counts)

    def _chunk(self, chunk: list[rows.Query]) -> None:
        first = self.counts["queries"]
        stored = models.Query.objects.bulk_create(
            self._query(query, first + n) for n, query in enumerate(chunk)
        )
        self.counts["queries"] += len(stored)
        pairs = list(zip(stored, chunk, strict=True))
        self._passages(chunk)
        self._bulk("questions", models.Question, (self._questions(s, q) for s, q in pairs))
        self._bulk("groundings", models.Grounding, (self._groundings(s, q) for s, q in pairs))
        self._bulk("reports", models.Report, (self._reports(s, q) for s, q in pairs))
        ready = [pair for pair in pairs if not self._is_early(*pair)]
        self._bulk("key_points", models.KeyPoint, (self._key_points(s, q) for s, q in ready))
        self._bulk("rankings", models.Ranking, (self._rankings(s, q) for s, q in pairs))

    def _is_early(self, stored: models.Query, query: rows.Query) -> bool:
        """Whether a key point names a passage that only a later line brings."""
        early = any(point.passage not in self.passages for point in query.key_points)
        if early:
            self.late.append((stored, query))
        return early

    def _bulk(self, name: str, model: type[db.Model], groups: Iterable[Iterable[db.Model]]) -> None:
        made = [row for group in groups for row in group]
        model._default_manager.bulk_create(made, batch_size=CHUNK)
        if name != "groundings":
            self.counts[name] += len(made)

    def _passages(self, chunk: list[rows.Query]) -> None:
        new = {p.id: p.text for q in chunk for p in q.passages if p.id not in self.passages}
        stored = models.Passage.objects.bulk_create(
            models.Passage(batch=self.batch, key=key, text=text) for key, text in new.items()
        )
        self.passages |= {passage.key: passage.pk for passage in stored}
        self.counts["passages"] += len(stored)

    def _query(self, query: rows.Query, position: int) -> models.Query:
        return models.Query(
            batch=self.batch,
            key=query.id,
            position=position,
            text=query.text,
            asked_at=query.asked_at,
            references=as_line(query).get("references", []),
            meta=query.meta,
        )

    def _part(self, stored: models.Query, row: Any, position: int) -> dict[str, Any]:
        return {
            "batch": self.batch,
            "query": stored,
            "key": row.id,
            "position": position,
            "text": row.text,
            "meta": row.meta,
        }

    def _questions(self, stored: models.Query, query: rows.Query) -> Iterator[models.Question]:
        for n, row in enumerate(query.questions):
            yield models.Question(**self._part(stored, row, n), weight=row.weight)

    def _groundings(self, stored: models.Query, query: rows.Query) -> Iterator[models.Grounding]:
        for n, row in enumerate(query.passages):
            yield models.Grounding(
                query=stored,
                passage_id=self.passages[row.id],
                position=n,
                title=row.title,
                source=row.source,
                published_at=row.published_at,
                age=row.age,
                sentences=row.sentences,
                relevant=row.relevant,
                meta=row.meta,
            )

    def _reports(self, stored: models.Query, query: rows.Query) -> Iterator[models.Report]:
        for n, row in enumerate(query.reports):
            yield models.Report(
                **self._part(stored, row, n),
                system=row.system,
                setting=row.setting,
                context=row.context,
                citations=row.citations,
                sentences=row.sentences,
                deflected=row.deflected,
            )

    def _key_points(self, stored: models.Query, query: rows.Query) -> Iterator[models.KeyPoint]:
        for n, row in enumerate(query.key_points):
            yield models.KeyPoint(
                **self._part(stored, row, n),
                passage_id=self.passages[row.passage],
                spans=row.spans,
                score=row.score,
            )

    def _rankings(self, stored: models.Query, query: rows.Query) -> Iterator[models.Ranking]:
        for n, row in enumerate(query.rankings):
            yield models.Ranking(query=stored, system=row.system, position=n, passages=row.passages)
