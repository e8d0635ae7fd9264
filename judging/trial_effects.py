"""The effects of a perturbation on a judge's labels, as counts, and label mass.

A run's manifest stores these counts. `analysis.robustness.sheet` computes rates with intervals from
the same pairs. Label mass is the probability that a judge writes any label at all at the position
of a label. If it is low, the model preferred other text, and its scores are unreliable. A server
that enforces the form of an answer may return probabilities of labels alone. Then label mass can
only be computed from answers without an enforced form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from django.db.models import QuerySet

from annotation.missing_reasons import reasons
from annotation.models import Assignment, Campaign, Label, Unit
from annotation.presentation import schema
from judging.answers.logprobs import LOW_MASS
from judging.models import Judge
from judging.prompts.perturbations import (
    KINDS,
    UNCONTROLLED,
    Purpose,
    favourable_code,
    position_on_scale,
)
from judging.runs.ledger import assignments_of
from tandem.protocols.base import Variable
from tandem.protocols.schema import Schema

JSON = dict[str, Any]
Status = Assignment.Status
OPEN, UNSCORED = "open", "no score"
LOW_MEDIAN_MASS = 0.9


class ComparedLabel(NamedTuple):
    """The parts of a label that trials compare. `query` is a primary key."""

    value: str
    score: float | None
    query: int


class LabelKey(NamedTuple):
    """The key of a label: a unit's primary key and kind, and the variable."""

    unit: int
    kind: str
    variable: str


Labels = Mapping[LabelKey, ComparedLabel]
Reasons = Mapping[LabelKey, str]
"""Missing reasons by label key."""


@dataclass(frozen=True)
class Pair:
    """One variable's labels from the judge and from the trial.

    `swapped` is true if the trial was shown pairs in the other order. `reasons` are the missing
    reasons of the trial, `reasons_before` those of the judge.
    """

    variable: Variable
    purpose: Purpose
    base: Labels
    trial: Labels
    swapped: bool = False
    reasons: Reasons = field(default_factory=dict)
    reasons_before: Reasons = field(default_factory=dict)

    def both(self) -> list[tuple[ComparedLabel, ComparedLabel]]:
        """Return the judge's and the trial's labels on units where both gave one."""
        return [
            (self.base[key], label)
            for key, label in self.trial.items()
            if self.includes(key) and key in self.base
        ]

    def includes(self, place: LabelKey) -> bool:
        return (place.kind, place.variable) == (self.variable.kind, self.variable.name)

    def missing(self) -> dict[str, int]:
        """Count missing labels by reason; the judge's are prefixed by `before: …`.

        A label that does not apply because of another label is not missing.
        """
        before = {place: f"before: {why}" for place, why in self.reasons_before.items()}
        return _count(
            why for place, why in {**before, **self.reasons}.items() if self._is_owed(place)
        )

    def missing_after(self) -> dict[str, int]:
        """Count the trial's missing labels by reason, regardless of the judge's labels."""
        return _count(why for place, why in self.reasons.items() if self._is_owed(place))

    def missing_but(self, label: str) -> dict[str, int]:
        """Count the trial's missing labels by reason, where the judge gave a different label."""
        return _count(
            why
            for place, why in self.reasons.items()
            if self._is_owed(place) and place in self.base and self.base[place].value != label
        )

    def _is_owed(self, place: LabelKey) -> bool:
        asked = not self.variable.asked_if or place in self.base or place in self.trial
        return self.includes(place) and asked and not (place in self.base and place in self.trial)

    def positions_on_scale(self) -> list[tuple[float, int]]:
        """Return the position from 0 to 1 of each label of a control, with its query.

        All labels of the trial count, regardless of the judge's labels.
        """
        if self.variable.name in UNCONTROLLED:
            return []
        found = (
            (position_on_scale(self.variable, label.value), label.query)
            for key, label in self.trial.items()
            if self.includes(key)
        )
        return [(share, query) for share, query in found if share is not None]

    def counts(self) -> JSON:
        """Return the counts for the manifest, which need no resampling."""
        both, wished = self.both(), favourable_code(self.variable)
        found: JSON = {
            "compared": len(both),
            "flipped": sum(before.value != after.value for before, after in both),
            "missing": self.missing(),
        }
        if self.purpose == "control":
            shares = [share for share, _ in self.positions_on_scale()]
            mean = round(sum(shares) / len(shares), 9) if shares else None
            found |= {"on_scale": len(shares), "mean_score": mean, "missing": self.missing_after()}
        if self.purpose == "attack":
            moved = [after.value == wished for before, after in both if before.value != wished]
            found |= {"wished": wished, "open_to_it": len(moved), "went_over": sum(moved)}
        return found


def _count(reasons: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(reasons).items()))


def pairs(campaign: Campaign, trial: Judge) -> dict[str, Pair]:
    """Pair a trial's labels with its judge's labels on the same items, by variable.

    Raises ValueError for a judge that is not a trial.
    """
    if trial.base is None:
        raise ValueError(f"{trial} is not a trial")
    rows = assignments_of(campaign, trial)
    items = rows.order_by().values("item")
    before = assignments_of(campaign, trial.base).filter(
        replicate=0, status=Status.DONE, item__in=items
    )
    asked = schema(campaign, "judges")
    kind = trial.variation["kind"]
    base, said = labels_by(campaign, trial.base, items), labels_by(campaign, trial)
    lost, reasons_before = missing_reasons_in(rows, asked), missing_reasons_in(before, asked)
    return {
        name: Pair(
            variable, KINDS[kind].purpose, base, said, kind == "swapped", lost, reasons_before
        )
        for name, variable in variables_of(campaign).items()
    }


def variables_of(campaign: Campaign) -> dict[str, Variable]:
    """Return the variables of a campaign by name, once for each kind of unit that they apply to."""
    variables = schema(campaign, "judges").variables
    times = Counter(variable.name for variable in variables)
    return {v.name if times[v.name] == 1 else f"{v.name} of {v.kind}": v for v in variables}


def labels_by(
    campaign: Campaign, judge: Judge, items: QuerySet[Any, Any] | None = None
) -> dict[LabelKey, ComparedLabel]:
    """Return the current labels of a judge or a trial, from its first sample only.

    `items` is a query of primary keys that restricts the labels to these items.
    """
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater=judge.rater_id,
        response__assignment__replicate=0,
    )
    if items is not None:
        labels = labels.filter(response__assignment__item__in=items)
    columns = ("unit", "unit__kind", "variable", "value", "score", "unit__item__query")
    return {
        LabelKey(unit, kind, variable): ComparedLabel(value, score, query)
        for unit, kind, variable, value, score, query in labels.values_list(*columns).iterator(5000)
    }


def missing_reasons_in(rows: QuerySet[Assignment], asked: Schema) -> dict[LabelKey, str]:
    """Return the missing reasons of assignments closed without labels, or `open` if not closed."""
    lacking = rows.exclude(status=Status.DONE, missing={}).order_by()
    units: dict[tuple[int, str], tuple[int, str]] = {}
    of_items = Unit.objects.filter(item__in=lacking.values("item")).order_by()
    for item, name, unit, kind in of_items.values_list("item", "name", "pk", "kind"):
        units[item, name] = unit, kind
    found: dict[LabelKey, str] = {}
    for row in lacking:
        there = {name: units[row.item_id, name] for name in row.asked}
        for name, each in _reasons(row, asked, {n: kind for n, (_, kind) in there.items()}):
            unit, kind = there[name]
            found |= {LabelKey(unit, kind, variable): why for variable, why in each.items()}
    return found


def _reasons(
    row: Assignment, asked: Schema, kinds: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield missing reasons by unit.

    Without any answer all labels are missing, since conditions cannot be evaluated.
    """
    if row.missing or row.status == Status.DONE:
        yield from reasons(row, asked, kinds).items()
        return
    unanswered = row.status in (Status.OPEN, Status.LEASED)
    why = OPEN if unanswered else row.reason or row.status
    for name, kind in kinds.items():
        yield name, {variable.name: why for variable in asked.variables_of(kind)}


def count_missing(campaign: Campaign, judge: Judge) -> dict[str, int]:
    """Count units without an answer by reason, with those not yet asked as `open`."""
    counted: Counter[str] = Counter()
    rows = assignments_of(campaign, judge).exclude(status=Status.DONE)
    for status, reason, asked in rows.values_list("status", "reason", "asked"):
        counted[OPEN if status in (Status.OPEN, Status.LEASED) else reason or status] += len(asked)
    return dict(sorted(counted.items()))


def trials_in(campaign: Campaign, base: Judge) -> list[Judge]:
    """Return the trials of a judge with assignments in a campaign, in the order of their kinds.

    Trials of drafts are left out: they are not perturbations.
    """
    order = list(KINDS)
    asked = Assignment.objects.filter(item__campaign=campaign, rater__judge__base=base)
    trials = Judge.objects.filter(rater__in=asked.order_by().values("rater"), base=base)
    rows = trials.select_related("rater", "base__rater").order_by("pk")
    found = [each for each in rows if each.variation["kind"] in KINDS]
    return sorted(found, key=lambda each: order.index(each.variation["kind"]))


def count_units(campaign: Campaign, judge: Judge) -> int:
    return sum(map(len, assignments_of(campaign, judge).values_list("asked", flat=True)))


def asks_for_mass(judge: Judge) -> bool:
    """Return whether a judge asks for the log probabilities that label mass needs."""
    return bool(judge.params.get("logprobs"))


def summarise_masses(campaign: Campaign, judge: Judge) -> JSON:
    """Return the median mass over a judge's current labels, and the number of low ones.

    `n` labels have a mass; `unknown` counts the others by reason. A mass below one half is `low`. A
    median below 0.9 is `flagged`. Without any mass the median and the flag are null.
    """
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater=judge.rater_id,
    )
    masses: list[float] = []
    unknown: Counter[str] = Counter()
    for meta in labels.values_list("meta", flat=True).iterator(5000):
        found = meta or {}
        if (mass := found.get("mass")) is not None:
            masses.append(mass)
        else:
            reason = found.get("mass_unknown") or found.get("unscored")
            unknown[reason or "the server gave no log probabilities"] += 1
    middle = round(median(masses), 9) if masses else None
    return {
        "n": len(masses),
        "median": middle,
        "low": sum(mass < LOW_MASS for mass in masses),
        "unknown": dict(sorted(unknown.items())),
        "flagged": None if middle is None else middle < LOW_MEDIAN_MASS,
    }


def mass_warning(masses: JSON) -> str:
    """Return a warning if the mass is low, else an empty string."""
    if not masses["flagged"]:
        return ""
    return (
        f"the label mass is low: half of {masses['n']:,} labels had less than "
        f"{masses['median']:.2f}, and {masses['low']:,} less than {LOW_MASS}. The model would "
        "often have written something other than a label: treat its scores with care, or improve "
        "the prompt"
    )
