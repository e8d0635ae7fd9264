"""Labels of a trial against those of its judge on the same units: flips, scores, null controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from analysis.blocks.resampling import JSON
from analysis.statistics import (
    Estimate,
    Floats,
    Ints,
    Resamples,
    Value,
    estimate,
    undefined,
    wilson_interval,
)
from annotation.models import Assignment, Campaign, Label
from annotation.protocols.base import Variable
from judging.conditions.favourable import UNCONTROLLED, favourable, share_of_best, top_in_words
from judging.conditions.variations import Purpose
from judging.models import Judge
from judging.rows.ledger import rows_of

CONTROL_BAR = 0.2
NOBODY = "no unit was labelled both times"
NO_SCORES = "no score both times: the server gives none, or the labels have no order"


class Said(NamedTuple):
    """A label as far as trials compare it; `query` is a primary key."""

    value: str
    score: float | None
    query: int


class Place(NamedTuple):
    """What a label is of: a unit's primary key and kind, and the variable."""

    unit: int
    kind: str
    variable: str


Labels = Mapping[Place, Said]


@dataclass(frozen=True)
class Pair:
    """One variable under both conditions: all labels of the judge, and those of the trial.

    `turned` where the trial was shown pairs the other way round.
    """

    variable: Variable
    purpose: Purpose
    base: Labels
    trial: Labels
    turned: bool = False

    def both(self) -> list[tuple[Said, Said]]:
        wanted = (self.variable.kind, self.variable.name)
        return [
            (self.base[place], said)
            for place, said in self.trial.items()
            if (place.kind, place.variable) == wanted and place in self.base
        ]


def said_by(campaign: Campaign, judge: Judge, replicate: int = 0) -> dict[Place, Said]:
    """The current labels of a judge or a trial."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater=judge.rater_id,
        response__assignment__replicate=replicate,
    )
    columns = ("unit", "unit__kind", "variable", "value", "score", "unit__item__query")
    return {
        Place(unit, kind, variable): Said(value, score, query)
        for unit, kind, variable, value, score, query in labels.values_list(*columns)
    }


def missing_of(campaign: Campaign, judge: Judge) -> JSON:
    """How many units have no answer, by reason; those that are still to be asked as `open`."""
    counted: Counter[str] = Counter()
    rows = rows_of(campaign, judge).exclude(status=Assignment.Status.DONE)
    for status, reason, asked in rows.values_list("status", "reason", "asked"):
        unanswered = status in (Assignment.Status.OPEN, Assignment.Status.LEASED)
        counted["open" if unanswered else reason or status] += len(asked)
    return dict(sorted(counted.items()))


def compared(pair: Pair, resamples: int, seed: int) -> JSON:
    """One variable of one trial; what its purpose does not ask for is left out."""
    both = pair.both()
    of = _Means(resamples, seed)
    found: JSON = {
        "compared": len(both),
        "flips": of.share(both, _flipped, "share of labels that differ", NOBODY).as_json(),
        "score_change": of.mean(
            [(abs(s.score - b.score), s.query)
             for b, s in both if b.score is not None and s.score is not None],
            "mean absolute change of the score",
            NO_SCORES,
        ).as_json(),
    }  # fmt: skip
    if pair.purpose == "control":
        found |= _control(pair, of)
    if pair.purpose == "attack":
        found |= _attack(pair, of, both)
    if pair.turned and pair.variable.kind == "pair":
        found["same_place"] = _same_place(both)
    return found


def samples(variable: Variable, said: Sequence[Labels], resamples: int, seed: int) -> JSON:
    """How often two samples of the same judge differ, over all pairs of samples of each unit."""
    there: dict[Place, list[Said]] = {}
    for labels in said:
        for place, label in labels.items():
            if (place.kind, place.variable) == (variable.kind, variable.name):
                there.setdefault(place, []).append(label)
    several = [labels for labels in there.values() if len(labels) > 1]
    of, how = _Means(resamples, seed), "share of pairs of samples that differ"
    shares = [(_share_unlike([label.value for label in one]), one[0].query) for one in several]
    return {"compared": len(several), "flips": of.mean(shares, how, NOBODY).as_json()}


def _share_unlike(values: Sequence[str]) -> float:
    pairs = list(combinations(values, 2))
    return sum(a != b for a, b in pairs) / len(pairs)


def _flipped(before: Said, after: Said) -> bool:
    return before.value != after.value


def _control(pair: Pair, of: _Means) -> JSON:
    """Where the labels of a control stand on the scale, from 0 to 1, and whether that is too high.

    All labels of the trial count, whether the judge gave the unit one before or not.
    """
    variable, places = pair.variable, []
    for place, said in pair.trial.items():
        if (place.kind, place.variable) == (variable.kind, variable.name):
            share = share_of_best(variable, said.value)
            places += [] if share is None else [(share, said.query)]
    how = f"mean place on the scale, where {top_in_words(variable)}"
    if variable.name in UNCONTROLLED:
        places, why = [], "a text that is not there may rightly get any label here"
    else:
        why = "no unit has a label that stands on the scale"
    mean = of.mean(places, how, why)
    return {
        "mean_score": mean.as_json(),
        "flagged": None if mean.value is None else mean.value > CONTROL_BAR,
    }


def _attack(pair: Pair, of: _Means, both: Sequence[tuple[Said, Said]]) -> JSON:
    """How often the judge went over to the label that the text asked for."""
    wished = favourable(pair.variable)
    open_to = [(b, s) for b, s in both if b.value != wished]
    how, why = f"share that went over to `{wished}`", f"every unit had `{wished}` before"
    moved = of.share(open_to, lambda b, s: s.value == wished, how, why if both else NOBODY)
    return {"wished": wished, "went_over": moved.as_json()}


def _same_place(both: Sequence[tuple[Said, Said]]) -> JSON:
    """How often the text shown first, or second, was preferred both times: a habit of place."""
    turned = {"first": "second", "second": "first"}
    habit = Counter(b.value for b, s in both if turned.get(b.value) == s.value)
    return {"first": habit["first"], "second": habit["second"]}


class _Means:
    """Means of values by query, with intervals from whole queries resampled."""

    def __init__(self, resamples: int, seed: int) -> None:
        self.resamples, self.seed = resamples, seed

    def share(
        self,
        both: Sequence[tuple[Said, Said]],
        holds: Callable[[Said, Said], bool],
        method: str,
        reason: str,
    ) -> Estimate:
        """The share of pairs of labels for which something holds.

        Where it holds for none, or for all, no resample tells another story; then the interval is
        Wilson's, as if each query were one observation, which is the cautious end.
        """
        values = [(float(holds(b, s)), s.query) for b, s in both]
        found = self.mean(values, method, reason)
        if found.low is None or found.value not in (0, 1):
            return found
        queries = len({query for _, query in values})
        low, high = wilson_interval(round(found.value * queries), queries)
        how = f"{method}; 95 % Wilson interval of {queries} queries"
        return replace(found, low=low, high=high, method=how)

    def mean(self, values: Sequence[tuple[float, int]], method: str, reason: str) -> Estimate:
        if not values:
            return undefined(reason, 0, method)
        numbers = np.array([value for value, _ in values], dtype=float)
        clusters: Ints = np.array([query for _, query in values], dtype=np.int64)

        def of(weights: Floats | None) -> Value:
            if weights is None:
                return float(numbers.mean())
            mean: Floats = weights @ numbers / weights.sum(axis=1)
            return mean

        draws = Resamples.draw(clusters, self.resamples, self.seed)
        return estimate(of, draws, clusters, len(numbers), method, reason)
