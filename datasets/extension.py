"""Extend a batch: a new batch with further parts for the same queries.

Reports, rankings, passages and nuggets can be added.

A line of the file names a query of the batch and adds parts to it. Everything else on it must agree
with the batch. A line of the native format may leave out the query's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from datasets.derivation import EXTENDED, Derived, Origin, Tally, UnitDigests, derive_batch
from datasets.loading import file_facts
from datasets.material import batch_rows
from datasets.models import Batch
from datasets.readers import native, read, recognise
from tandem.files.fields import Fields
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Located, Passage, Place, Query, ReadNotes
from tandem.files.tables import object_rows

ADDABLE_PARTS = {
    "reports": "report",
    "rankings": "ranking",
    "passages": "passage",
    "nuggets": "nugget",
}
NATIVE = "native"
ONLY_ADDABLE_PARTS = (
    "only reports, rankings, passages and nuggets can be added; leave the rest out, or write it "
    "as it is"
)


def extend_batch(
    paths: Sequence[Path],
    name: str,
    source: Batch,
    format: str | None = None,
    progress: Callable[[int], None] = lambda done: None,
    by: int | None = None,
    names: Sequence[str] = (),
    dry_run: bool = False,
    look: Callable[[Query], None] = lambda line: None,
) -> Derived:
    """Create a batch from another one and files that add to its queries, all or nothing.

    `names` are the files' names, if they differ from those of the paths. A dry run stores nothing.
    `look` is called with each line of the files. Raises InputError with the line that contradicts
    the batch or adds nothing to it.
    """
    texts = dict(source.queries.values_list("key", "text"))
    notes = ReadNotes()
    additions = _read(paths, format or recognise_format(paths), source, texts, notes)
    for located in additions.values():
        look(located.query)
    tally, facts = Tally(), file_facts(paths, names)
    origin = Origin(EXTENDED, "extended", "1", source, files=facts, by=by)
    places = {key: located.place for key, located in additions.items()}

    def made() -> Iterator[Query]:
        for done, query in enumerate(batch_rows(source), start=1):
            progress(done)
            tally.keep("queries")
            located = additions.get(query.id)
            yield extend_query(query, located, tally) if located else query

    def finish() -> None:
        if not any(number for what, number in tally.kept.items() if what.startswith("new ")):
            wrong = f"adds nothing to batch {source.name!r}"
            raise InputError(
                Place(str(paths[0])), wrong, "add reports, rankings, passages or nuggets"
            )

    digests = UnitDigests()
    return derive_batch(
        name, origin, made(), tally, digests, None, dry_run, finish=finish, places=places
    )


def recognise_format(paths: Sequence[Path]) -> str:
    """Return the format. A line with only an id and additions is native, too."""
    first = next(
        ((row, path) for path in paths if path.is_file() for _, row in object_rows(path)),
        None,
    )
    if first and first[0].keys() <= {"id", *native.QUERY}:
        return NATIVE
    return recognise(paths)


def _read(
    paths: Sequence[Path], format: str, source: Batch, texts: Mapping[str, str], notes: ReadNotes
) -> dict[str, Located]:
    """Return the lines by their query's id. Raises InputError for an unknown or repeated id."""
    found: dict[str, Located] = {}
    lines = _native(paths, texts) if format == NATIVE else read(paths, format, notes)
    for located in lines:
        key = located.query.id
        if key not in texts:
            raise InputError(
                located.place,
                f"there is no query {excerpt(key)} in batch {source.name!r}",
                "correct the id, or load new queries as a batch of their own",
            )
        if key in found:
            wrong = f"query {excerpt(key)} has a line already, at {found[key].place}"
            raise InputError(located.place, wrong, "join the two")
        found[key] = located
    return found


def _native(paths: Sequence[Path], texts: Mapping[str, str]) -> Iterator[Located]:
    for path in paths:
        for number, row in object_rows(path):
            place = Place(str(path), number)
            key = row.get("id")
            if "text" not in row and isinstance(key, str):
                # An unknown query is refused for that reason, and not because it has no text.
                row = {**row, "text": texts.get(key, key)}
            yield Located(native.query_of(Fields(row, place, known=native.QUERY)), place)


def extend_query(query: Query, located: Located, tally: Tally) -> Query:
    """Return a query with the parts that a line adds. Raises InputError for a contradiction."""
    line, place = located.query, located.place
    for each in fields(Query):
        given, own = getattr(line, each.name), getattr(query, each.name)
        if each.name not in ADDABLE_PARTS and given not in (None, (), own):
            wrong = f"{each.name!r} of query {excerpt(query.id)} differs from the batch"
            raise InputError(place, wrong, ONLY_ADDABLE_PARTS)
    made = {
        name: getattr(query, name) + tuple(_new(query, line, name, place, tally))
        for name in ADDABLE_PARTS
    }
    return replace(query, **made)


def _new(query: Query, line: Query, name: str, place: Place, tally: Tally) -> Iterator[Any]:
    """Yield the parts of a kind that the query does not have yet."""
    identity = "system" if name == "rankings" else "id"
    known = {getattr(part, identity): part for part in getattr(query, name)}
    for part in getattr(line, name):
        key = getattr(part, identity)
        if key not in known:
            tally.keep(f"new {name}")
            yield part
        elif not _is_same(part, known[key]):
            what = f"the {ADDABLE_PARTS[name]} {excerpt(key)} of query {excerpt(query.id)}"
            raise InputError(
                place, f"{what} differs from that of the batch", "give the new one an id of its own"
            )


def _is_same(given: Any, own: Any) -> bool:
    """Whether a part agrees with the batch. A passage may leave out fields."""
    if given == own:
        return True
    if not isinstance(given, Passage):
        return False
    return all(
        getattr(given, each.name) in (None, getattr(own, each.name)) for each in fields(Passage)
    )
