"""The robustness sheet of a judge: what became of its labels under changed conditions.

Trials (`judging.rows.trials`) are held against the judge's own labels of the same units. Whole
queries are resampled for every interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.conf import settings
from django.utils import timezone

from analysis.blocks.resampling import JSON
from analysis.blocks.trials import Samples, compared
from analysis.statistics import resamples_of
from annotation.models import Campaign, Label
from annotation.presentation import schema
from annotation.protocols.base import Variable
from judging.models import Judge
from judging.prompts.perturbations import FAMILIES, KINDS, is_unconstrained
from judging.robustness.effects import (
    Place,
    asks_for_mass,
    lost_in,
    masses_of,
    missing_of,
    pairs,
    trials_in,
    units_asked,
    variables_of,
)
from judging.robustness.trials import possible_kinds
from judging.runs.ledger import rows_of, samples_of


@dataclass(frozen=True)
class Resampling:
    """How the intervals come about; stated in the sheet."""

    seed: int = 0
    resamples: int | None = None


def sheet(
    campaign: Campaign, judge: Judge, resampling: Resampling | None = None
) -> Mapping[str, Any]:
    """The sheet as JSON: every trial of the judge that was asked anything in this campaign.

    Estimates are as in the report. `not_tried` has the kinds of trials that are lacking, each with
    the reason why it cannot be made, or nothing.
    """
    how = resampling or Resampling()
    trials = list(_trials(campaign, judge, how))
    tried = {trial["kind"] for trial in trials}
    return {
        "campaign": campaign.name,
        "protocol": campaign.protocol,
        "judge": judge.rater.name,
        "model": judge.model,
        "generated_at": timezone.now().isoformat(timespec="seconds"),
        "version": settings.TANDEM_VERSION,
        "seed": how.seed,
        "resamples": resamples_of(campaign.items.values("query").distinct().count(), how.resamples),
        "trials": trials,
        "samples": _samples(campaign, judge, how),
        "masses": list(_masses(campaign, judge)),
        "not_tried": {
            kind: why for kind, why in possible_kinds(campaign, judge).items() if kind not in tried
        },
    }


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
            "units": units_asked(campaign, trial),
            "missing": missing_of(campaign, trial),
            "variables": {
                name: compared(pair, how.resamples, how.seed)
                for name, pair in pairs(campaign, trial).items()
            },
        }


def _masses(campaign: Campaign, judge: Judge) -> Iterator[JSON]:
    """The label mass of the judge itself, and of its answers in no given form."""
    if not asks_for_mass(judge):
        return
    yield {"title": "Its own answers", **masses_of(campaign, judge)}
    for trial in filter(is_unconstrained, trials_in(campaign, judge)):
        title = KINDS[trial.variation["kind"]].title
        yield {"title": title, **masses_of(campaign, trial)}


def _samples(campaign: Campaign, judge: Judge, how: Resampling) -> JSON | None:
    """How far the repeated samples of a judge agree; null where it is asked once."""
    number = samples_of(judge)
    if number < 2:
        return None
    lost = list(_lost(campaign, judge))
    return {
        "number": number,
        "missing": missing_of(campaign, judge),
        "variables": {
            name: _samples_of(campaign, judge, variable, lost).compared(how.resamples, how.seed)
            for name, variable in variables_of(campaign).items()
        },
    }


def _lost(campaign: Campaign, judge: Judge) -> Iterator[tuple[Place, str]]:
    """The labels that single samples lack, each with its reason."""
    rows, asked = rows_of(campaign, judge), schema(campaign)
    for replicate in range(samples_of(judge)):
        yield from lost_in(rows.filter(replicate=replicate), asked).items()


def _samples_of(
    campaign: Campaign, judge: Judge, variable: Variable, lost: list[tuple[Place, str]]
) -> Samples:
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater=judge.rater_id,
        unit__kind=variable.kind,
        variable=variable.name,
    )
    rows = labels.order_by("unit").values_list("unit", "unit__item__query", "value")
    told: dict[int, tuple[Counter[str], int]] = {}
    for (unit, query), together in groupby(rows.iterator(5000), key=lambda row: row[:2]):
        told[unit] = Counter(value for *_, value in together), query
    # Where no sample has a label, a variable with a condition may not have been asked at all.
    owed = [
        (place.unit, why)
        for place, why in lost
        if (place.kind, place.variable) == (variable.kind, variable.name)
        and (not variable.asked_if or place.unit in told)
    ]
    untold = len({unit for unit, _ in owed} - told.keys())
    missing = Counter(why for _, why in owed)
    return Samples(samples_of(judge), list(told.values()), untold, dict(sorted(missing.items())))
