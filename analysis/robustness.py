"""The robustness sheet of a judge: what became of its labels under changed conditions.

Trials (`judging.rows.trials`) are held against the judge's own labels of the same units. Whole
queries are resampled for every interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils import timezone

from analysis.blocks.trials import Pair, compared, missing_of, said_by
from analysis.blocks.trials import samples as of_samples
from annotation.models import Campaign
from annotation.presenting import schema
from annotation.protocols.base import Variable
from judging.conditions.attacks import FAMILIES
from judging.conditions.variations import KINDS
from judging.models import Judge
from judging.rows.ledger import rows_of
from judging.rows.planning import samples_of
from judging.rows.trials import possible_kinds

JSON = dict[str, Any]


@dataclass(frozen=True)
class Resampling:
    """How the intervals come about; stated in the sheet."""

    seed: int = 0
    resamples: int = 2000


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
        "resamples": how.resamples,
        "trials": trials,
        "samples": _samples(campaign, judge, how),
        "not_tried": {
            kind: why for kind, why in possible_kinds(campaign, judge).items() if kind not in tried
        },
    }


def _trials(campaign: Campaign, judge: Judge, how: Resampling) -> Iterator[JSON]:
    base = said_by(campaign, judge)
    order = list(KINDS)
    trials = Judge.objects.filter(base=judge).select_related("rater").order_by("pk")
    for trial in sorted(trials, key=lambda each: order.index(each.variation["kind"])):
        rows = rows_of(campaign, trial)
        asked = sum(len(names) for names in rows.values_list("asked", flat=True))
        if asked:
            yield _trial(campaign, trial, base, how) | {"units": asked}


def _trial(campaign: Campaign, trial: Judge, base: Mapping[Any, Any], how: Resampling) -> JSON:
    said = said_by(campaign, trial)
    kind, family = KINDS[trial.variation["kind"]], trial.variation.get("family")
    found = {
        name: compared(
            Pair(variable, kind.purpose, base, said, trial.variation["kind"] == "swapped"),
            how.resamples,
            how.seed,
        )
        for name, variable in _named(campaign).items()
    }
    return {
        "name": trial.rater.name,
        "kind": trial.variation["kind"],
        "title": FAMILIES[family]["title"] if family else kind.title,
        "purpose": kind.purpose,
        "family": family,
        "seed": trial.variation["seed"],
        "missing": missing_of(campaign, trial),
        "variables": found,
    }


def _samples(campaign: Campaign, judge: Judge, how: Resampling) -> JSON | None:
    """How far the repeated samples of a judge agree; null where it is asked once."""
    number = samples_of(judge)
    if number < 2:
        return None
    said = [said_by(campaign, judge, replicate) for replicate in range(number)]
    return {
        "number": number,
        "variables": {
            name: of_samples(variable, said, how.resamples, how.seed)
            for name, variable in _named(campaign).items()
        },
    }


def _named(campaign: Campaign) -> dict[str, Variable]:
    """The variables of a campaign; one that is asked of two kinds of units stands once for each."""
    variables = schema(campaign).variables
    times = Counter(variable.name for variable in variables)
    return {v.name if times[v.name] == 1 else f"{v.name} of {v.kind}": v for v in variables}
