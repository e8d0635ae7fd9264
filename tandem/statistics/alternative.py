"""The alternative annotator test: may a judge replace a person? (Calderon, Reichart, Dror 2025)

Each annotator is left out in turn. On each of this annotator's items the judge wins if it is at
least as close to the remaining annotators as the left-out annotator is, and vice versa. A tie is a
win for both. The judge's loss to the annotator is the mean of wins_annotator - wins_judge. It is
tested whether the loss is significantly below epsilon, by a one-sided t test with the false
discovery rate controlled over annotators (Benjamini-Yekutieli). The winning rate is the share of
annotators for whom it is. The judge passes at a winning rate of 0.5 or more.

With few queries the t test alone is overconfident. If a judge fails on every fifth query, a share
0.8^n of the samples of n queries contains no failure. The differences in such a sample have no
variance. When queries are the units, the p-value is therefore never below the bound of `markov`.

A pass at an epsilon says that the judge is at most that far behind. It means nothing if raters
that do not read the texts pass, too (`alternative_floors`). Power (`alternative_power`) and the
results under other rules (`alternative_power`) are shown beside the test and never replace
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from .cluster_means import sums_by_cluster
from .estimate import Bools, Floats, Ints, Level, check_level, pack, ratio, t_below
from .sets import masi_distances

Verdict = Literal["passes", "fails", "undecided", "floor-passes"]
#: The lowest winning rate at which a judge passes.
PASS = 0.5
#: Root mean squares that differ by less are a tie, since sums of decimal fractions are not exact.
TOLERANCE = 1e-9
#: The points of the curve. Calderon and others use 0.2 for experts, 0.15 for trained people and 0.1
#: for a crowd.
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
#: Maps the judge's wins, the annotator's wins and epsilon to a p-value.
PValue = Callable[[Floats, Floats, float], float]
#: Maps labels (n,) and others' labels (n, L), NaN = none, to their closeness (n,).
Score = Callable[[Floats, Floats], Floats]
#: Below this many independent units a t test is doubtful.
FEW = 30
#: The false discovery rate over annotators.
Q = 0.05


def describe_undecided(queries: int, needed: int | None) -> str:
    """Explain that there are too few queries to decide, and how many would suffice (None: none)."""
    text = f"cannot be decided with {queries} {'query' if queries == 1 else 'queries'}"
    if needed is None:
        return f"{text}; at epsilon 0 a tie never passes"
    return f"{text}; at least {needed} are needed"


@dataclass(frozen=True)
class AnnotatorTest:
    """The result for one annotator left out: n items (or queries), and whether epsilon is kept."""

    name: str
    n: int
    p_value: float
    wins: bool
    advantage_probability: float


@dataclass(frozen=True)
class Reading:
    """One reading of the test: items, or the means of queries, are the independent units."""

    winning_rate: float | None
    advantage_probability: float | None
    annotators: tuple[AnnotatorTest, ...]

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the report."""
        return asdict(self) | {"annotators": [asdict(a) for a in self.annotators]}


@dataclass(frozen=True)
class AltTest:
    """Both readings of the test. `decides` names the one that counts.

    If both are null, `reason` says why. If queries decide, `queries` is their number, and
    `queries_needed` the number at which a judge that always ties with people passes (None if no
    number is enough). `undecided` means that there are too few queries, and no loss below 0.
    """

    epsilon: float
    items: Reading
    by_query: Reading
    decides: Literal["by_query", "items"]
    reason: str | None = None
    queries: int | None = None
    queries_needed: int | None = None
    undecided: bool = False

    @property
    def winning_rate(self) -> float | None:
        """The share of annotators who lose to the judge, by items."""
        return self.items.winning_rate

    @property
    def advantage_probability(self) -> float | None:
        """The mean over annotators of the share of items on which the judge wins."""
        return self.items.advantage_probability

    @property
    def annotators(self) -> tuple[AnnotatorTest, ...]:
        """The test of each annotator, by items."""
        return self.items.annotators

    @property
    def verdict(self) -> Verdict | None:
        """Return `passes` if the deciding winning rate is at least 0.5; None without a rate."""
        rate = (self.by_query if self.decides == "by_query" else self.items).winning_rate
        if rate is None or self.undecided:
            return None if rate is None else "undecided"
        return "passes" if rate >= PASS else "fails"

    @property
    def passed(self) -> bool | None:
        """Whether the judge passes; None if the test cannot tell."""
        return {"passes": True, "fails": False}.get(self.verdict or "")

    def as_json(self) -> dict[str, object]:
        """Return the `alt_test` object of the report."""
        fields: dict[str, object] = {"epsilon": self.epsilon} | self.items.as_json()
        fields |= {"by_query": self.by_query.as_json(), "decides": self.decides}
        fields |= {"passed": self.passed, "verdict": self.verdict}
        fields |= {"queries": self.queries, "queries_needed": self.queries_needed}
        return fields | ({} if self.reason is None else {"reason": self.reason})


@dataclass(frozen=True)
class Comparison:
    """Wins (1 or 0) of judge and annotator on the annotator's items, and the queries."""

    name: str
    judge: Floats
    annotator: Floats
    clusters: Ints

    @cached_property
    def by_query(self) -> Comparison:
        """The means of queries, kept for the other epsilons of a curve."""
        judge, sizes = sums_by_cluster(self.judge, self.clusters)
        annotator, _ = sums_by_cluster(self.annotator, self.clusters)
        return Comparison(self.name, judge / sizes, annotator / sizes, np.unique(self.clusters))

    @cached_property
    def repeats(self) -> bool:
        """Whether a query holds several of the items."""
        return len(np.unique(self.clusters)) < len(self.clusters)


def alt_test(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    epsilon: float,
    names: Sequence[str] | None = None,
    q: float = 0.05,
    minimum: int = 30,
    members: Floats | None = None,
) -> AltTest:
    """Test a judge (U,) against annotators (U, R) on units of the queries `clusters`.

    A missing label is -1 in integer arrays (codes), and NaN in floating-point arrays (values). If
    the judge's label is missing, the judge loses the item. Closeness is the share of equal labels
    at the nominal level, and minus the root mean square difference at the ordinal and interval
    levels. At level set the codes are of K sets, of which `members` (K, M) say which codes are in
    each, and closeness is the mean of 1 - MASI distance (Passonneau 2006). Annotators with fewer
    than `minimum` items that another annotator labelled are dropped. Queries decide if at least one
    query has several compared items; otherwise items decide. With fewer than `queries_needed`
    queries, only a judge with a loss below 0 can pass. For any other judge, the verdict is then
    `undecided`, not a failure.
    """
    (test,) = epsilon_curve(
        human, judge, clusters, level=level, epsilons=(epsilon,), names=names, q=q,
        minimum=minimum, members=members,
    )  # fmt: skip
    return test


def epsilon_curve(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    epsilons: Sequence[float] = EPSILONS,
    names: Sequence[str] | None = None,
    q: float = 0.05,
    minimum: int = 30,
    members: Floats | None = None,
) -> tuple[AltTest, ...]:
    """Run the test at each epsilon, to show how much the verdict depends on that choice.

    Raises ValueError for an epsilon outside 0 to 1.
    """
    if not all(0 <= epsilon <= 1 for epsilon in epsilons):
        raise ValueError("epsilon is a number from 0 to 1")
    everyone = compare_all(human, judge, clusters, level, names, members)
    return tuple(verdict(everyone, epsilon, q, minimum) for epsilon in epsilons)


def additive(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """Return the p-value of H0: the annotator's mean wins exceed the judge's by at least epsilon.

    The test is a one-sided t test of the wins (n,) on items.
    """
    return p_below(annotator - judge, epsilon)


def additive_by_query(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """Like `additive`, from means of queries: the larger of t's p and the bound of `markov`."""
    differences = annotator - judge
    return max(p_below(differences, epsilon), markov(differences, epsilon))


def verdict(
    everyone: Sequence[Comparison],
    epsilon: float,
    q: float = 0.05,
    minimum: int = 30,
    p_value: PValue = additive,
    by_query: PValue = additive_by_query,
) -> AltTest:
    """Test all annotators with at least `minimum` items, by items and by queries."""
    tested = [c for c in everyone if len(c.judge) >= minimum]
    decides: Literal["by_query", "items"] = (
        "by_query" if any(c.repeats for c in tested) else "items"
    )
    if len(tested) < 2:
        reason = f"fewer than two annotators have {minimum} items that another one labelled too"
        nothing = Reading(None, None, ())
        return AltTest(epsilon, nothing, nothing, decides, reason)
    by_items = _read(tested, epsilon, q, p_value)
    means = [c.by_query for c in tested]
    by_queries = _read(means, epsilon, q, by_query)
    if decides == "items":
        return AltTest(epsilon, by_items, by_queries, decides)
    # Half of the annotators must lose, so take the fewest queries among the best half of them.
    most = sorted((a.n for a in by_queries.annotators), reverse=True)
    queries, needed = most[_half(len(most)) - 1], queries_needed(len(most), epsilon, q)
    ahead = [
        a.wins and c.annotator.mean() < c.judge.mean()
        for a, c in zip(by_queries.annotators, means, strict=True)
    ]
    undecided = (needed is None or queries < needed) and float(np.mean(ahead)) < PASS
    return AltTest(epsilon, by_items, by_queries, decides, None, queries, needed, undecided)


def queries_needed(annotators: int, epsilon: float, q: float = 0.05) -> int | None:
    """Return how many queries a judge that always ties with people needs to pass.

    None if no number is enough. To pass, the judge must win against half of the m annotators: k =
    ceil(m/2) p-values must be at most k q / (m H_m), where H_m = 1 + 1/2 + ... + 1/m (Benjamini and
    Yekutieli 2001). A tie on all n queries has the p-value (1 - epsilon)^n by `markov`, so

        n = ln(k q / (m H_m)) / ln(1 - epsilon), rounded up.
    """
    if epsilon <= 0:
        return None
    if epsilon >= 1:
        return 1
    harmonic = sum(1 / j for j in range(1, annotators + 1))
    level = _half(annotators) * q / (annotators * harmonic)
    return max(1, math.ceil(math.log(level) / math.log1p(-epsilon)))


def _half(annotators: int) -> int:
    return (annotators + 1) // 2


def _with_nan(labels: Floats | Ints) -> Floats:
    if np.issubdtype(labels.dtype, np.integer):
        return np.where(labels < 0, np.nan, labels.astype(float))
    return labels.astype(float)


def compare_all(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    level: Level,
    names: Sequence[str] | None = None,
    members: Floats | None = None,
) -> list[Comparison]:
    """Compare the judge with each annotator; labels as in `alt_test`."""
    people, machine = _with_nan(human), _with_nan(judge)
    if names is None:
        names = [str(j) for j in range(people.shape[1])]
    packed, place = pack(people)
    several = np.isfinite(packed).sum(axis=1) > 1
    score = closeness(level, members)
    found = []
    for j, name in enumerate(names):
        items = np.flatnonzero((place[:, j] >= 0) & several)
        others = packed[items]
        others[np.arange(len(items)), place[items, j]] = np.nan
        found.append(
            _compare(people[items, j], machine[items], others, score, clusters[items], name)
        )
    return found


def _compare(
    own: Floats, judge: Floats, others: Floats, score: Score, clusters: Ints, name: str
) -> Comparison:
    missing = ~np.isfinite(judge)
    judge_score, annotator_score = score(judge, others), score(own, others)
    judge_wins = (judge_score >= annotator_score - TOLERANCE) & ~missing
    annotator_wins = (annotator_score >= judge_score - TOLERANCE) | missing
    return Comparison(name, judge_wins.astype(float), annotator_wins.astype(float), clusters)


def closeness(level: Level, members: Floats | None = None) -> Score:
    """Return the closeness of a label to others: the share of equal ones, or minus the RMSE.

    Of sets, it is the mean of 1 - MASI distance, and labels are rows of `members`, (K, M).

    Raises ValueError for an unknown level, and for sets without members.
    """
    check_level(level)
    if level == "set":
        return _mean_of_table(1 - masi_distances(np.zeros(0) if members is None else members))
    return _equal_share if level == "nominal" else _minus_rmse


def _equal_share(label: Floats, others: Floats) -> Floats:
    return ratio((others == label[:, None]).sum(axis=1), np.isfinite(others).sum(axis=1))


def _mean_of_table(alike: Floats) -> Score:
    """Return the mean similarity of a label to others, from that of every two labels (K, K)."""

    def score(label: Floats, others: Floats) -> Floats:
        there = np.isfinite(label)[:, None] & np.isfinite(others)
        one, other = (np.where(np.isfinite(x), x, 0).astype(np.int64) for x in (label, others))
        sums = np.where(there, alike[one[:, None], other], 0.0).sum(axis=1)
        return ratio(sums, there.sum(axis=1))

    return score


def _minus_rmse(value: Floats, others: Floats) -> Floats:
    squares = (others - value[:, None]) ** 2
    return -np.sqrt(ratio(np.nansum(squares, axis=1), np.isfinite(others).sum(axis=1)))


def _read(comparisons: list[Comparison], epsilon: float, q: float, p_value: PValue) -> Reading:
    p_values = np.array([p_value(c.judge, c.annotator, epsilon) for c in comparisons])
    wins = benjamini_yekutieli(p_values, q)
    annotators = tuple(
        AnnotatorTest(c.name, len(c.judge), float(p), bool(won), float(c.judge.mean()))
        for c, p, won in zip(comparisons, p_values, wins, strict=True)
    )
    advantage = float(np.mean([a.advantage_probability for a in annotators]))
    return Reading(float(wins.mean()), advantage, annotators)


def p_below(differences: Floats, epsilon: float) -> float:
    """Return the p-value of the one-sided t test of mean >= epsilon against mean < epsilon.

    Without variance the p-value is 0 if the mean is below epsilon, and 1 otherwise. For a single
    difference, which can prove nothing, it is 1.
    """
    n, mean = len(differences), differences.mean()
    if n < 2:
        return 1.0
    if np.ptp(differences) < TOLERANCE:
        return 0.0 if mean < epsilon else 1.0
    t = (mean - epsilon) / (differences.std(ddof=1) / np.sqrt(n))
    return float(t_below(t, n - 1))


def markov(differences: Floats, threshold: float, most: float = 1.0) -> float:
    """Return a bound of the p-value of mean >= threshold, for differences (n,) of at most `most`.

    The bound is ((most - threshold) / (most - mean))^n, or 1 if the mean is not below the
    threshold. Under H0, the product of n independent factors (most - d) has an expectation of at
    most (most - threshold)^n. Markov's inequality bounds the probability that the product reaches
    (most - mean)^n, which is its largest value with this mean. For equal differences no smaller
    p-value is valid.
    """
    mean = float(differences.mean())
    if mean >= threshold:
        return 1.0
    return float(((most - threshold) / (most - mean)) ** len(differences))


def benjamini_yekutieli(p_values: Floats, q: float = 0.05) -> Bools:
    """Return the hypotheses rejected at false discovery rate q under any dependence (2001)."""
    from scipy import stats

    rejected: Bools = stats.false_discovery_control(p_values, method="by") <= q
    return rejected


def verdict_beside(test: AltTest, is_blocked: bool) -> Verdict | None:
    """Return the judge's verdict, or `floor-passes` if a blocking floor passes at this epsilon.

    If such a floor passes too, a pass is meaningless. Other verdicts are unchanged.
    """
    return "floor-passes" if test.verdict == "passes" and is_blocked else test.verdict


def largest_epsilon_failed(floor: Sequence[AltTest]) -> float | None:
    """Return the largest epsilon at which the baseline does not pass; None if it always passes.

    An undecided verdict, from too few queries, counts as not passing.
    """
    return max((test.epsilon for test in floor if not test.passed), default=None)
