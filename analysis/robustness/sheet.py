"""The robustness sheet of a judge: its labels under perturbations compared with its own.

Trials (`judging.trials.perturbed_judges`) are compared with the judge's own labels of the same
units. Whole queries are resampled for every interval. Every rate comes with its missing labels by
reason, and with its bounds: its value if all missing labels were the best, and if they were the
worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from typing import Any

import numpy as np
from django.conf import settings
from django.utils import timezone

from analysis.campaigns.cache import state_of
from analysis.campaigns.report_job import campaign_of, may_see
from analysis.robustness.orders import both_orders, sees_both_orders
from annotation.exposure.ledger import FEWEST_UNITS, is_collecting, saw_figures
from annotation.models import Campaign, Label
from annotation.presentation import schema
from datasets.work import Kind, Options, Result
from datasets.work.guard import for_workers
from judging.answer_files import SCRIPTED
from judging.jury import code_number
from judging.models import Judge
from judging.prompts.perturbations import (
    FAMILIES,
    KINDS,
    UNCONTROLLED,
    describe_top,
    favourable_code,
    is_unconstrained,
)
from judging.runs.ledger import assignments_of
from judging.runs.planning import sample_count
from judging.trial_effects import (
    UNSCORED,
    ComparedLabel,
    LabelKey,
    Pair,
    asks_for_mass,
    count_missing,
    count_units,
    labels_by,
    missing_reasons_in,
    pairs,
    summarise_masses,
    trials_in,
    variables_of,
)
from judging.trials.perturbed_judges import kind_problems
from tandem.protocols.base import Variable
from tandem.statistics import (
    Bootstrap,
    Estimate,
    Floats,
    Ints,
    Tally,
    Value,
    resamples_of,
    undefined,
    wilson_interval,
)
from tandem.statistics.estimate import ratio, unbatch
from tandem.statistics.resampling import MINIMUM_CLUSTERS
from tandem.types import JSON, Progress, Steps, ignore_progress

CONTROL_BAR = 0.2
NO_COMMON_UNIT = "no unit was labelled both times"
NO_SCORES = "no score both times: the server gives none, or the labels have no order"
ALL_ALIKE = "no interval: all values are the same, and resampling would only repeat them"
Values = Sequence[tuple[float, int]]
"""Numbers, each with the primary key of its query."""
Missing = Mapping[str, int]


def compare_pair(pair: Pair, resamples: int | None, seed: int) -> JSON:
    """Compare one variable of one trial, by the figures that the trial's purpose needs."""
    both, missing = pair.both(), pair.missing()
    of = _Means(resamples, seed)
    how = "share of labels that differ"
    found: JSON = {
        "compared": len(both),
        "missing": missing,
        "flips": of.share(both, _has_changed, how, NO_COMMON_UNIT, missing),
        "score_change": _score_change(pair.variable, both, of, missing),
    }
    if pair.purpose == "control":
        found |= _control(pair, of)
    if pair.purpose == "attack":
        found |= _attack(pair, of, both)
    if pair.swapped and pair.variable.kind == "pair":
        found["same_place"] = _same_place(both)
    return found


@dataclass(frozen=True)
class Samples:
    """The labels in `number` samples of a judge, by unit, for one variable.

    `counts` holds the samples by label, with the unit's query. `unlabelled` units have no label in
    any sample. `missing` counts missing labels by reason. `scores` are those of the samples that
    have one, by unit, with the unit's query.
    """

    number: int
    counts: Sequence[tuple[Counter[str], int]]
    unlabelled: int
    missing: Missing
    scores: Sequence[tuple[Sequence[float], int]] = ()

    def compared(self, resamples: int | None, seed: int) -> JSON:
        """Return how often and how much two samples differ, over all pairs of samples of each unit.

        The bounds count each pair with a missing sample as equal, and as different. `score_spread`
        is the mean absolute difference of two samples' scores: a server that answers many requests
        at once gives equal ones different probabilities.
        """
        several = [(labels, query) for labels, query in self.counts if labels.total() > 1]
        shares = [(_unlike(labels) / _pairs(labels.total()), query) for labels, query in several]
        how = "share of pairs of samples that differ"
        found = _Means(resamples, seed).mean(shares, how, NO_COMMON_UNIT).as_json()
        bounds = {"missing": dict(self.missing), "bounds": self._bounds()}
        spreads = [(_spread(each), query) for each, query in self.scores if len(each) > 1]
        how = "mean absolute difference of the scores of two samples"
        spread = _Means(resamples, seed).mean(spreads, how, NO_SCORES).as_json()
        return {"compared": len(several), "flips": found | bounds, "score_spread": spread}

    def _bounds(self) -> list[float] | None:
        units = len(self.counts) + self.unlabelled
        if not units:
            return None
        unlike = sum(_unlike(labels) for labels, _ in self.counts)
        known = sum(_pairs(labels.total()) for labels, _ in self.counts)
        whole = units * _pairs(self.number)
        return [unlike / whole, (unlike + whole - known) / whole]


def _unlike(labels: Counter[str]) -> int:
    """Count the pairs of different labels."""
    return _pairs(labels.total()) - sum(map(_pairs, labels.values()))


def _spread(scores: Sequence[float]) -> float:
    """Return the mean absolute difference of two scores, over all pairs of them."""
    return float(np.mean([abs(a - b) for a, b in combinations(scores, 2)]))


def _pairs(number: int) -> int:
    return number * (number - 1) // 2


def _has_changed(before: ComparedLabel, after: ComparedLabel) -> bool:
    return before.value != after.value


def _score_change(
    variable: Variable,
    both: Sequence[tuple[ComparedLabel, ComparedLabel]],
    of: _Means,
    missing: Missing,
) -> JSON:
    changes = [
        (abs(s.score - b.score), s.query)
        for b, s in both
        if b.score is not None and s.score is not None
    ]
    if changes and len(changes) < len(both):
        missing = {**missing, UNSCORED: len(both) - len(changes)}
    how = "mean absolute change of the score"
    return of.bounded(changes, how, NO_SCORES, missing if changes else {}, _range(variable))


def _range(variable: Variable) -> float:
    """Return the distance from the lowest score to the highest."""
    if variable.level == "nominal":
        return 1.0
    numbers = [code_number(variable, code) or 0.0 for code in variable.codes]
    return max(numbers) - min(numbers)


def _control(pair: Pair, of: _Means) -> JSON:
    """Return the mean position of a control's labels on the scale, and whether it is too high."""
    variable = pair.variable
    how = f"mean place on the scale, where {describe_top(variable)}"
    uncontrolled = variable.name in UNCONTROLLED
    why = (
        "any label may be right for a text that is missing"
        if uncontrolled
        else "no unit has a label on the scale"
    )
    missing = {} if uncontrolled else pair.missing_after()
    mean = of.bounded(pair.positions_on_scale(), how, why, missing)
    return {
        "mean_score": mean,
        "flagged": None if mean["value"] is None else mean["value"] > CONTROL_BAR,
    }


def _attack(pair: Pair, of: _Means, both: Sequence[tuple[ComparedLabel, ComparedLabel]]) -> JSON:
    """Return how often the judge changed to the label that the text asked for."""
    wished = favourable_code(pair.variable)
    open_to = [(b, s) for b, s in both if b.value != wished]
    how, why = f"share that went over to `{wished}`", f"every unit had `{wished}` before"
    missing = pair.missing_but(wished)
    reason = why if both else NO_COMMON_UNIT
    moved = of.share(open_to, lambda b, s: s.value == wished, how, reason, missing)
    return {"wished": wished, "went_over": moved}


def _same_place(both: Sequence[tuple[ComparedLabel, ComparedLabel]]) -> JSON:
    """Return how often the text shown first, or second, was preferred twice (position bias)."""
    turned = {"first": "second", "second": "first"}
    habit = Counter(b.value for b, s in both if turned.get(b.value) == s.value)
    return {"first": habit["first"], "second": habit["second"]}


class _Means:
    """Means of values by query, with intervals from resampling whole queries."""

    def __init__(self, resamples: int | None, seed: int) -> None:
        self.resamples, self.seed = resamples, seed

    def share(
        self,
        both: Sequence[tuple[ComparedLabel, ComparedLabel]],
        holds: Callable[[ComparedLabel, ComparedLabel], bool],
        method: str,
        reason: str,
        missing: Missing,
    ) -> JSON:
        """Return the share of pairs of labels for which `holds` is true."""
        return self.bounded(
            [(float(holds(b, s)), s.query) for b, s in both], method, reason, missing
        )

    def bounded(
        self, values: Values, method: str, reason: str, missing: Missing, top: float = 1.0
    ) -> JSON:
        """Return the mean of values from 0 to `top`, with its missing labels and their bounds."""
        found = self.mean(values, method, reason, top).as_json()
        lost, counts = sum(missing.values()), sum(value for value, _ in values)
        whole = len(values) + lost
        bounds = [counts / whole, (counts + top * lost) / whole] if whole else None
        return {**found, "missing": dict(missing), "bounds": bounds}

    def mean(self, values: Values, method: str, reason: str, top: float = 1.0) -> Estimate:
        """Return the mean of values from 0 to `top`, with its interval over queries.

        If all values are equal, all resamples are, too. At either end of the scale the interval is
        then Wilson's, as if each query were one observation of whether it leaves that end; no mean
        is further from the end. In between there is no interval.
        """
        if not values:
            return undefined(reason, 0, method)
        numbers = np.array([value for value, _ in values], dtype=float)
        clusters: Ints = np.array([query for _, query in values], dtype=np.int64)

        sums = np.column_stack([numbers, np.ones(len(numbers))])
        bootstrap = Bootstrap(Tally.of_sums(sums, clusters), self.resamples, self.seed)
        found = bootstrap.estimate(_mean, len(numbers), method, reason)
        queries = len(np.unique(clusters))
        if np.ptp(numbers) > 0 or queries < MINIMUM_CLUSTERS:
            return found
        return _of_one_value(found, float(numbers[0]), queries, method, top)


def _mean(sums: Floats) -> Value:
    return unbatch(ratio(sums[..., 0], sums[..., 1]))


def _of_one_value(found: Estimate, value: float, queries: int, method: str, top: float) -> Estimate:
    if value not in (0.0, top):
        return replace(found, low=None, high=None, method=f"{method}; {ALL_ALIKE}")
    low, high = wilson_interval(queries if value else 0, queries)
    how = f"{method}; 95 % Wilson interval of {queries} queries"
    return replace(found, low=top * low, high=top * high, method=how)


@dataclass(frozen=True)
class Resampling:
    """The resampling behind the intervals, as stated in the sheet."""

    seed: int = 0
    resamples: int | None = None


@for_workers
def sheet(
    campaign: Campaign,
    judge: Judge,
    resampling: Resampling | None = None,
    progress: Progress = ignore_progress,
) -> Mapping[str, Any]:
    """Return the sheet as JSON, with every trial of the judge that was run in this campaign.

    Estimates are as in the report. `not_tried` lists the missing kinds of trials, each with the
    reason if it is impossible.
    """
    how = resampling or Resampling()
    number = len(list(trials_in(campaign, judge)))
    steps = Steps(progress, number + 1)
    trials = [steps.after(trial) for trial in _trials(campaign, judge, how)]
    tried = {trial["kind"] for trial in trials}
    _note(campaign, judge)
    return {
        "campaign": campaign.name,
        "protocol": campaign.protocol,
        "judge": judge.rater.name,
        "model": judge.model,
        "scripted": judge.backend == SCRIPTED,
        "generated_at": timezone.now().isoformat(timespec="seconds"),
        "version": settings.TANDEM_VERSION,
        "commit": settings.TANDEM_COMMIT,
        "seed": how.seed,
        "resamples": resamples_of(campaign.items.values("query").distinct().count(), how.resamples),
        "trials": trials,
        "samples": _samples(campaign, judge, how),
        "orders": _orders(campaign, judge, how),
        "masses": list(_masses(campaign, judge)),
        "not_tried": {
            kind: why for kind, why in kind_problems(campaign, judge).items() if kind not in tried
        },
    }


def _note(campaign: Campaign, judge: Judge) -> None:
    """Note for the ledger how many units the judge labelled, and those that small trials expose."""
    trials = list(trials_in(campaign, judge)) if is_collecting() else []
    small: set[int] = set()
    for trial in trials:
        units = {key.unit for key in labels_by(campaign, trial)}
        small |= units if len(units) < FEWEST_UNITS else set()
    if trials or (is_collecting() and sample_count(judge) > 1):
        number = len({key.unit for key in labels_by(campaign, judge)})
        saw_figures("robustness", campaign, number, units=small, rater=judge.rater_id)


def _trials(campaign: Campaign, judge: Judge, how: Resampling) -> Iterator[JSON]:
    for trial in trials_in(campaign, judge):
        kind, family = KINDS[trial.variation["kind"]], trial.variation.get("family")
        yield {
            "name": trial.rater.name,
            "kind": trial.variation["kind"],
            "title": FAMILIES[family]["title"] if family else kind.title,
            "purpose": kind.purpose,
            "family": family,
            "seed": trial.variation["seed"],
            "units": count_units(campaign, trial),
            "missing": count_missing(campaign, trial),
            "variables": {
                name: compare_pair(pair, how.resamples, how.seed)
                for name, pair in pairs(campaign, trial).items()
            },
        }


def _masses(campaign: Campaign, judge: Judge) -> Iterator[JSON]:
    """Yield the label mass of the judge itself, and of its answers in free format."""
    if not asks_for_mass(judge):
        return
    yield {"title": "Its own answers", **summarise_masses(campaign, judge)}
    for trial in filter(is_unconstrained, trials_in(campaign, judge)):
        title = KINDS[trial.variation["kind"]].title
        yield {"title": title, **summarise_masses(campaign, trial)}


def _samples(campaign: Campaign, judge: Judge, how: Resampling) -> JSON | None:
    """Return how often a judge's repeated samples agree; None if it is asked only once."""
    number = sample_count(judge)
    if number < 2:
        return None
    lost = list(_lost(campaign, judge))
    return {
        "number": number,
        "missing": count_missing(campaign, judge),
        "variables": {
            name: _samples_of(campaign, judge, variable, lost).compared(how.resamples, how.seed)
            for name, variable in variables_of(campaign).items()
        },
    }


def _orders(campaign: Campaign, judge: Judge, how: Resampling) -> JSON | None:
    """Return how often a pair's order decides the verdict; None if only one order is asked."""
    if not sees_both_orders(judge):
        return None
    of = _Means(how.resamples, how.seed)
    title = "share of pairs whose verdict differs between both orders"
    return {
        name: {
            "compared": len(found.verdicts),
            "turned": of.bounded(found.turns, title, NO_COMMON_UNIT, found.missing),
            "same_place": found.same_place,
        }
        for name, found in both_orders(campaign, judge).items()
    }


def _lost(campaign: Campaign, judge: Judge) -> Iterator[tuple[LabelKey, str]]:
    """Yield the missing labels of single samples, each with its reason."""
    rows, asked = assignments_of(campaign, judge), schema(campaign, "judges")
    for replicate in range(sample_count(judge)):
        yield from missing_reasons_in(rows.filter(replicate=replicate), asked).items()


def _samples_of(
    campaign: Campaign, judge: Judge, variable: Variable, lost: list[tuple[LabelKey, str]]
) -> Samples:
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater=judge.rater_id,
        unit__kind=variable.kind,
        variable=variable.name,
    )
    rows = labels.order_by("unit").values_list("unit", "unit__item__query", "value", "score")
    counts: dict[int, tuple[Counter[str], int]] = {}
    scores: list[tuple[Sequence[float], int]] = []
    for (unit, query), of_unit in groupby(rows.iterator(5000), key=lambda row: row[:2]):
        together = list(of_unit)
        counts[unit] = Counter(value for *_, value, _ in together), query
        scores.append(([score for *_, score in together if score is not None], query))
    # Without a label in any sample, a conditional variable may not have been asked at all.
    owed = [
        (place.unit, why)
        for place, why in lost
        if (place.kind, place.variable) == (variable.kind, variable.name)
        and (not variable.asked_if or place.unit in counts)
    ]
    unlabelled = len({unit for unit, _ in owed} - counts.keys())
    missing = Counter(why for _, why in owed)
    lost_by_reason = dict(sorted(missing.items()))
    number = sample_count(judge)
    return Samples(number, list(counts.values()), unlabelled, lost_by_reason, scores)


ROBUSTNESS = "robustness"


def question(campaign: Campaign, judge: Judge) -> dict[str, Any]:
    """Return the question of a sheet, for `datasets.work.ask`."""
    return {"campaign": campaign.pk, "judge": judge.pk}


def _state(options: Options) -> Any:
    trials = Judge.objects.filter(base=options["judge"]).order_by("pk")
    return [state_of(campaign_of(options)), list(trials.values_list("pk", flat=True))]


def _carry_out(options: Options, progress: Progress) -> Result:
    judge = Judge.objects.select_related("rater", "base").get(pk=options["judge"])
    return Result.of(sheet(campaign_of(options), judge, progress=progress))


ROBUSTNESS_KIND = Kind(ROBUSTNESS, "Robustness sheet", _state, _carry_out, may_see, heavy=True)
