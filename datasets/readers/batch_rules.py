"""Rules that hold across the lines of a batch, checked while its lines are read.

Memory grows with the number of identifiers, and not with the length of texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from itertools import chain

from tandem.files.fields import Tally
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, KeyPoint, Located, Passage, Place, Query, ReadNotes
from tandem.files.spelling import OF_IDS, folded


class BatchRules:
    """Checks every query given to `add`, and the whole batch in `finish`.

    `add` raises InputError for an identifier that occurs twice and for a passage with two texts,
    naming both places. `finish` raises it for a key point whose passage is not in the batch.
    Warnings go to `notes`: identifiers that are nearly equal, and unknown passage ids.
    """

    def __init__(self, notes: ReadNotes) -> None:
        self._ids = {
            what: _Identifiers(what, notes)
            for what in ("query", "question", "passage", "key point", "nugget", "report")
        }
        self._digests: dict[str, bytes] = {}
        self._unresolved: list[tuple[str, str, Place]] = []
        self._mentions = _Mentions(notes)

    def add(self, located: Located) -> None:
        query, place = located.query, located.place
        self._ids["query"].add(query.id, place)
        for passage in query.passages:
            self._add_passage(passage, place)
        for question in query.questions:
            self._ids["question"].add(question.id, place)
        for report in query.reports:
            self._ids["report"].add(report.id, place)
            for own in report.key_points or ():
                self._ids["key point"].add(own.id, place)
        for nugget in query.nuggets:
            self._ids["nugget"].add(nugget.id, place)
        for point in query.key_points:
            self._ids["key point"].add(point.id, place)
            self._add_reference(point, place)
        self._mentions.add(query, place, self._digests)

    def finish(self) -> None:
        for key_point, passage, place in self._unresolved:
            if passage not in self._digests:
                raise InputError(
                    place,
                    f"key point {excerpt(key_point)} names the passage {excerpt(passage)}, "
                    "which is not in the batch",
                    "add the passage or correct its id",
                )
        self._mentions.finish(self._digests)
        for identifiers in self._ids.values():
            identifiers.finish()

    def _add_passage(self, passage: Passage, place: Place) -> None:
        digest = hashlib.blake2b(passage.text.encode("utf-8"), digest_size=16).digest()
        before = self._digests.setdefault(passage.id, digest)
        if before != digest:
            raise InputError(
                place,
                f"the passage {excerpt(passage.id)} has another text than at "
                f"{self._ids['passage'].places[passage.id]}",
                "give it the same text, or an id of its own",
            )
        self._ids["passage"].add_again(passage.id, place)

    def _add_reference(self, point: KeyPoint, place: Place) -> None:
        if point.passage not in self._digests:
            self._unresolved.append((point.id, point.passage, place))


class _Identifiers:
    """The identifiers of one kind, each with its first place."""

    def __init__(self, what: str, notes: ReadNotes) -> None:
        self.what = what
        self.places: dict[str, Place] = {}
        self._folded: dict[str, str] = {}
        self._near = Tally(notes, f"more {what} ids differ only in {OF_IDS}")

    def add(self, value: str, place: Place) -> None:
        before = self.places.get(value)
        if before is not None:
            raise InputError(
                place,
                f"the {self.what} id {excerpt(value)} is already used at {before}",
                "give each its own id",
            )
        self.add_again(value, place)

    def add_again(self, value: str, place: Place) -> None:
        """Add an identifier that may have occurred before."""
        if value in self.places:
            return
        self.places[value] = place
        near = self._folded.setdefault(folded(value), value)
        if near != value:
            self._near.add(
                f"{place}: the {self.what} id {excerpt(value)} differs from {excerpt(near)} at "
                f"{self.places[near]} only in {OF_IDS}"
            )

    def finish(self) -> None:
        self._near.finish()


class _Mentions:
    """Passage ids in contexts, citations and rankings; the passage may be on any line."""

    def __init__(self, notes: ReadNotes) -> None:
        self._notes = notes
        self._open: list[tuple[str, Place, list[str]]] = []

    def add(self, query: Query, place: Place, known: Container[str]) -> None:
        for report in query.reports:
            cited = chain(report.citations or (), *(report.sentence_citations or ()))
            if ids := (*(report.context or ()), *cited):
                self._add(f"report {excerpt(report.id)}", place, ids, known)
        for ranking in query.rankings:
            what = f"the ranking of {excerpt(ranking.system)} for query {excerpt(query.id)}"
            self._add(what, place, ranking.passages, known)
        for number, reference in enumerate(query.references, 1):
            what = f"reference {number} of query {excerpt(query.id)}"
            self._add(what, place, reference.citations or (), known)

    def _add(self, what: str, place: Place, ids: Iterable[str], known: Container[str]) -> None:
        unseen = [each for each in dict.fromkeys(ids) if each not in known]
        if unseen:
            self._open.append((what, place, unseen))

    def finish(self, known: Container[str]) -> None:
        tally = Tally(
            self._notes, "more texts and rankings name passages that are not in the batch"
        )
        unknown: set[str] = set()
        for what, place, ids in self._open:
            missing = [each for each in ids if each not in known]
            unknown.update(missing)
            if missing:
                tally.add(f"{place}: {what} names {_passages(missing)} not in the batch")
        tally.finish()
        if unknown:
            self._notes.warnings.append(f"in all, {len(unknown)} passage ids are not in the batch")


def _passages(missing: list[str]) -> str:
    if len(missing) == 1:
        return f"the passage {excerpt(missing[0])}, which is"
    return f"{len(missing)} passages, {excerpt(missing[0])} the first, which are"
