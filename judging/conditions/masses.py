"""Label mass: how likely a judge was, at the place of a label, to write any of the labels at all.

Where it is small the model would rather have said something else, and scores rest on little. A
server that enforces the form of an answer may tell the probabilities of labels alone; then the mass
can only be read off answers that were asked for in no given form.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from annotation.models import Campaign, Label
from judging.answers.scoring import LOW_MASS
from judging.models import Judge

MASS_BAR = 0.9
JSON = dict[str, Any]


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
