"""The plain rows that every reader yields and every export writes: a Query with all its parts.

They are the native batch format as Python objects. Stored queries are read back as these rows, too.
Identifiers are compared exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Meta = Mapping[str, Any]

USES = ("answer-the-question", "related-information", "outdated", "unknown")
"""The uses of a passage (Sorodoc and others 2025): the codes of `use`."""


IMPORTANCE = ("vital", "okay")
"""The importance of a nugget (Voorhees 2003)."""

ROLES = ("user", "assistant")
"""Who said a turn of a conversation."""


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn of the conversation that a query is part of."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A sub-question that a text may answer."""

    id: str
    text: str
    weight: float | None = None
    meta: Meta | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A grounding passage of one query.

    `sentences` are in reading order, each verbatim in `text`. `relevant` and `use` (a code of
    `grounding-relevance`) are labels from the batch, not from Tandem. Several queries may have the
    same passage with the same `text`; the other fields may differ between queries.
    """

    id: str
    text: str
    title: str | None = None
    source: str | None = None
    published_at: str | None = None
    age: str | None = None
    sentences: tuple[str, ...] | None = None
    relevant: bool | None = None
    use: str | None = None
    meta: Meta | None = None

    @property
    def titled(self) -> str:
        """The text under its title, as a model or a person reads it."""
        return f"{self.title} {self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """A point that a good answer makes; `passage` is its source, and `spans` quote that passage."""

    id: str
    text: str
    passage: str
    spans: tuple[str, ...] | None = None
    score: float | None = None
    meta: Meta | None = None


@dataclass(frozen=True, slots=True)
class Nugget:
    """A fact that a good answer states (TREC), of any report on the query.

    `importance` is one of `IMPORTANCE`. `sources` are the ids of documents or passages that state
    it, known or not.
    """

    id: str
    text: str
    importance: str | None = None
    sources: tuple[str, ...] | None = None
    meta: Meta | None = None


@dataclass(frozen=True, slots=True)
class AnswerPoint:
    """A point that a report makes; `spans` quote the report word for word."""

    id: str
    text: str
    spans: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A text under judgement. `context` (in rank order) and `citations` are passage ids.

    `system` is what wrote it, and `family` whose model that is.
    `sentence_citations` has for each of `sentences` the passage ids that it cites, in the order
    cited, known or not.
    `key_points` are the statements of this report, not those of the query; None if not extracted.
    """

    id: str
    text: str
    system: str | None = None
    family: str | None = None
    setting: str | None = None
    context: tuple[str, ...] | None = None
    citations: tuple[str, ...] | None = None
    sentences: tuple[str, ...] | None = None
    sentence_citations: tuple[tuple[str, ...], ...] | None = None
    deflected: bool | None = None
    key_points: tuple[AnswerPoint, ...] | None = None
    meta: Meta | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The passage ids that one retrieval system returned, best first."""

    system: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """An answer that a person wrote. `sentences` are those of the passages that it draws on."""

    text: str
    citations: tuple[str, ...] | None = None
    sentences: tuple[str, ...] | None = None
    deflected: bool | None = None
    meta: Meta | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One query with all its parts: one line of the native format.

    `history` has the earlier turns of the conversation, in order.
    """

    id: str
    text: str
    history: tuple[Turn, ...] = ()
    asked_at: str | None = None
    questions: tuple[Question, ...] = ()
    passages: tuple[Passage, ...] = ()
    key_points: tuple[KeyPoint, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    reports: tuple[Report, ...] = ()
    rankings: tuple[Ranking, ...] = ()
    references: tuple[Reference, ...] = ()
    meta: Meta | None = field(default=None)


@dataclass(frozen=True, slots=True)
class Place:
    """The file of a row, as the user named it, and its line from 1 (None: the whole file)."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}, line {self.line}"


class InputError(Exception):
    """Invalid input; the message is `FILE, line N: what is wrong; what to do`."""

    def __init__(self, place: Place, wrong: str, remedy: str) -> None:
        self.place, self.wrong, self.remedy = place, wrong, remedy
        super().__init__(f"{place}: {wrong}; {remedy}")


@dataclass(frozen=True, slots=True)
class Located:
    """A query row and the place from which it was read."""

    query: Query
    place: Place


@dataclass(slots=True)
class ReadNotes:
    """A reader's warnings, counts of what it skipped, and scales that files declare by variable.

    A scale is text such as `1,2,3:ordinal`, or a list of codes in their order.
    """

    warnings: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    scales: dict[str, Any] = field(default_factory=dict)

    def skip(self, what: str, count: int = 1) -> None:
        self.skipped[what] = self.skipped.get(what, 0) + count
