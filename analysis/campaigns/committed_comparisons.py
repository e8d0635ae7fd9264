"""What committed comparisons of systems showed at their last look, for a campaign's report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import Max

from annotation.models import Campaign, TrustLook, TrustPlan
from tandem.sections.system_decisions import with_committed
from tandem.types import JSON


def last_looks(campaign: Campaign) -> dict[str, list[JSON]]:
    """Return the last look at each comparison by its score, those of the newest plans first."""
    found: dict[str, list[JSON]] = defaultdict(list)
    plans = TrustPlan.objects.filter(campaign=campaign, kind=TrustPlan.Kind.COMPARE)
    looks = TrustLook.objects.filter(plan__in=plans).order_by("-plan", "-id")
    last: dict[int, TrustLook] = {}
    for look in looks:
        if last.setdefault(look.plan_id, look) is look:
            at = look.at.isoformat(timespec="seconds")
            found[look.state["score"]].append({**look.state, "looked_at": at})
    return found


def add_committed(report: JSON, looks: Mapping[str, Sequence[JSON]]) -> None:
    """Put what committed plans showed in the place of what the report computes itself."""
    for name, of_score in looks.items():
        if (score := report["scores"].get(name)) is not None:
            score["decisions"] = with_committed(score, of_score)


def newest_look(campaign: Campaign) -> int:
    """Return the primary key of the newest look at a comparison, 0 without one."""
    looks = TrustLook.objects.filter(plan__campaign=campaign, plan__kind=TrustPlan.Kind.COMPARE)
    return looks.aggregate(newest=Max("pk"))["newest"] or 0
