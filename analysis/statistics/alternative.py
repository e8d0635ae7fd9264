"""The alternative annotator test: may a judge replace a person? (Calderon, Reichart, Dror 2025)

Each annotator is left out in turn. On each of the annotator's items the judge wins if it is at
least as close to the remaining annotators as the annotator is, and the other way round; a tie is a
win for both. The annotator loses to the judge if wins_annotator - wins_judge is on average below
epsilon, by a one-sided t test with the false discovery rate controlled over annotators
(Benjamini-Yekutieli). The winning rate is the share of annotators who lose; 0.5 is a pass.

With few queries the t test alone is too sure of itself: a judge that is broken on every fifth
query shows no broken one in .8^n of the samples, and its differences then have no variance. So by
query the p-value is never below the bound of `markov`.

An epsilon at which the floor passes, a rule that compares words and understands nothing, is too
large to tell a judge from such a rule. A pass then says nothing; a judge that fails has failed all
the same. Power and the results by other rules are shown beside the test, never instead of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from .arrays import Bools, Floats, Ints, Level, pack, ratio, t_below
from .paired import signed_rank_below
from .resampling import design_effect, sums_by_cluster

#: So many labels are simulated at once.
AT_ONCE = 4_000_000


def alt_test_power(
    items: int,
    *,
    annotators: int = 3,
    categories: int = 3,
    accuracy: float = 0.85,
    judge_accuracy: float | None = None,
    epsilon: float = 0.2,
    q: float = 0.05,
    trials: int = 600,
    seed: int = 0,
) -> float:
    """The share of simulated studies that a judge passes (default: one as good as the people).

    In each, `items` independent items have one of equally frequent categories; everyone gives the
    right one with the chance `accuracy` (the judge with `judge_accuracy`), else any of the others.
    A verdict "failed" says little where this is low. Accuracy from the people's agreement:
    `accuracy_of`. With several items in a query, put the number of queries for a cautious answer.
    Raises ValueError below two annotators or two items.
    """
    if annotators < 2 or items < 2:
        raise ValueError("the test needs two annotators and two items")
    generator = np.random.Generator(np.random.PCG64(seed))
    judge = accuracy if judge_accuracy is None else judge_accuracy
    chances = np.append(np.full(annotators, accuracy), judge)
    step = max(1, AT_ONCE // (items * (annotators + 1)))
    passed = 0
    for start in range(0, trials, step):
        shape = (min(step, trials - start), items, annotators + 1)
        right = generator.random(shape) < chances
        # The true category is 0: which one it is makes no difference to who equals whom.
        labels = np.where(right, 0, generator.integers(1, categories, shape))
        passed += int(_passes(labels, epsilon, q).sum())
    return passed / trials


def accuracy_of(agreement: float, categories: int) -> float:
    """The accuracy a at which independent raters agree so often: a^2 + (1-a)^2/(K-1).

    1/K where they agree no more than by guessing.
    """
    k = categories
    return float((1 + np.sqrt(max((k - 1) * (k * agreement - 1), 0.0))) / k)


def _passes(labels: Ints, epsilon: float, q: float) -> Floats:
    """Whether the judge, in the last column of (T, n, m + 1), passes each study, (T,)."""
    people, judge = labels[:, :, :-1], labels[:, :, -1:]
    m, n = people.shape[2], people.shape[1]
    # How many people give each label: counting them is cheaper than comparing all pairs.
    given = np.stack([(people == code).sum(axis=2) for code in range(labels.max() + 1)], axis=2)
    same = np.take_along_axis(given, people, axis=2) - 1
    with_judge = people == judge
    judge_score = with_judge.sum(axis=2, keepdims=True) - with_judge
    d = np.sign(same - judge_score).astype(float)
    error = d.std(axis=1, ddof=1) / np.sqrt(n)
    gap = d.mean(axis=1) - epsilon
    t = np.divide(gap, error, out=np.where(gap < 0, -np.inf, np.inf), where=error > 0)
    p = np.sort(t_below(t, n - 1), axis=1)
    ranks = np.arange(1, m + 1)
    below = p <= ranks * q / (m * (1 / ranks).sum())
    rejected = np.where(below, ranks, 0).max(axis=1)
    passes: Floats = rejected / m >= 0.5
    return passes


Verdict = Literal["passes", "fails", "undecided", "floor-passes"]
#: The winning rate from which a judge passes.
PASS = 0.5


def undecided_words(queries: int, needed: int | None) -> str:
    """That so few queries cannot decide, and how many could (None: no number)."""
    said = f"cannot be decided with {queries} {'query' if queries == 1 else 'queries'}"
    if needed is None:
        return f"{said}; at epsilon 0 a tie never passes"
    return f"{said}; at least {needed} are needed"


@dataclass(frozen=True)
class AnnotatorTest:
    """One annotator left out: n items (or queries), and whether the judge wins."""

    name: str
    n: int
    p_value: float
    wins: bool
    advantage_probability: float


@dataclass(frozen=True)
class Reading:
    """The test with items, or with the means of queries, as the independent units."""

    winning_rate: float | None
    advantage_probability: float | None
    annotators: tuple[AnnotatorTest, ...]

    def as_json(self) -> dict[str, object]:
        """As the report shows it."""
        return asdict(self) | {"annotators": [asdict(a) for a in self.annotators]}


@dataclass(frozen=True)
class AltTest:
    """Both readings; `decides` names the one that counts; `reason` stands where both are null.

    Where queries decide, `queries` is how many there are, and `queries_needed` how many a judge
    would need to pass that ties with people throughout (None: no number suffices). `undecided`:
    they are too few, and no judge ahead of the people makes up for it.
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
        """The tests by items."""
        return self.items.annotators

    @property
    def verdict(self) -> Verdict | None:
        """`passes` where the deciding winning rate is at least one half; None without a rate."""
        rate = (self.by_query if self.decides == "by_query" else self.items).winning_rate
        if rate is None or self.undecided:
            return None if rate is None else "undecided"
        return "passes" if rate >= PASS else "fails"

    @property
    def passed(self) -> bool | None:
        """Whether the judge passes; None where that cannot be said."""
        return {"passes": True, "fails": False}.get(self.verdict or "")

    def as_json(self) -> dict[str, object]:
        """The `alt_test` object of the report."""
        fields: dict[str, object] = {"epsilon": self.epsilon} | self.items.as_json()
        fields |= {"by_query": self.by_query.as_json(), "decides": self.decides}
        fields |= {"passed": self.passed, "verdict": self.verdict}
        fields |= {"queries": self.queries, "queries_needed": self.queries_needed}
        return fields | ({} if self.reason is None else {"reason": self.reason})


#: Root mean squares that differ by less are a tie: sums of decimal fractions are not exact.
TOLERANCE = 1e-9
#: The curve's places; experts are given 0.2, trained annotators 0.15, a crowd 0.1.
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


#: From the judge's wins, the annotator's and epsilon to a p-value.
PValue = Callable[[Floats, Floats, float], float]
#: From labels (n,) and those of others (n, L), NaN where there is none, to how close they are.
Score = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Comparison:
    """Judge and one annotator on the annotator's items: who wins each (1 or 0), and its query."""

    name: str
    judge: Floats
    annotator: Floats
    clusters: Ints


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
) -> AltTest:
    """Test a judge (U,) against annotators (U, R), the queries of the units being `clusters`.

    In whole-number arrays -1 is a missing label (codes), in floating-point ones NaN (values). A
    missing label of the judge is a loss. The score is the share of equal labels for nominal, minus
    the root mean square difference for ordinal and interval variables. Annotators with fewer than
    `minimum` items that someone else labelled too are dropped. Queries decide where at least one
    holds several of the items that are compared; else each item is a query, and items decide.
    Below `queries_needed` queries only a judge that wins more often than the annotators can pass,
    and no other has failed: the verdict is `undecided`.
    """
    (test,) = epsilon_curve(
        human, judge, clusters, level=level, epsilons=(epsilon,), names=names, q=q, minimum=minimum
    )
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
) -> tuple[AltTest, ...]:
    """The test at each epsilon: how far the verdict hangs on the choice made before the run."""
    everyone = compare_all(human, judge, clusters, level, names)
    return tuple(verdict(everyone, epsilon, q, minimum) for epsilon in epsilons)


def additive(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """H0: the annotator's wins less the judge's are on average at least epsilon; by t."""
    return p_below(annotator - judge, epsilon)


def additive_by_query(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """The same H0 over the means of queries: the larger of t's p and the bound of `markov`."""
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
    """The test of annotators with at least `minimum` items, in both readings."""
    tested = [c for c in everyone if len(c.judge) >= minimum]
    decides: Literal["by_query", "items"] = "by_query" if _repeats(tested) else "items"
    if len(tested) < 2:
        reason = f"fewer than two annotators have {minimum} items that another one labelled too"
        nothing = Reading(None, None, ())
        return AltTest(epsilon, nothing, nothing, decides, reason)
    by_items = _read(tested, epsilon, q, p_value)
    means = [_query_means(c) for c in tested]
    by_queries = _read(means, epsilon, q, by_query)
    if decides == "items":
        return AltTest(epsilon, by_items, by_queries, decides)
    # The fewest queries of those annotators who would make half, were they to lose.
    most = sorted((a.n for a in by_queries.annotators), reverse=True)
    queries, needed = most[_half(len(most)) - 1], queries_needed(len(most), epsilon, q)
    ahead = [
        a.wins and c.annotator.mean() < c.judge.mean()
        for a, c in zip(by_queries.annotators, means, strict=True)
    ]
    undecided = (needed is None or queries < needed) and float(np.mean(ahead)) < PASS
    return AltTest(epsilon, by_items, by_queries, decides, None, queries, needed, undecided)


def queries_needed(annotators: int, epsilon: float, q: float = 0.05) -> int | None:
    """From how many queries on a judge that ties with people throughout can pass; None: from none.

    Half of m annotators must be rejected: k = ceil(m/2) p-values of at most k q / (m H_m) with
    H_m = 1 + 1/2 + ... + 1/m (Benjamini and Yekutieli 2001). A tie on all n queries has
    (1 - epsilon)^n by `markov`, so that n = ln(k q / (m H_m)) / ln(1 - epsilon), rounded up.
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
) -> list[Comparison]:
    """The judge against each annotator; labels as in `alt_test`."""
    people, machine = _with_nan(human), _with_nan(judge)
    if names is None:
        names = [str(j) for j in range(people.shape[1])]
    packed, place = pack(people)
    several = np.isfinite(packed).sum(axis=1) > 1
    score = _equal_share if level == "nominal" else _minus_rmse
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


def _equal_share(label: Floats, others: Floats) -> Floats:
    return ratio((others == label[:, None]).sum(axis=1), np.isfinite(others).sum(axis=1))


def _minus_rmse(value: Floats, others: Floats) -> Floats:
    squares = (others - value[:, None]) ** 2
    return -np.sqrt(ratio(np.nansum(squares, axis=1), np.isfinite(others).sum(axis=1)))


def _repeats(comparisons: list[Comparison]) -> bool:
    return any(len(np.unique(c.clusters)) < len(c.clusters) for c in comparisons)


def _query_means(c: Comparison) -> Comparison:
    judge, sizes = sums_by_cluster(c.judge, c.clusters)
    annotator, _ = sums_by_cluster(c.annotator, c.clusters)
    return Comparison(c.name, judge / sizes, annotator / sizes, np.unique(c.clusters))


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
    """The one-sided t test of mean >= epsilon against mean < epsilon.

    Without variance it is 0 where the mean is below epsilon and else 1; a single difference, which
    can prove nothing, gives 1.
    """
    n, mean = len(differences), differences.mean()
    if n < 2:
        return 1.0
    if np.ptp(differences) < TOLERANCE:
        return 0.0 if mean < epsilon else 1.0
    t = (mean - epsilon) / (differences.std(ddof=1) / np.sqrt(n))
    return float(t_below(t, n - 1))


def markov(differences: Floats, threshold: float, most: float = 1.0) -> float:
    """A bound of the p-value of mean >= threshold, for differences (n,) of at most `most`.

    ((most - threshold) / (most - mean))^n, and 1 where the mean is no lower than the threshold:
    under H0 the product of n independent (most - d) has a mean of at most (most - threshold)^n, so
    Markov's inequality bounds the chance of a product as large as (most - mean)^n, the largest that
    this mean allows. For equal differences no smaller p-value is valid.
    """
    mean = float(differences.mean())
    if mean >= threshold:
        return 1.0
    return float(((most - threshold) / (most - mean)) ** len(differences))


def benjamini_yekutieli(p_values: Floats, q: float = 0.05) -> Bools:
    """Which hypotheses are rejected at false discovery rate q under any dependence (2001)."""
    from scipy import stats

    rejected: Bools = stats.false_discovery_control(p_values, method="by") <= q
    return rejected


def verdict_beside(test: AltTest, floor: AltTest | None) -> Verdict | None:
    """The verdict of a judge's test, `floor-passes` where the floor's, at the same epsilon, passes.

    One that is undecided or fails stays so: the floor passing takes worth from a pass alone.
    """
    if test.verdict == "passes" and floor is not None and floor.passed:
        return "floor-passes"
    return test.verdict


def largest_epsilon_failed(floor: Sequence[AltTest]) -> float | None:
    """The largest epsilon at which a floor does not pass, of its tests; None where it always does.

    Where there are too few queries to decide at an epsilon, it does not pass there either.
    """
    return max((test.epsilon for test in floor if not test.passed), default=None)


#: Below so many independent units a t test is doubtful.
FEW = 30


def alt_test_sensitivity(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    epsilon: float,
    names: Sequence[str] | None = None,
    q: float = 0.05,
    minimum: int = FEW,
) -> dict[str, AltTest]:
    """The test of `alt_test`, its arguments the same, by other rules under their names.

    `multiplicative`: H0 is that the annotator's wins less the judge's / (1 - epsilon) are on
    average at least 0. `missing_dropped`, only where the judge lacks labels: items without one are
    left out rather than lost. `wilcoxon`, only where the test decides over fewer than 30 items (or
    queries) of an annotator or cannot for want of them: the exact signed-rank test that wins less
    epsilon lie below 0, without `minimum`.
    """
    everyone = compare_all(human, judge, clusters, level, names)
    found = {
        "multiplicative": verdict(
            everyone, epsilon, q, minimum, multiplicative, multiplicative_by_query
        )
    }
    there = _is_there(judge)
    if not there.all():
        kept = compare_all(human[there], judge[there], clusters[there], level, names)
        found["missing_dropped"] = verdict(kept, epsilon, q, minimum)
    test = verdict(everyone, epsilon, q, minimum)
    read = test.by_query if test.decides == "by_query" else test.items
    if test.reason or any(a.n < FEW for a in read.annotators):
        found["wilcoxon"] = verdict(everyone, epsilon, q, 1, signed_rank, signed_rank)
    return found


def effective_items(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    minimum: int = FEW,
) -> float | None:
    """How many independent items the test rests on: the mean over annotators of n / design effect.

    The design effect is that of the annotator's wins less the judge's (Kish 1965); n is never
    below the number of queries nor above that of items. None where no annotator is tested.
    """
    everyone = compare_all(human, judge, clusters, level)
    tested = [c for c in everyone if len(c.judge) >= minimum]
    return float(np.mean([_effective(c) for c in tested])) if tested else None


def multiplicative(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """H0: annotator - judge / (1 - epsilon) is on average at least 0; by t.

    Both sides are multiplied by 1 - epsilon, which changes no t and bears an epsilon of 1.
    """
    return p_below((1 - epsilon) * annotator - judge, 0.0)


def multiplicative_by_query(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """The same H0 over the means of queries: the larger of t's p and the bound of `markov`."""
    differences = (1 - epsilon) * annotator - judge
    return max(p_below(differences, 0.0), markov(differences, 0.0, most=1 - epsilon))


def signed_rank(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """H0: annotator - judge - epsilon does not lie below 0; by Wilcoxon's signed ranks."""
    return signed_rank_below(annotator - judge - epsilon)


def _is_there(labels: Floats | Ints) -> Bools:
    is_code = np.issubdtype(labels.dtype, np.integer)
    return np.asarray(labels >= 0 if is_code else np.isfinite(labels))


def _effective(c: Comparison) -> float:
    n, queries = len(c.judge), len(np.unique(c.clusters))
    effect = design_effect(c.annotator - c.judge, c.clusters)
    return float(np.clip(n / effect, queries, n)) if np.isfinite(effect) and effect > 0 else n
