"""Where a plan stands: what its labels prove, recomputed at each look, whoever looked before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from django.db import transaction

from analysis.trust.cells import Cells, identity_of, read_cells, variable_of
from analysis.trust.counted import Counted, count_labels
from analysis.trust.labels import Answered
from annotation.exposure.ledger import saw_figures
from annotation.models import TrustLook, TrustPlan
from audit.recording import record
from tandem.trust.canonical import digest_of
from tandem.trust.plan import plan_of
from tandem.trust.state import State
from tandem.trust.systems import Systems

STALE = {
    "plan": "the plan is not the one that was committed",
    "batch": "the batch has changed since the commitment",
    "prompt": "the judge's prompt has changed since the commitment",
    "model": "the judge's model has changed since the commitment",
    "fingerprint": "the server of the judge reports another version of the model",
    "verdicts": "the judge's verdicts are not those of the commitment",
    "truth": "labels that counted at an earlier look no longer count",
}
GOES_ON = ("not yet", "certified")
"""The verdicts after which more labels may certify more."""
ENDLESS = 10**6
"""More draws than anybody asks for."""


@dataclass(frozen=True)
class Look:
    """A look at a plan: its cells and what counts of its labels.

    `stale` has the reasons why nothing may be certified any more.
    """

    plan: TrustPlan
    cells: Cells
    labels: Counted
    stale: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        return self.labels.state

    @property
    def answers(self) -> Answered:
        return self.labels.answers

    @property
    def counted(self) -> list[list[Any]]:
        """The query of each label in its order, its wrong cells by cut, and by system."""
        found = [
            [self.cells.queries[self.state.query_of(key)], wrong.tolist()]
            for key, wrong in self.state.labelled.items()
        ]
        for each, own in zip(found, self.labels.by_system, strict=False):
            each.append(own.tolist())
        return found

    def bounds(self, cut: int) -> dict[str, float | None] | None:
        """Return the bound of each system in a cut, None for a plan without bounds by system."""
        systems = Systems.of(self.plan.document)
        return systems.bounds(self.state, self.labels.by_system, cut) if systems else None

    @property
    def waiting(self) -> int:
        """The draws that are not counted yet."""
        return sum(key not in self.state.labelled for key in self.answers.drawn)

    @property
    def left(self) -> int:
        """How many more draws could decide something; `ENDLESS` where queries may come again."""
        if self.state.certified == self.state.plan.cuts or self.verdict not in GOES_ON:
            return 0
        if self.state.plan.k is not None:
            return ENDLESS
        return len(set(self.state.to_draw()).difference(self.answers.drawn))

    @property
    def verdict(self) -> str:
        """`stale`, `certified`, `not yet` or `cannot be met`."""
        if self.stale:
            return "stale"
        if self.state.certified:
            return "certified"
        return "cannot be met" if self.state.cannot_be_met else "not yet"


def look_at(plan: TrustPlan) -> Look:
    """Return where a plan stands, without recording it."""
    document = plan.document
    variable = variable_of(plan.campaign, plan.variable)
    assert plan.judge is not None
    cells = read_cells(plan.campaign, variable, plan.judge, document["population"]["queries"])
    labels = count_labels(plan, plan_of(document), cells)
    saw_figures("trust", plan.campaign, labels.seen)
    look = Look(plan, cells, labels)
    return replace(look, stale=tuple(_stale(look)))


def _stale(look: Look) -> list[str]:
    """Return the reasons for which a plan's commitment no longer describes what is there."""
    plan, cells, document = look.plan, look.cells, look.plan.document
    now = identity_of(plan.campaign, plan.judge) if plan.judge else {}
    changed = [
        key for key in ("prompt", "model", "fingerprint") if now.get(key) != document["judge"][key]
    ]
    if plan.campaign.batch.digest != document["batch"]:
        changed.append("batch")
    if cells.digest != document["verdicts"]:
        changed.append("verdicts")
    if digest_of(document) != plan.digest:
        changed.append("plan")
    # Cells cannot be told from positions once verdicts have changed.
    if is_rewritten(plan, "wrong", look.counted) and not (
        "k" in document and "verdicts" in changed
    ):
        changed.append("truth")
    return [STALE[key] for key in changed]


def is_rewritten(plan: TrustPlan, name: str, now: list[Any]) -> bool:
    """Whether what an earlier look recorded under a name is not what this one begins with."""
    looks = plan.looks.order_by("-id")
    if any(STALE["truth"] in stale for stale in looks.values_list("state__stale", flat=True)):
        return True
    last = looks.values_list(f"state__{name}", flat=True).first()
    return last is not None and last != now[: len(last)]


def record_look(plan: TrustPlan) -> Look:
    """Look at a plan, and record what was seen."""
    with transaction.atomic():
        look = look_at(plan)
        TrustLook.objects.create(
            plan=plan, labelled=len(look.state.labelled), state=as_json(look, with_wrong=True)
        )
        record("trust.looked", plan.campaign_id, plan, labelled=len(look.state.labelled))
    return look


def as_json(look: Look, with_wrong: bool = False) -> dict[str, Any]:
    """Return a look as JSON: counts only, unless it is the record that nobody is shown."""
    state, document = look.state, look.plan.document
    found: dict[str, Any] = {
        "plan": look.plan.digest,
        "verdict": look.verdict,
        "stale": list(look.stale),
        "labelled": len(state.labelled),
        "queries": len({state.query_of(key) for key in state.labelled}),
        "drawn": len(look.answers.drawn),
        "waiting": look.waiting,
        "certified": state.certified,
        "share": state.share,
        "likely_more": state.likely_more,
        "risk": document["risk"],
        "delta": document["delta"],
        "level": document["level"],
        "cuts": [_cut(look, cut) for cut in range(state.plan.cuts)],
    }
    if with_wrong:
        found["wrong"] = look.counted
    return found


def _cut(look: Look, cut: int) -> dict[str, Any]:
    state = look.state
    evidence = state.evidence(cut)
    return {
        "share": float(state.plan.totals[cut] / state.plan.cells.sum()),
        "threshold": look.plan.document["cuts"][cut]["threshold"],
        "certified_after": state.decided_after[cut] if cut < state.certified else None,
        "bound": state.bound(cut) if len(evidence) else None,
        "evidence": [float(value) for value in np.round(evidence, 9)],
        "needed": log(1 / look.plan.document["level"]),
        "systems": look.bounds(cut),
    }
