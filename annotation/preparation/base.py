"""What a preparation step is: its author's task, and what an accepted answer changes.

A step is one folder with `prompt.md` beside it, and one line in the registry. Its author (a judge
or a person) answers a task, which is a protocol that no list shows to people. Accepted answers
turn each query of the batch into the query of the next batch. Pure: no Django.

The number of a key point is never given to another point, even after the point is gone. A key
point is called `QUERY:kN` as it was found, and `QUERY:mN` once it was merged. Where points are
dropped or replaced, the query's meta keeps the highest number of either kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from annotation.protocols.base import Protocol
from datasets import rows
from datasets.text import find_quote

PREPARED = "prepared"
JSON = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """An accepted answer: the units' answers by kind and key, and the probabilities behind them.

    `item` is the item's key, `passage` the passage that it is about, if any. `scores` stand by unit
    key and variable, where a server gave such. `provenance` says who wrote it with which prompt in
    which run, and who accepted it. `texts` is what it was written from, by field.
    """

    item: str
    answers: Mapping[tuple[str, str], Mapping[str, Any]]
    scores: Mapping[tuple[str, str], float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    passage: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """The answers to units of a kind, by key."""
        return {key: answer for (k, key), answer in self.answers.items() if k == kind}


Numbers = Mapping[str, float]
Apply = Callable[[rows.Query, Sequence[Result], Numbers], rows.Query | None]
Doubts = Callable[[Result], Iterable[str]]


def no_doubts(result: Result) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Step:
    """One step. Without a `protocol` nobody is asked, and `apply` works by rule alone.

    `makes` is a line on what it makes of what. `apply(query, results, numbers)` gives the query of
    the new batch, or None where it is left out. `numbers` are the thresholds with their defaults.
    `doubts` says what is wrong with an answer beyond its form; such a one cannot be accepted as it
    is. `options` are the campaign's. `task` is what is declared for this step alone.
    """

    name: str
    title: str
    makes: str
    apply: Apply
    protocol: str = ""
    task: Protocol | None = None
    numbers: Numbers = field(default_factory=dict)
    doubts: Doubts = no_doubts
    options: tuple[str, ...] = ()
    folder: Path = Path()


def instructions(folder: Path) -> str:
    """What people read of a prompt: its part for the author, without the version and the slots."""
    _, _, text = (folder / "prompt.md").read_text("utf-8").partition("\n")
    return text.partition("\n---\n")[0].strip() + "\n"


def with_provenance(meta: rows.Meta | None, step: str, of: Result, **more: Any) -> JSON:
    """A part's `meta` with where it came from under `prepared`, by step."""
    before = dict(meta or {})
    steps = {**before.get(PREPARED, {}), step: {**of.provenance}}
    return {**before, **more, PREPARED: steps}


def own_words(text: str, evidence: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The text's own words for each quote, without those that stand nowhere; each once."""
    found = (f for e in evidence for f in find_quote(text, e["quote"], e.get("start")))
    return tuple(dict.fromkeys(f.quote for f in found if f.start is not None))


GIVEN = "numbers_given"
Kind = Literal["k", "m"]
_NUMBERED = re.compile(r"([km])([0-9]{1,9})")


def next_number(query: rows.Query, kind: Kind) -> int:
    """The first number behind all that key points of this kind have had in the query."""
    return _given(query).get(kind, 0) + 1


def remembered(before: rows.Query, after: rows.Query) -> rows.Query:
    """A query after a step, which knows the highest numbers of the points that went with it."""
    left = _given(after)
    gone = {kind: number for kind, number in _given(before).items() if number > left.get(kind, 0)}
    if not gone:
        return after
    return replace(after, meta={**(after.meta or {}), GIVEN: {**_kept(after), **gone}})


def _given(query: rows.Query) -> dict[str, int]:
    """The highest number of each kind, of points that are there and of those that went."""
    found = _kept(query)
    for point in query.key_points:
        own = point.id.startswith(f"{query.id}:")
        if own and (numbered := _NUMBERED.fullmatch(point.id, len(query.id) + 1)):
            kind, number = numbered[1], int(numbered[2])
            found[kind] = max(number, found.get(kind, 0))
    return found


def _kept(query: rows.Query) -> dict[str, int]:
    """What the meta tells, which may come from a file that somebody wrote by hand."""
    told = (query.meta or {}).get(GIVEN)
    if not isinstance(told, Mapping):
        return {}
    return {kind: number for kind, number in told.items() if type(number) is int}
