"""The definition of a preparation step: its author's task, and how accepted answers are applied.

A step is one folder with a `prompt.md`, and one line in the registry. Its author, a judge or a
person, answers a task, which is a protocol that campaigns cannot use. Accepted answers turn each
query of the batch into the query of the next batch.

The number of a key point is never reused, even after the point is removed. A key point is called
`QUERY:kN` when it is extracted, and `QUERY:mN` when it is merged. If points are removed or
replaced, the query's meta keeps the highest number of each kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from annotation.protocols.base import Protocol
from datasets.text import find_quote
from tandem.files import rows
from tandem.options import Option
from tandem.protocols.base import YES_NO, Variable

PREPARED = "prepared"
HIGHEST = "numbers_given"
_NUMBERED = re.compile(r"([km])([0-9]{1,9})")
JSON = dict[str, Any]
Kind = Literal["k", "m"]


@dataclass(frozen=True)
class Result:
    """An accepted answer: the units' answers by kind and key.

    `item` is the item's key, and `passage` the passage that it is about, if any. `scores` are the
    probabilities by unit key and variable, if the server returned any. `provenance` names the
    author, prompt and run, and the person who accepted the answer. `texts` are the texts that the
    author read, by field.
    """

    item: str
    answers: Mapping[tuple[str, str], Mapping[str, Any]]
    scores: Mapping[tuple[str, str], float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    passage: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    def answers_of(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return the answers to units of a kind, by key."""
        return {key: answer for (k, key), answer in self.answers.items() if k == kind}


def yes_no(name: str, kind: str, question: str) -> Variable:
    """Return the variable of a question that is answered by yes or no."""
    return Variable(name, kind, question, YES_NO, words={"yes": "Yes", "no": "No"})


Numbers = Mapping[str, float]
Applied = rows.Query | Sequence[rows.Query] | None
Apply = Callable[[rows.Query, Sequence[Result], Numbers], Applied]
FindProblems = Callable[[Result], Iterable[str]]


def no_problems(result: Result) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Step:
    """One step. A step without a `protocol` has no author, and `apply` follows a rule.

    `makes` describes input and output in a line. `apply(query, results, numbers)` returns the query
    of the new batch, several queries, or None to leave it out. `numbers` are the values of its
    `thresholds`.
    `problems` returns messages about an answer whose form is valid. Such an answer cannot be
    accepted until it is corrected. `options` are those of the campaign. `task` is the protocol, if
    it belongs to this step alone.
    """

    name: str
    title: str
    makes: str
    apply: Apply
    protocol: str = ""
    task: Protocol | None = None
    thresholds: tuple[Option, ...] = ()
    problems: FindProblems = no_problems
    options: tuple[str, ...] = ()
    folder: Path = Path()

    @property
    def numbers(self) -> dict[str, float]:
        """The default values of the thresholds, by name."""
        return {option.name: option.default for option in self.thresholds}


def prompted(module: str, task: Protocol) -> Protocol:
    """Return a step's task with the prompt in the folder of its module.

    People are shown a part of the prompt: no version and no placeholders.
    """
    folder = Path(module).parent
    _, _, text = (folder / "prompt.md").read_text("utf-8").partition("\n")
    shown = text.partition("\n---\n")[0].strip() + "\n"
    return replace(task, folder=folder, own_guideline=shown)


def with_provenance(meta: rows.Meta | None, step: str, of: Result, **more: Any) -> JSON:
    """Return a part's `meta` with its provenance added under `prepared`, by step."""
    before = dict(meta or {})
    steps = {**before.get(PREPARED, {}), step: {**of.provenance}}
    return {**before, **more, PREPARED: steps}


def own_words(text: str, evidence: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return each quote in the text's own words, once. Quotes not in the text are left out."""
    found = (f for e in evidence for f in find_quote(text, e["quote"], e.get("start")))
    return tuple(dict.fromkeys(f.quote for f in found if f.start is not None))


def next_number(query: rows.Query, kind: Kind) -> int:
    """Return the lowest number above all that key points of this kind in the query have had."""
    return _highest_numbers(query).get(kind, 0) + 1


def keep_highest_numbers(before: rows.Query, after: rows.Query) -> rows.Query:
    """Return the query after a step, with the highest numbers of removed points in its meta."""
    left, earlier = _highest_numbers(after), _highest_numbers(before)
    gone = {kind: number for kind, number in earlier.items() if number > left.get(kind, 0)}
    if not gone:
        return after
    return replace(after, meta={**(after.meta or {}), HIGHEST: {**_stored_numbers(after), **gone}})


def _highest_numbers(query: rows.Query) -> dict[str, int]:
    """Return the highest number of each kind among present and removed points."""
    found = _stored_numbers(query)
    for point in query.key_points:
        own = point.id.startswith(f"{query.id}:")
        if own and (numbered := _NUMBERED.fullmatch(point.id, len(query.id) + 1)):
            kind, number = numbered[1], int(numbered[2])
            found[kind] = max(number, found.get(kind, 0))
    return found


def _stored_numbers(query: rows.Query) -> dict[str, int]:
    """Return the numbers in the query's meta. A file written by hand may contain anything."""
    numbers = (query.meta or {}).get(HIGHEST)
    if not isinstance(numbers, Mapping):
        return {}
    return {kind: number for kind, number in numbers.items() if type(number) is int}
