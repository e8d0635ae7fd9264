"""Whether a system is better than another, or a release not worse than the one before it.

People's scores decide, query by query (`trust.better`). A judge's scores never do. Evidence counts
if the queries were drawn in a committed order, or if whoever asks states how they were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from ..document import count, join_words
from ..labels.frame import Frame
from ..sections.named_scores import NamedScore, UnknownScoreError, score_called
from ..similar import did_you_mean
from ..trust.better import Difference, Side, Standing, not_worse_after, standings
from ..trust.compared import (
    HOW_DRAWN,
    Draw,
    Drawn,
    QueryScores,
    UnboundedScoreError,
    differences_of,
)
from ..types import JSON
from .findings import Finding, GateError, Outcome

SEED = "0"
"""Of the order in which queries are read whose own order is unknown, as `tandem trust compare`."""
NAMED = 10
"""The most queries that a reason names."""
MARGINS = np.linspace(0, 1, 201)
"""The differences among which the ends of an interval are sought."""
NOT_STATED = (
    "nobody states how the labelled queries were drawn, and queries that were chosen or finished "
    "first may be the easy ones: add --drawn even or --drawn all if that is so"
)


@dataclass(frozen=True)
class Terms:
    """How releases are compared: by which score, at which level, and how queries were drawn.

    `among` is the number of queries from which the labelled ones were drawn, if the labels do not
    contain the others.
    """

    drawn: Drawn
    delta: float
    score: str = ""
    among: int | None = None


def better_in(comparison: JSON, new: str, old: str, drawn: Drawn) -> Finding:
    """Return whether a comparison has decided that `new` is better than `old`. Raises GateError."""
    pairs = comparison["pairs"]
    pair = next((each for each in pairs if {each["a"], each["b"]} == {new, old}), None)
    if pair is None:
        _check_systems((new, old), dict.fromkeys(x for p in pairs for x in (p["a"], p["b"])))
        raise GateError(f"The comparison has no pair of {new!r} and {old!r}.")
    mean = pair["mean_difference"]
    towards = mean if mean is None or pair["b"] == new else -mean

    def found(outcome: Outcome, reason: str) -> Finding:
        return Finding(f"better {new} {old}", f"{new} - {old}", outcome, reason, towards)

    if stale := comparison.get("stale"):
        return found(Outcome.UNDECIDED, f"the comparison is stale: {'; '.join(stale)}")
    better, drawn_so = pair.get("better"), comparison["drawn"]
    if pair["state"] == "no evidence":
        return found(Outcome.UNDECIDED, f"the labelled queries are {comparison['how_drawn']}")
    if better is None:
        return found(Outcome.UNDECIDED, _undecided(pair["labelled"]))
    after = f"people’s labels show after {count(pair['after'], 'query', 'queries')}"
    reason = f"{after} that {better} is better"
    if pair["state"] != "decided" and drawn_so != drawn:
        return found(Outcome.UNDECIDED, f"exploratory: {reason}; but {NOT_STATED}")
    outcome = Outcome.HOLDS if better == new else Outcome.FAILS
    return found(outcome, f"{reason}; queries {comparison['how_drawn']}")


def better(frame: Frame, pairs: Sequence[tuple[str, str]], terms: Terms) -> list[Finding]:
    """Return for each pair whether the first system is better by a frame's labels.

    The pairs share the level (Holm). Raises GateError.
    """
    scores, _ = _scores(frame, terms.score)
    found = []
    for new, old in pairs:
        _check_systems((new, old), scores.systems)
        of_both = scores.of_systems([old, new])
        found += differences_of(of_both, _draw(of_both, terms))
    return [_better(each, terms) for each in standings(found, terms.delta)]


def _better(of: Standing, terms: Terms) -> Finding:
    difference = of.difference
    new, old = difference.b, difference.a

    def found(outcome: Outcome, reason: str) -> Finding:
        mean = float(difference.values.mean()) if difference.labelled else None
        return Finding(f"better {new} {old}", f"{new} - {old}", outcome, reason, mean)

    if terms.drawn == "unknown":
        return found(Outcome.UNDECIDED, NOT_STATED)
    if of.better is None:
        return found(Outcome.UNDECIDED, _undecided(difference.labelled))
    after = f"people’s labels show after {count(of.after or 0, 'query', 'queries')}"
    outcome = Outcome.HOLDS if of.better == "b" else Outcome.FAILS
    return found(outcome, f"{after} that {of.name} is better; queries {HOW_DRAWN[terms.drawn]}")


@dataclass(frozen=True)
class Release:
    """One system's scores by people: of each query that has it, and which of them are labelled.

    `scale` says what 0 and 1 mean.
    """

    system: str
    scores: dict[str, float]
    labelled: frozenset[str]
    scale: str = ""

    @classmethod
    def of(cls, frame: Frame, score: str, system: str = "") -> Release:
        """Return the scores of a system, or of the only one. Raises GateError."""
        scores, meaning = _scores(frame, score)
        if not system and len(scores.systems) > 1:
            there = join_words([repr(each) for each in scores.systems])
            raise GateError(f"The labels are of {there}; name two with --systems NEW OLD.")
        if system:
            _check_systems((system,), scores.systems)
            scores = scores.of_systems([system])
        asked = np.flatnonzero(scores.asked[:, 0])
        return cls(
            scores.systems[0],
            {scores.queries[n]: float(scores.people[n, 0]) for n in asked},
            frozenset(scores.queries[n] for n in asked if scores.answered[n, 0]),
            f"{scores.name}: {meaning}",
        )


def not_worse(new: Release, old: Release, margin: float, terms: Terms, baseline: str) -> Finding:
    """Return whether a release's mean score is above the baseline's minus the margin.

    It holds, or fails, by evidence at the level of the terms, with queries paired by their keys.
    Raises GateError if the two scores are not on one scale.
    """
    if new.scale != old.scale:
        raise GateError(
            f"The scores differ ({new.scale}, and {old.scale}); declare the same --scale for both."
        )
    common = sorted(new.scores.keys() & old.scores.keys())
    both = new.labelled & old.labelled
    values = np.array([[old.scores[key], new.scores[key]] for key in common]).reshape(-1, 2)
    answered = np.array([[key in both] * 2 for key in common], bool).reshape(-1, 2)
    names = ("baseline", "new")
    scores = QueryScores(
        "", names, tuple(common), values, {}, np.ones(values.shape, bool), answered
    )
    (difference,) = differences_of(scores, _draw(scores, terms))
    outcome, reason = _not_worse(difference, margin, terms)
    low, high = _interval(difference, terms) if terms.drawn != "unknown" else (None, None)
    notes = (reason, *_only_on_one_side(new, old), _unlabelled(len(common) - difference.labelled))
    return Finding(
        f"not-worse-than {baseline} margin {margin:g}",
        f"{new.system or 'new'} - {old.system or 'baseline'}",
        outcome,
        "; ".join(note for note in notes if note),
        float(difference.values.mean()) if difference.labelled else None,
        low,
        high,
    )


def _not_worse(of: Difference, margin: float, terms: Terms) -> tuple[Outcome, str]:
    if not of.labelled:
        return Outcome.UNDECIDED, "no query has people’s labels on both sides"
    if terms.drawn == "unknown":
        return Outcome.UNDECIDED, NOT_STATED
    how = f"queries {HOW_DRAWN[terms.drawn]}"
    if after := not_worse_after(of, "b", margin, terms.delta):
        shown = f"people’s labels show after {count(after, 'query', 'queries')}"
        return Outcome.HOLDS, f"{shown} that the difference is above -{margin:g}; {how}"
    # The opposite hypothesis: the baseline is better by the margin or more.
    if _is_shown(of, "a", -margin, terms.delta):
        return (
            Outcome.FAILS,
            f"people’s labels show that the difference is below -{margin:g}; {how}",
        )
    return Outcome.UNDECIDED, f"{_undecided(of.labelled)}; {how}"


def _is_shown(of: Difference, side: Side, margin: float, delta: float) -> bool:
    """Whether the labels show that a side's advantage is above -margin."""
    reached = (of.evidence(side, margin) >= log(1 / delta)) | of.counted(side, margin)
    return bool(reached.any())


def _interval(of: Difference, terms: Terms) -> tuple[float | None, float | None]:
    """Return the ends of the difference that the labels show, each with confidence 1 - δ."""
    if not of.labelled:
        return None, None
    ends = [_least(of, side, terms.delta) for side in ("b", "a")]
    return ends[0], -ends[1]


def _least(of: Difference, side: Side, delta: float) -> float:
    """Return the greatest of the advantages of a side that the labels show, at least -1."""
    advantages = np.unique(np.concatenate([-MARGINS, MARGINS]))
    low, high = 0, len(advantages)
    # Evidence falls with the advantage, so the last one shown is found by halving.
    while high - low > 1:
        middle = (low + high) // 2
        shown = _is_shown(of, side, -float(advantages[middle]), delta)
        low, high = (middle, high) if shown else (low, middle)
    return float(advantages[low])


def _draw(scores: QueryScores, terms: Terms) -> Draw:
    rows = scores.in_hashed_order(scores.labelled(), SEED)
    if terms.among is not None and terms.among < len(rows):
        raise GateError(f"{len(rows)} queries are labelled, so not drawn among {terms.among}.")
    return Draw(terms.drawn, rows, among=terms.among)


def _only_on_one_side(new: Release, old: Release) -> list[str]:
    sides = (
        ("the release", new.scores.keys() - old.scores.keys()),
        ("the baseline", old.scores.keys() - new.scores.keys()),
    )
    return [
        f"only {side} has {count(len(only), 'query', 'queries')}: {_listed(sorted(only))}"
        for side, only in sides
        if only
    ]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _unlabelled(number: int) -> str:
    queries = count(number, "query", "queries")
    return f"{queries} of both without people’s labels on both sides" if number else ""


def _undecided(labelled: int) -> str:
    return f"the labels of {count(labelled, 'query', 'queries')} do not decide it yet"


def _scores(frame: Frame, name: str) -> tuple[QueryScores, str]:
    """Return a score by its name, and what its ends mean."""
    try:
        called: NamedScore = score_called(frame, name)
        return QueryScores.of(called.name, called.scores), called.meaning
    except UnknownScoreError as error:
        advice = "" if name else " Add --score NAME."
        raise GateError(f"Cannot compare: {error}.{advice}") from error
    except UnboundedScoreError as error:
        raise GateError(f"{error}.") from error


def _check_systems(wanted: Sequence[str], existing: Sequence[str] | dict[str, None]) -> None:
    for each in wanted:
        if each not in existing:
            there = f"there are {join_words(sorted(existing))}."
            raise GateError(f"There is no system {each!r}; {did_you_mean(each, existing, there)}")
