"""Reader of TREC's RAG Track: the runs' answers by topic, with the files that go with them.

Several runs form one batch. Each answer is a report, whose system is the run. Topics, nugget
banks, documents and ranked lists may be named with them, in any order. Documents that no answer,
nugget or ranking names are left out, so that a whole collection may be given.

The forms of answers are described in `answers`, those of other files in `companions`. Answers and
documents wait in a temporary file until their topic is complete, so memory grows with the number
of identifiers, and not with the length of texts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from datasets.readers.trec.answers import is_answer, is_report_of_another_track, read_answer
from datasets.readers.trec.companions import (
    Kind,
    bank_of,
    candidates_of,
    document_id,
    is_bank,
    kind_of,
    kind_of_table,
    passage_of,
    ranked_lines,
    topic_lines,
    topic_of,
)
from datasets.readers.trec.slips import Slips
from datasets.readers.trec.spill import Spill
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Located, Passage, Place, Query, Ranking, ReadNotes, Report
from tandem.files.tables import first_object, object_rows

SUMMARY = (
    "TREC's RAG Track (2024 to 2026): runs' answers, with topics, nugget banks, documents and "
    "ranked lists by name, or a folder of them"
)

OTHER_TEXT = "answers or banks repeat another text of their topic; the first was kept"
NEW_TOPIC = "answers are on topics that the files of topics do not have; they were kept"
UNSORTED = "ranks are not in the order of their scores; the ranks were kept"


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    if first is None:
        return path.is_dir() and any(map(_is_of_trec, _within(path)))
    return is_answer(first) or is_report_of_another_track(first) or is_bank(first)


def is_table(path: Path) -> bool:
    """Whether a file is a table of topics or a ranked list, which has no first object."""
    return not path.is_dir() and kind_of_table(path) is not None


def read(paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]:
    """Yield the topics: those of the files of topics in their order, then those of answers.

    Where there are neither, the topics are those of nugget banks and retrieved lists. Raises
    InputError for a topic without a text, two answers of a run to one topic, two banks of a topic,
    a document with two texts, and for a file of another kind.
    """
    batch = _Batch(notes)
    files = [each for path in paths for each in (_within(path) if path.is_dir() else [path])]
    batch.read(_sorted(files))
    yield from batch.queries()
    batch.slips.note(notes)


def _within(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))


def _is_of_trec(path: Path) -> bool:
    try:
        return kind_of_table(path) is None and recognises(path, first_object(path))
    except InputError:
        return False


def _sorted(paths: Iterable[Path]) -> dict[Kind, list[Path]]:
    files: dict[Kind, list[Path]] = {}
    for path in paths:
        kind = kind_of_table(path)
        if kind is None:
            line, first = next(object_rows(path))
            kind = kind_of(first, Place(os.fspath(path), line))
        files.setdefault(kind, []).append(path)
    return files


@dataclass
class _Topic:
    """A topic under construction. Numbers are places in the spill."""

    place: Place
    text: str | None = None
    meta: dict[str, Any] | None = None
    runs: dict[str, Place] = field(default_factory=dict)
    answers: list[int] = field(default_factory=list)
    rankings: dict[str, list[int]] = field(default_factory=dict)
    bank: tuple[int, Place] | None = None
    documents: dict[str, None] = field(default_factory=dict)

    def want(self, ids: Iterable[str]) -> None:
        self.documents.update(dict.fromkeys(ids))


class _Batch:
    """Reads all files into topics, and then yields their queries."""

    def __init__(self, notes: ReadNotes) -> None:
        self.notes, self.slips, self.spill = notes, Slips(), Spill()
        self.topics: dict[str, _Topic] = {}
        self.passages: dict[str, tuple[int, Place]] = {}

    def read(self, files: Mapping[Kind, Sequence[Path]]) -> None:
        for path in files.get("topics", ()):
            self._topics(path)
        listed = frozenset(self.topics)
        for place, record in _records(files.get("answers", ()), "answers"):
            self._answer(record, place, listed)
        # Without topics and answers, every other file may open a topic.
        is_open = not self.topics
        for place, record in _records(files.get("candidates", ()), "candidates"):
            self._candidates(record, place, is_open)
        for place, record in _records(files.get("nuggets", ()), "nuggets"):
            self._bank(record, place, is_open)
        for path in files.get("rankings", ()):
            self._rankings(path)
        wanted = {each for topic in self.topics.values() for each in topic.documents}
        for place, record in _records(files.get("passages", ()), "passages"):
            if document_id(record, place) in wanted:
                self._keep(passage_of(record, place), place)

    def queries(self) -> Iterator[Located]:
        for key, topic in self.topics.items():
            if topic.text is None:
                wrong = f"the topic {excerpt(key)} has no text"
                raise InputError(topic.place, wrong, "name the file of topics, too")
            yield Located(self._query(key, topic, topic.text), topic.place)

    def _topics(self, path: Path) -> None:
        if kind_of_table(path):
            found: Iterable[tuple[str, str, Any, Place]] = (
                (key, text, None, place) for key, text, place in topic_lines(path)
            )
        else:
            records = _records([path], "topics")
            found = ((*topic_of(record, place), place) for place, record in records)
        for key, text, meta, place in found:
            if key in self.topics:
                wrong = f"the topic {excerpt(key)} is already at {self.topics[key].place}"
                raise InputError(place, wrong, "keep one")
            self.topics[key] = _Topic(place, text, meta)

    def _answer(self, record: Mapping[str, Any], place: Place, listed: frozenset[str]) -> None:
        answer = read_answer(record, place, self.slips)
        report, key = answer.report, answer.topic
        if listed and key not in listed:
            self.slips.add(NEW_TOPIC, place)
        topic = self.topics.setdefault(key, _Topic(place))
        self._say(topic, answer.text, place)
        before = topic.runs.setdefault(report.system or "", place)
        if before is not place:
            run = f"the run {excerpt(report.system or '')}"
            wrong = f"{run} has an answer to the topic {excerpt(key)} already, at {before}"
            raise InputError(place, wrong, "keep one, or name each run by an id of its own")
        topic.answers.append(self.spill.add([record, place.file, place.line]))
        topic.want(report.context or ())
        topic.want(report.citations or ())

    def _candidates(self, record: Mapping[str, Any], place: Place, is_open: bool) -> None:
        key, text, passages = candidates_of(record, place)
        topic = self._of(key, place, is_open)
        if topic is None:
            self.notes.skip("retrieved lists of topics that are not in the batch")
            return
        self._say(topic, text, place)
        topic.want(passage.id for passage in passages)
        for passage in passages:
            self._keep(passage, place)

    def _bank(self, record: Mapping[str, Any], place: Place, is_open: bool) -> None:
        bank = bank_of(record, place, self.slips)
        topic = self._of(bank.topic, place, is_open)
        if topic is None:
            self.notes.skip("nugget banks of topics that are not in the batch")
            return
        self._say(topic, bank.text, place)
        if topic.bank:
            wrong = f"the topic {excerpt(bank.topic)} has a nugget bank already, at {topic.bank[1]}"
            raise InputError(place, wrong, "keep one, or join their nuggets")
        topic.bank = self.spill.add(record), place
        for nugget in bank.nuggets:
            topic.want(nugget.sources or ())

    def _of(self, key: str, place: Place, is_open: bool) -> _Topic | None:
        return self.topics.setdefault(key, _Topic(place)) if is_open else self.topics.get(key)

    def _rankings(self, path: Path) -> None:
        """Keep a run's list of a topic as one value, as long as its lines follow each other."""
        held: list[list[Any]] = []
        last: tuple[str, str] | None = None
        for line in ranked_lines(path):
            if (line.topic, line.run) != last:
                self._keep_ranking(last, held, path)
                last, held = (line.topic, line.run), []
            held.append([line.rank, line.score, line.document, line.place.line])
        self._keep_ranking(last, held, path)

    def _keep_ranking(self, of: tuple[str, str] | None, held: list[list[Any]], path: Path) -> None:
        if of is None:
            return
        topic = self.topics.get(of[0])
        if topic is None:
            self.notes.skip("rankings of topics that are not in the batch")
            return
        topic.rankings.setdefault(of[1], []).append(self.spill.add([os.fspath(path), held]))
        topic.want(document for _, _, document, _ in held)

    def _say(self, topic: _Topic, text: str | None, place: Place) -> None:
        if text is None or not text.strip():
            return
        if topic.text is None:
            topic.text = text
        elif topic.text.split() != text.split():
            self.slips.add(OTHER_TEXT, place)

    def _keep(self, passage: Passage, place: Place) -> None:
        before = self.passages.get(passage.id)
        if before is None:
            facts = [passage.id, passage.text, passage.title, passage.meta]
            self.passages[passage.id] = self.spill.add(facts), place
        elif self.spill.read(before[0])[1] != passage.text:
            wrong = f"the document {excerpt(passage.id)} has another text than at {before[1]}"
            raise InputError(place, wrong, "keep one of the two")

    def _query(self, key: str, topic: _Topic, text: str) -> Query:
        query = Query(
            id=key,
            text=text,
            passages=tuple(self._passages(topic)),
            reports=tuple(self._reports(topic)),
            rankings=tuple(self._ranking(run, at) for run, at in topic.rankings.items()),
            meta=topic.meta,
        )
        if topic.bank is None:
            return query
        at, place = topic.bank
        bank = bank_of(self.spill.read(at), place, Slips())
        return replace(query, nuggets=bank.nuggets, questions=bank.questions)

    def _passages(self, topic: _Topic) -> Iterator[Passage]:
        for key in topic.documents:
            if key in self.passages:
                found, text, title, meta = self.spill.read(self.passages[key][0])
                yield Passage(found, text, title=title, meta=meta)

    def _reports(self, topic: _Topic) -> Iterator[Report]:
        for at in topic.answers:
            record, file, line = self.spill.read(at)
            yield read_answer(record, Place(file, line), Slips()).report

    def _ranking(self, run: str, places: Sequence[int]) -> Ranking:
        rows: list[tuple[int, float, str, Place]] = []
        for at in places:
            file, held = self.spill.read(at)
            rows += [(rank, score, doc, Place(file, line)) for rank, score, doc, line in held]
        rows.sort(key=lambda row: row[0])
        seen: dict[str, Place] = {}
        for number, (_, score, document, place) in enumerate(rows):
            if document in seen:
                wrong = f"the document {excerpt(document)} is already ranked at {seen[document]}"
                raise InputError(place, wrong, "keep its first rank only")
            seen[document] = place
            if number and score > rows[number - 1][1]:
                self.slips.add(UNSORTED, place)
        return Ranking(run, tuple(seen))


def _records(paths: Iterable[Path], kind: Kind) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of files. Raises InputError for one of another kind than the first."""
    for path in paths:
        for number, record in object_rows(path):
            place = Place(os.fspath(path), number)
            if (found := kind_of(record, place)) != kind:
                wrong = f"holds {found}, where the file began with {kind}"
                raise InputError(place, wrong, "put each into a file of its own")
            yield place, record
