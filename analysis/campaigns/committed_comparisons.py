"""What committed comparisons of systems showed at their last look, for a campaign's report."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import Max

from annotation.models import Campaign, TrustLook, TrustPlan
from tandem.sections.system_decisions import with_committed
from tandem.types import JSON


def add_committed(report: JSON, campaign: Campaign) -> None:
    """Put what committed plans showed in the place of what the report computes itself."""
    looks = defaultdict(list)
    plans = TrustPlan.objects.filter(campaign=campaign, kind=TrustPlan.Kind.COMPARE)
    for plan in plans.order_by("-id"):
        if last := plan.looks.order_by("-id").first():
            at = last.at.isoformat(timespec="seconds")
            looks[last.state["score"]].append({**last.state, "looked_at": at})
    for name, of_score in looks.items():
        if (score := report["scores"].get(name)) is not None:
            score["decisions"] = with_committed(score, of_score)


def newest_look(campaign: Campaign) -> int:
    """Return the primary key of the newest look at a comparison, 0 without one."""
    looks = TrustLook.objects.filter(plan__campaign=campaign, plan__kind=TrustPlan.Kind.COMPARE)
    return looks.aggregate(newest=Max("pk"))["newest"] or 0
