"""What a campaign's plans have shown, for the conditions of `tandem gate`; nothing is recorded."""

from __future__ import annotations

from collections.abc import Set

from analysis.trust.comparisons import look_at_comparison
from analysis.trust.looks import look_at
from annotation.models import Campaign, TrustPlan
from tandem.gate.certified import Claim, error_words
from tandem.types import JSON


def claims_of(campaign: Campaign, judge: str) -> list[Claim]:
    """Return what the last plan of each variable says that a judge may decide."""
    plans = TrustPlan.objects.filter(
        campaign=campaign, kind=TrustPlan.Kind.CERTIFY, judge__name=judge
    )
    last = {plan.variable: plan for plan in plans.order_by("id")}
    return [_claim(plan, judge) for plan in last.values()]


def _claim(plan: TrustPlan, judge: str) -> Claim:
    look, document = look_at(plan), plan.document
    state = look.state
    return Claim(
        judge,
        plan.variable,
        state.share,
        0 if state.cannot_be_met else state.plan.share(state.plan.cuts),
        error_words(document["risk"], document["delta"]),
        tuple(f"stale: {reason}" for reason in look.stale),
    )


def comparison_of(campaign: Campaign, systems: Set[str]) -> JSON | None:
    """Return where the last committed comparison of some systems stands."""
    plans = TrustPlan.objects.filter(campaign=campaign, kind=TrustPlan.Kind.COMPARE)
    found = [plan for plan in plans.order_by("id") if systems <= set(plan.document["systems"])]
    return look_at_comparison(found[-1]) if found else None
