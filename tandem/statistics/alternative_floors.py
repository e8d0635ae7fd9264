"""Floors of the alternative annotator test: raters that must not pass, and the answer beside them.

A rater that does not read the texts may lose little: where nearly all labels are a no, always
saying no is often as close to people as they are to each other. Two such floors carry no
information, and block: the commonest label throughout, and the judge's own labels in random order.
At an epsilon at which one of them passes, a judge's pass means nothing, so the answer is given at
the largest epsilon at which none does. Floors with information, such as word overlap, are shown
beside the answer and never block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from .alternative import Q
from .alternative_losses import Form, Losses, count_rejected, p_behind, p_worse, passing
from .estimate import Estimate, Floats, Ints, defined, t_quantile, undefined, unique_integers
from .resampling import FEWEST_DIFFERING, MINIMUM_CLUSTERS, too_alike, too_few

Outcome = Literal["shown", "shown-worse", "not-shown"]
PERMUTATIONS = 200
#: The share of permutations that may pass. Above it, the permuted labels pass as a floor.
MOST_PERMUTED = 0.05
#: Epsilons that a floor may set are multiples of 1/STEPS.
STEPS = 100
#: A normal deviate is below this in four of five cases.
LIKELY = 0.8416
#: Numbers of queries that would decide are sought in steps of this factor, up to this multiple.
STEP, MOST_TIMES = 1.03, 20
WAY = "share of the way from the floor to people, (floor's loss less judge's) / floor's loss"
AT_PEOPLE = "the floor may be as close to people as they are to each other"


@dataclass(frozen=True)
class Floor:
    """One or more raters tested as a floor. It passes if more than `most` of them do (a share)."""

    name: str
    losses: Losses
    informative: bool = False
    most: float = 0.0

    def passes(self, epsilon: float, q: float = Q) -> bool:
        """Return whether the floor passes at epsilon."""
        return float(passing(self.losses, epsilon, q).mean()) > self.most

    @cached_property
    def loss(self) -> float:
        """The floor's mean loss, over annotators."""
        return self.losses.overall

    def largest_failed(self, epsilon: float, q: float = Q) -> float | None:
        """Return `epsilon` if the floor does not pass there, or else the largest smaller multiple.

        Only multiples of .01 are tried. None if the floor passes at every epsilon from 0 on.
        """
        if not self.passes(epsilon, q):
            return epsilon
        # A floor that passes at an epsilon passes at every larger one.
        fails, passes = -1, int(np.ceil(epsilon * STEPS - 1e-9))
        while passes - fails > 1:
            middle = (fails + passes) // 2
            fails, passes = (fails, middle) if self.passes(middle / STEPS, q) else (middle, passes)
        return fails / STEPS if fails >= 0 else None


@dataclass(frozen=True)
class Loss:
    """A judge's mean loss to one annotator over n units, and the p-values of both tests.

    `p_value` is that of losing at least epsilon, and `p_value_worse` of losing at most epsilon.
    """

    name: str
    n: int
    loss: float
    p_value: float
    p_value_worse: float


@dataclass(frozen=True)
class Answer:
    """What the test shows of a judge, at the largest epsilon at which no blocking floor passes.

    `shown`: it is at most epsilon behind so many annotators (`within`) that they are half of them.
    `shown-worse`: it is more than epsilon behind so many (`beyond`) that half cannot be reached.
    `set_by` names the floor that set epsilon, None where it is the chosen one. If a floor passes at
    every epsilon, epsilon is None, and only `shown-worse`, at the chosen epsilon, can be shown.
    `way` is the share of the way from the `closest_floor` to people.
    """

    outcome: Outcome
    epsilon: float | None
    set_by: str | None
    within: int
    beyond: int
    annotators: tuple[Loss, ...]
    closest_floor: str
    way: Estimate

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the report."""
        rows = [asdict(each) for each in self.annotators]
        return {**vars(self), "annotators": rows, "way": self.way.as_json()}


def floors_of(form: Form, commonest: int, permutations: Ints) -> tuple[Floor, Floor]:
    """Return the two floors without information.

    These are the code of the commonest label on every unit, and a judge's codes `permuted`, (P, U).
    """
    always = np.full((1, permutations.shape[1]), commonest)
    return (
        Floor("commonest_label", form.losses(always)),
        Floor("permuted_labels", form.losses(permutations), most=MOST_PERMUTED),
    )


def permuted(codes: Ints, order: Ints, *, permutations: int = PERMUTATIONS, seed: int = 0) -> Ints:
    """Return a judge's codes (U,) in random orders, (permutations, U).

    Missing ones, -1, stay where they are. Equal seeds give equal permutations of the units in their
    `order` (U,), so that these do not depend on how units happen to be sorted.
    """
    there = order[codes[order] >= 0]
    generator = np.random.Generator(np.random.PCG64(seed))
    # A million units take 200 MB instead of 1.6 GB.
    small = codes.astype(np.int8 if codes.max(initial=0) < 127 else np.int32)
    found: Ints = np.full((permutations, len(codes)), -1, small.dtype)
    for row in found:
        row[there] = small[there[generator.permutation(len(there))]]
    return found


def commonest_label(people: Ints, categories: int) -> int:
    """Return the commonest of people's codes (U, R), -1 = none; the first one of several."""
    return int(np.bincount(people[people >= 0], minlength=categories).argmax())


def commonest_elsewhere(people: Ints, clusters: Ints, categories: int) -> Ints:
    """Return, for each unit, people's commonest code on the other units of its query, (U,).

    Of several equally common ones it is the one that is commonest overall. -1 without others.
    """
    counts = np.stack([(people == code).sum(axis=1) for code in range(categories)], axis=1)
    index = unique_integers(clusters)[2]
    sums = np.stack([np.bincount(index, column) for column in counts.T], axis=1)
    elsewhere = sums[index] - counts
    total = counts.sum(axis=0)
    best = np.argmax(elsewhere + total / (total.sum() + 1), axis=1)
    return np.where(elsewhere.sum(axis=1) > 0, best, -1).astype(np.int64)


def answer_of(
    form: Form, judge: Ints, floors: Sequence[Floor], epsilon: float, q: float = Q
) -> Answer:
    """Return what a form of the test shows of a judge's codes (U,) at the chosen epsilon or below.

    A judge's loss to an annotator is the annotator's lead over it, as a share of units: 0 is as
    good as people. `PlainForm` is the test as published. In `BalancedForm` each category of the
    other annotators has the same weight. `floors` are the blocking ones (`floors_of`), tested in
    the same form.

    - `shown`: the losses to at least half of the m annotators are significantly below epsilon.
    - `shown-worse`: the losses to so many are significantly above epsilon that half cannot be
      reached. By query, the p-value of H0: loss <= epsilon is the larger of the one-sided t test's
      and ((1 + epsilon) / (1 + d))^n, for a mean loss d over n queries.
    - `not-shown`: neither.

    Both use the correction of Benjamini and Yekutieli. Epsilon is the chosen one, or, if a floor
    passes there, the largest multiple of .01 below it at which none does.
    """
    losses = form.losses(judge[None])
    failed: Mapping[str, float | None] = {
        floor.name: floor.largest_failed(epsilon, q) for floor in floors
    }
    lowest = min(floors, key=lambda floor: _or_below(failed[floor.name]))
    at, closest = failed[lowest.name], min(floors, key=lambda floor: floor.loss)
    tested = epsilon if at is None else at
    p_values, reverse = p_behind(losses, tested), p_worse(losses, tested)
    m = len(form.names)
    within = 0 if at is None else int(count_rejected(p_values, q)[0])
    beyond = int(count_rejected(reverse, q)[0])
    outcome: Outcome = "not-shown"
    if 2 * within >= m:
        outcome = "shown"
    elif 2 * (m - beyond) < m:
        outcome = "shown-worse"
    rows = zip(form.names, losses.n, losses.mean[0], p_values[0], reverse[0], strict=True)
    return Answer(
        outcome,
        at,
        lowest.name if at != epsilon else None,
        within,
        beyond,
        tuple(Loss(name, int(n), float(d), float(p), float(r)) for name, n, d, p, r in rows),
        closest.name,
        way_to_people(losses, closest.losses),
    )


def queries_to_decide(
    form: Form, judge: Ints, floors: Sequence[Floor], epsilon: float, q: float = Q
) -> int | None:
    """Return about how many queries like the present ones would decide a test that is `not-shown`.

    With that many, the outcome would be `shown` or `shown-worse` in about four of five studies, if
    the losses found are the true ones: each mean is moved towards epsilon by 0.84 standard errors.
    Every annotator's number of queries grows alike. Epsilon is the chosen one, and is lowered where
    a floor would pass with that many queries. None if 20 times the queries would not do.
    """
    losses = form.losses(judge[None])
    now = int(losses.n.max())
    numbers = (round(now * STEP**k) for k in range(1, 1 + int(np.log(MOST_TIMES) / np.log(STEP))))
    for queries in dict.fromkeys(numbers):
        grown = losses.grown(queries / now)
        if not _is_decided(grown, epsilon, q):
            continue
        found = [
            Floor(floor.name, floor.losses.grown(queries / now), floor.informative, floor.most)
            for floor in floors
        ]
        failed = [floor.largest_failed(epsilon, q) for floor in found]
        lowest = min(map(_or_below, failed))
        if _is_decided(grown, epsilon if lowest < 0 else lowest, q, can_pass=lowest >= 0):
            return queries
    return None


def _is_decided(losses: Losses, epsilon: float, q: float, *, can_pass: bool = True) -> bool:
    """Return whether a judge would probably be shown, or shown worse, at an epsilon."""
    m = losses.mean.shape[1]
    shift = LIKELY * losses.sd / np.sqrt(losses.n)
    behind = p_behind(losses.moved(shift), epsilon)
    worse = p_worse(losses.moved(-shift), epsilon)
    is_shown = can_pass and 2 * int(count_rejected(behind, q)[0]) >= m
    return is_shown or bool(2 * (m - int(count_rejected(worse, q)[0])) < m)


def _or_below(epsilon: float | None) -> float:
    return -1.0 if epsilon is None else epsilon


def way_to_people(judge: Losses, floor: Losses) -> Estimate:
    """Return how far from the floor to people a judge has come: 0 is the floor, 1 is people.

    It is (d_floor - d_judge) / d_floor, where d is the mean loss over annotators, and 0 that of a
    person. Its 95 % interval is Fieller's (1954): the values of r = d_judge / d_floor for which the
    mean over queries of d_judge - r d_floor differs from 0 by at most t standard errors. It is
    defined only if the floor's own loss is significantly above 0.
    """
    found, of = judge.overall, floor.overall
    contributions = np.stack([_contributions(each) for each in (judge, floor)])
    n = contributions.shape[1]
    if of <= 0:
        return undefined(AT_PEOPLE, n, WAY)
    value = float((of - found) / of)
    if n < MINIMUM_CLUSTERS:
        return defined(value, None, n, f"{WAY}; {too_few(n)}")
    differing = _differing(contributions[0])
    if differing < FEWEST_DIFFERING:
        return defined(value, None, n, f"{WAY}; {too_alike(differing, n)}")
    apart = _differing(contributions[0] - contributions[1])
    if apart < FEWEST_DIFFERING:
        why = f"it and the floor differ on {apart} of {n} queries, at least {FEWEST_DIFFERING} must"
        return defined(value, None, n, f"{WAY}; {why}")
    variance = n / (n - 1) * contributions @ contributions.T
    t = t_quantile(0.975, n - 1) ** 2
    a, b, c = (
        of**2 - t * variance[1, 1],
        found * of - t * variance[0, 1],
        found**2 - t * variance[0, 0],
    )
    if a <= 0:
        return undefined(AT_PEOPLE, n, WAY)
    root = np.sqrt(max(b**2 - a * c, 0.0))
    ends = 1 - (b + root) / a, 1 - (b - root) / a
    return defined(value, ends, n, f"{WAY}; 95 % Fieller interval of {n} queries")


def _differing(contributions: Floats) -> int:
    """Count the queries whose contribution differs from the most common one."""
    counts = np.unique(contributions.round(12), return_counts=True)[1]
    return int(counts.sum() - counts.max())


def _contributions(losses: Losses) -> Floats:
    """Return what each query contributes to the deviation of the overall loss, (Q,)."""
    m = len(losses.queries)
    parts = [(profile - profile.mean()) / (m * len(profile)) for profile in losses.profiles]
    index = unique_integers(np.concatenate(losses.queries))[2]
    return np.bincount(index, np.concatenate(parts)).astype(float)
