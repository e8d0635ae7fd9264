"""Compare the judges that ran over a campaign."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.db.models import Count, Max, OuterRef, Q, Sum

from annotation.models import Assignment, Campaign
from datasets.work.guard import for_workers
from judging.costs import count_tokens, known_cost, last_cost
from judging.models import Judge, JudgeRun, UnassignedCall


@for_workers
def compare_judges(campaign: Campaign) -> list[dict[str, Any]]:
    """Return a row for each judge that ran over a campaign: requests by state, and their cost.

    What is spent has the calls of its runs, of their probes, and of its tries.
    """
    runs = JudgeRun.objects.filter(campaign=campaign).order_by()
    sums: dict[int, dict[str, Any]] = {
        each["judge"]: dict(each)
        for each in runs.values("judge").annotate(
            last=Max("pk"),
            calls=Sum("calls"),
            reused=Sum("reused"),
            prompt_tokens=Sum("prompt_tokens"),
            cached_tokens=Sum("cached_tokens"),
            completion_tokens=Sum("completion_tokens"),
            thinking_tokens=Sum("thinking_tokens"),
            cost=Sum("cost"),
            lane=Max("lane"),
            last_cost=last_cost(Q(run__campaign=campaign, run__judge=OuterRef("judge"))),
        )
    }
    for key, tried in _tries(campaign).items():
        if (spent := sums.get(key)) is not None:
            spent |= {name: spent[name] + more for name, more in tried.items()}
    prompts: dict[int, str] = dict(runs.values_list("judge", "prompt_sha256").distinct())
    counts = _counts(campaign)
    rows = []
    for judge in Judge.objects.filter(pk__in=sums).select_related("rater"):
        states, total = counts[judge.rater_id], sums[judge.pk]
        missing = {reason: n for (state, reason), n in states.items() if state == "failed"}
        rows.append(
            {
                "judge": judge,
                "spent": total,
                "cost": known_cost(
                    *(total[name] for name in ("cost", "calls", "lane", "last_cost"))
                ),
                "tokens": total["prompt_tokens"] + total["completion_tokens"],
                "prompt": prompts[judge.pk][:12],
                "done": sum(n for (state, _), n in states.items() if state == "done"),
                "missing": sum(missing.values()),
                "reasons": sorted(missing.items(), key=lambda each: (-each[1], each[0])),
                "open": sum(n for (state, _), n in states.items() if state in ("open", "leased")),
            }
        )
    return rows


def _tries(campaign: Campaign) -> dict[int, dict[str, Any]]:
    """Return the calls, tokens and cost of the tries of stored judges."""
    found: dict[int, dict[str, Any]] = {}
    tries = UnassignedCall.objects.filter(campaign=campaign, run=None).exclude(judge=None)
    for judge, usage, cost in tries.values_list("judge", "usage", "cost"):
        spent = {"calls": 1, "cost": cost or Decimal(0), **asdict(count_tokens(usage))}
        before = found.get(judge, dict.fromkeys(spent, 0))
        found[judge] = {name: before[name] + spent[name] for name in spent}
    return found


def _counts(campaign: Campaign) -> dict[int, dict[tuple[str, str], int]]:
    """Count the requests of each rater by state and missing reason."""
    rows = Assignment.objects.filter(item__campaign=campaign, rater__judge__isnull=False)
    counted = rows.order_by().values_list("rater", "status", "reason").annotate(n=Count("pk"))
    found: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    for rater, status, reason, number in counted:
        found[rater][status, reason] = number
    return found
