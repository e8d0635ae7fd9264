"""From the votes of several judges, or of several samples of one, to one label with its score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from annotation.protocols.base import Variable

Rule = Literal["majority", "mean"]
RULES: tuple[Rule, ...] = ("majority", "mean")
TIE, TOO_FEW = "tie", "too few votes"


@dataclass(frozen=True)
class Vote:
    """One label; `score` is the voter's own, where it has one. `voter` is a number from 0."""

    voter: int
    value: str
    score: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What the votes come to: a label, or why there is none.

    `score` is on the scale of the variable: a category's number, or its rank from 0 where
    categories are words; for yes and no the share of yes. None where categories have no order.
    `winners` are the voters that stand closest to the label.
    """

    value: str | None
    why_not: str = ""
    score: float | None = None
    votes: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] | None = None
    winners: tuple[int, ...] = ()


def decided(variable: Variable, votes: Sequence[Vote], voters: int, rule: Rule) -> Verdict:
    """The verdict of judges: it takes votes of more than half of them.

    `majority` is the most frequent label, and two that are equally frequent are a tie. `mean` is
    the category nearest to the mean score, the upper one of two; where categories have no order, or
    only escapes were given, it is the majority.
    """
    counted = dict(Counter(vote.value for vote in votes))
    if 2 * len(votes) <= voters:
        return Verdict(None, TOO_FEW, votes=counted)
    scores = [number for vote in votes if (number := _score(variable, vote)) is not None]
    mean = sum(scores) / len(scores) if scores else None
    if rule == "mean" and mean is not None and variable.level != "nominal":
        nearest = _nearest(variable, mean)
        closest = _closest(variable, votes, nearest)
        return Verdict(nearest, "", mean, counted, winners=closest)
    value, why_not = _most_frequent(counted)
    winners = tuple(vote.voter for vote in votes if vote.value == value)
    return Verdict(value, why_not, mean, counted, winners=winners)


def sampled(variable: Variable, votes: Sequence[Vote], samples: int, rule: Rule) -> Verdict:
    """The verdict of samples of one judge, its score from their frequencies.

    The share of a category is (n + 1/2) / (N + K/2), after Jeffreys: of N samples that gave one of
    the K categories, n gave this one. Escapes are no categories.
    """
    bare = [Vote(vote.voter, vote.value) for vote in votes]
    verdict = decided(variable, bare, samples, rule)
    counts = [verdict.votes.get(code, 0) for code in variable.codes]
    if verdict.why_not == TOO_FEW or not sum(counts):
        return verdict
    whole = sum(counts) + len(counts) / 2
    shares = {c: round((n + 0.5) / whole, 9) for c, n in zip(variable.codes, counts, strict=True)}
    numbers = {code: number_of(variable, code) for code in variable.codes}
    score = (
        None
        if None in numbers.values()
        else sum(shares[code] * (number or 0.0) for code, number in numbers.items())
    )
    return Verdict(verdict.value, verdict.why_not, score, verdict.votes, shares, verdict.winners)


def number_of(variable: Variable, code: str) -> float | None:
    """A category as a number; None for an escape, and where categories have no order."""
    if code not in variable.codes:
        return None
    if variable.level == "nominal":
        return float(code == "yes") if "yes" in variable.codes else None
    try:
        return float(code)
    except ValueError:
        return float(variable.codes.index(code))


def _score(variable: Variable, vote: Vote) -> float | None:
    number = number_of(variable, vote.value)
    return number if number is None or vote.score is None else vote.score


def _most_frequent(counted: Mapping[str, int]) -> tuple[str | None, str]:
    most = max(counted.values())
    first, *others = (value for value, number in counted.items() if number == most)
    return (None, TIE) if others else (first, "")


def _nearest(variable: Variable, mean: float) -> str:
    numbers = {code: number_of(variable, code) or 0.0 for code in variable.codes}
    return min(numbers, key=lambda code: (_distance(numbers[code], mean), -numbers[code]))


def _distance(a: float, b: float) -> float:
    """Rounded, since two distances that are equal on paper differ in the last bits."""
    return round(math.fabs(a - b), 9)


def _closest(variable: Variable, votes: Sequence[Vote], value: str) -> tuple[int, ...]:
    goal = number_of(variable, value) or 0.0
    away = {
        vote.voter: _distance(number, goal)
        for vote in votes
        if (number := number_of(variable, vote.value)) is not None
    }
    return tuple(voter for voter, far in away.items() if far == min(away.values()))
