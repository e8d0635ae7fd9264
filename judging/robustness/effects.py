"""What a perturbation did to a judge's labels, as counts; and label mass.

Counts only, as a run's manifest holds them; `analysis.robustness.sheet` computes rates with
intervals from the same pairs. Label mass is how likely a judge was, at the place of a label, to
write any label at all. If it is small, the model preferred to say something else, and scores rest
on little. A server that enforces the form of an answer may return probabilities of labels alone;
then label mass can only be taken from answers without an enforced form.
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
from annotation.protocols.base import Variable
from annotation.protocols.schema import Schema
from judging.answers.scoring import LOW_MASS
from judging.models import Judge
from judging.prompts.perturbations import KINDS, UNCONTROLLED, Purpose, favourable, share_of_best
from judging.runs.ledger import rows_of

JSON = dict[str, Any]
Status = Assignment.Status
OPEN, UNSCORED = "open", "no score"


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
Lost = Mapping[Place, str]
"""Why there is no label at a place."""


@dataclass(frozen=True)
class Pair:
    """One variable under both conditions: the labels of the judge, and those of the trial.

    `turned` where the trial was shown pairs the other way round. `lost` are the places where the
    trial was asked and has no label, `lost_before` those of the judge.
    """

    variable: Variable
    purpose: Purpose
    base: Labels
    trial: Labels
    turned: bool = False
    lost: Lost = field(default_factory=dict)
    lost_before: Lost = field(default_factory=dict)

    def both(self) -> list[tuple[Said, Said]]:
        """The labels of the judge and of the trial, where both gave one."""
        return [
            (self.base[place], said)
            for place, said in self.trial.items()
            if self.is_of(place) and place in self.base
        ]

    def is_of(self, place: Place) -> bool:
        return (place.kind, place.variable) == (self.variable.kind, self.variable.name)

    def missing(self) -> dict[str, int]:
        """How many labels one of the two lacks, by reason; those of the judge as `before: …`.

        What need not be asked, because another label said so, is not missing.
        """
        before = {place: f"before: {why}" for place, why in self.lost_before.items()}
        return _counted(why for place, why in {**before, **self.lost}.items() if self._owed(place))

    def missing_after(self) -> dict[str, int]:
        """How many labels the trial lacks, whether the judge had them or not."""
        return _counted(why for place, why in self.lost.items() if self._owed(place))

    def missing_but(self, label: str) -> dict[str, int]:
        """How many labels the trial lacks where the judge gave another one than this."""
        return _counted(
            why
            for place, why in self.lost.items()
            if self._owed(place) and place in self.base and self.base[place].value != label
        )

    def _owed(self, place: Place) -> bool:
        asked = not self.variable.asked_if or place in self.base or place in self.trial
        return self.is_of(place) and asked and not (place in self.base and place in self.trial)

    def places_on_scale(self) -> list[tuple[float, int]]:
        """Where each label of a control stands, from 0 to 1, with its query.

        All labels of the trial count, whether the judge gave the unit one before or not.
        """
        if self.variable.name in UNCONTROLLED:
            return []
        found = (
            (share_of_best(self.variable, said.value), said.query)
            for place, said in self.trial.items()
            if self.is_of(place)
        )
        return [(share, query) for share, query in found if share is not None]

    def counts(self) -> JSON:
        """What the pair comes to, in numbers that need no resampling."""
        both, wished = self.both(), favourable(self.variable)
        found: JSON = {
            "compared": len(both),
            "flipped": sum(before.value != after.value for before, after in both),
            "missing": self.missing(),
        }
        if self.purpose == "control":
            places = [share for share, _ in self.places_on_scale()]
            mean = round(sum(places) / len(places), 9) if places else None
            found |= {"on_scale": len(places), "mean_score": mean, "missing": self.missing_after()}
        if self.purpose == "attack":
            moved = [after.value == wished for before, after in both if before.value != wished]
            found |= {"wished": wished, "open_to_it": len(moved), "went_over": sum(moved)}
        return found


def _counted(reasons: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(reasons).items()))


def pairs(campaign: Campaign, trial: Judge) -> dict[str, Pair]:
    """What a trial said beside what its judge said of the same items, by variable.

    Raises ValueError for a judge that is no trial.
    """
    if trial.base is None:
        raise ValueError(f"{trial} is no trial")
    rows = rows_of(campaign, trial)
    items = rows.order_by().values("item")
    before = rows_of(campaign, trial.base).filter(replicate=0, status=Status.DONE, item__in=items)
    asked = schema(campaign)
    kind = trial.variation["kind"]
    base, said = said_by(campaign, trial.base, items), said_by(campaign, trial)
    lost, lost_before = lost_in(rows, asked), lost_in(before, asked)
    return {
        name: Pair(variable, KINDS[kind].purpose, base, said, kind == "swapped", lost, lost_before)
        for name, variable in variables_of(campaign).items()
    }


def variables_of(campaign: Campaign) -> dict[str, Variable]:
    """The variables of a campaign; one that is asked of two kinds of units stands once for each."""
    variables = schema(campaign).variables
    times = Counter(variable.name for variable in variables)
    return {v.name if times[v.name] == 1 else f"{v.name} of {v.kind}": v for v in variables}


def said_by(
    campaign: Campaign, judge: Judge, items: QuerySet[Any, Any] | None = None
) -> dict[Place, Said]:
    """The current labels of a judge or a trial; of a judge that is asked often, its first ones.

    With `items`, a query of their primary keys, of these alone.
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
        Place(unit, kind, variable): Said(value, score, query)
        for unit, kind, variable, value, score, query in labels.values_list(*columns).iterator(5000)
    }


def lost_in(rows: QuerySet[Assignment], asked: Schema) -> dict[Place, str]:
    """Why labels are not there, of rows that are closed without them or are still `open`."""
    lacking = rows.exclude(status=Status.DONE, missing={}).order_by()
    units: dict[tuple[int, str], tuple[int, str]] = {}
    of_items = Unit.objects.filter(item__in=lacking.values("item")).order_by()
    for item, name, unit, kind in of_items.values_list("item", "name", "pk", "kind"):
        units[item, name] = unit, kind
    found: dict[Place, str] = {}
    for row in lacking:
        there = {name: units[row.item_id, name] for name in row.asked}
        for name, each in _reasons(row, asked, {n: kind for n, (_, kind) in there.items()}):
            unit, kind = there[name]
            found |= {Place(unit, kind, variable): why for variable, why in each.items()}
    return found


def _reasons(
    row: Assignment, asked: Schema, kinds: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """By unit. A row without any answer lacks all, as nobody knows what would have been asked."""
    if row.missing or row.status == Status.DONE:
        yield from reasons(row, asked, kinds).items()
        return
    unanswered = row.status in (Status.OPEN, Status.LEASED)
    why = OPEN if unanswered else row.reason or row.status
    for name, kind in kinds.items():
        yield name, {variable.name: why for variable in asked.variables_of(kind)}


def missing_of(campaign: Campaign, judge: Judge) -> dict[str, int]:
    """How many units have no answer, by reason; those that are still to be asked as `open`."""
    counted: Counter[str] = Counter()
    rows = rows_of(campaign, judge).exclude(status=Status.DONE)
    for status, reason, asked in rows.values_list("status", "reason", "asked"):
        counted[OPEN if status in (Status.OPEN, Status.LEASED) else reason or status] += len(asked)
    return dict(sorted(counted.items()))


def trials_in(campaign: Campaign, base: Judge) -> list[Judge]:
    """The trials of a judge that were asked anything in a campaign, in the order of their kinds."""
    order = list(KINDS)
    asked = Assignment.objects.filter(item__campaign=campaign, rater__judge__base=base)
    trials = Judge.objects.filter(rater__in=asked.order_by().values("rater"), base=base)
    found = trials.select_related("rater", "base__rater").order_by("pk")
    return sorted(found, key=lambda each: order.index(each.variation["kind"]))


def units_asked(campaign: Campaign, judge: Judge) -> int:
    return sum(map(len, rows_of(campaign, judge).values_list("asked", flat=True)))


MASS_BAR = 0.9


def asks_for_mass(judge: Judge) -> bool:
    """Whether a judge asks for the probabilities that the mass is the sum of."""
    return bool(judge.params.get("logprobs"))


def masses_of(campaign: Campaign, judge: Judge) -> JSON:
    """Median mass over the current labels of a judge, and how many are `low`: below one half.

    `n` labels have a mass, of others `unknown` says by reason why not. Without any the median is
    null. It is `flagged` where the median is below 0.9; null where that is not known.
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
            told = found.get("mass_unknown") or found.get("unscored")
            unknown[told or "the server gave no log probabilities"] += 1
    middle = round(median(masses), 9) if masses else None
    return {
        "n": len(masses),
        "median": middle,
        "low": sum(mass < LOW_MASS for mass in masses),
        "unknown": dict(sorted(unknown.items())),
        "flagged": None if middle is None else middle < MASS_BAR,
    }


def warning_of(masses: JSON) -> str:
    """What to say where the mass is low; empty where it is not, or is not known."""
    if not masses["flagged"]:
        return ""
    return (
        f"the label mass is low: half of {masses['n']:,} labels had less than "
        f"{masses['median']:.2f}, and {masses['low']:,} less than {LOW_MASS}. The model would "
        "often have said something else than a label: take its scores with care, or mend the prompt"
    )
