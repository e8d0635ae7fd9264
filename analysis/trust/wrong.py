"""Accepted cells that were wrong, with what people said: for after the end of a plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from analysis.trust.cells import TrustError
from analysis.trust.labels import answers_of
from analysis.trust.looks import look_at
from annotation.models import Label, TrustPlan, Unit


@dataclass(frozen=True)
class WrongCell:
    """A unit that the judge decides wrongly: its verdict, people's votes, and their comments."""

    unit: Unit
    verdict: str
    votes: str
    comments: tuple[str, ...]


def wrong_accepted(plan: TrustPlan) -> list[WrongCell]:
    """Return the wrong cells among those that the certified cuts accept, or the strictest cut.

    Raises TrustError while the plan runs: whoever knows them could tune the judge on them.
    """
    if plan.is_running:
        raise TrustError("which cells are wrong is shown when the plan has ended")
    look = look_at(plan)
    cut = max(look.state.certified, 1) - 1
    accepted = look.cells.sure >= plan.document["cuts"][cut]["threshold"]
    verdicts = {
        int(look.cells.unit[place]): look.cells.codes[look.cells.verdict[place]]
        for place in np.flatnonzero(look.labels.wrong & accepted)
    }
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    comments: dict[int, list[str]] = defaultdict(list)
    labels = Label.objects.filter(response__in=answers_of(plan), variable=plan.variable)
    rows = labels.filter(unit__in=verdicts).values_list("unit", "value", "response__comment")
    for unit, value, comment in rows.order_by("response__created_at", "response"):
        votes[unit][value] += 1
        if comment:
            comments[unit].append(comment)
    units = Unit.objects.filter(pk__in=verdicts).select_related("item__query")
    return [
        WrongCell(
            unit,
            verdicts[unit.pk],
            ", ".join(f"{value} {number}" for value, number in votes[unit.pk].most_common()),
            tuple(dict.fromkeys(comments[unit.pk])),
        )
        for unit in units.order_by("item__position", "position")
    ]
