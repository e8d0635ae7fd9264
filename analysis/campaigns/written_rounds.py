"""Written answers of people by question, and the pairs of a first and a second answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from datasets.readers.clapnq import NO_ANSWER
from datasets.text import lines_of
from tandem.grouping import grouped
from tandem.sections.written import Rounds, WrittenAnswers

Units = Mapping[str, Mapping[str, Any]]
"""A whole answer: the answers about its units, by their names."""
FirstAnswers = Mapping[str, Sequence[tuple[str, str]]]
"""By question, the answers that a second round may show, each after its writer."""


class WrittenFact(NamedTuple):
    """One person's current answer. `round` is set if the imported file gives it."""

    query: str
    rater: str
    text: str
    round: int | None


def text_in(units: Units) -> str | None:
    """Return the written text with uniform line ends, since browsers send other ones."""
    return next(filter(None, map(_text, units.values())), None)


def _text(answer: Mapping[str, Any]) -> str | None:
    written = answer.get("written")
    return "\n".join(lines_of(written["text"])) if written else None


def round_in(metas: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the round that the metadata of an answer's labels names."""
    return next((meta["round"] for meta in metas if "round" in meta), None)


def by_question(answers: Iterable[tuple[str, str, Units]]) -> FirstAnswers:
    """Return first answers by question, from their questions, writers and units."""
    found: dict[str, list[tuple[str, str]]] = {}
    for query, rater, units in answers:
        if text := text_in(units):
            found.setdefault(query, []).append((rater, text))
    return found


def with_rounds(
    facts: Sequence[WrittenFact], first: FirstAnswers | None, skipped: Callable[[], int]
) -> WrittenAnswers:
    """Return people's answers by question, with their rounds.

    `first` are the answers of an earlier campaign, and `facts` the second ones. Without it,
    imported answers name their rounds. A question has a pair if it has exactly one usable answer of
    each round. `skipped` counts what people skipped.
    """
    usable = [fact for fact in facts if fact.text.strip() not in NO_ANSWER]
    pairs = _declared(usable) if first is None else _paired(usable, first)
    rounds = None if pairs is None else Rounds(pairs, skipped())
    return WrittenAnswers(_texts(usable), len(facts) - len(usable), rounds)


def _texts(facts: Iterable[WrittenFact]) -> dict[str, list[str]]:
    return grouped((fact.query, fact.text) for fact in facts)


def _paired(second: Sequence[WrittenFact], first: FirstAnswers) -> dict[str, tuple[str, str]]:
    """Pair each second answer with the first answer shown to its writer."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    for own in second:
        shown = next((text for by, text in first.get(own.query, ()) if by != own.rater), None)
        if shown is not None:
            pairs.setdefault(own.query, []).append((shown, own.text))
    return dict(_single(pairs))


def _single(
    pairs: Mapping[str, Sequence[tuple[str, str]]],
) -> Iterator[tuple[str, tuple[str, str]]]:
    yield from ((query, found[0]) for query, found in pairs.items() if len(found) == 1)


def _declared(facts: Sequence[WrittenFact]) -> dict[str, tuple[str, str]] | None:
    first, second = (_texts(f for f in facts if f.round == number) for number in (1, 2))
    if not second:
        return None
    return {
        query: (first[query][0], texts[0])
        for query, texts in second.items()
        if len(texts) == 1 == len(first.get(query, ()))
    }
