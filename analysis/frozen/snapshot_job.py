"""The job of a snapshot: it computes the report with a snapshot's options, and stores it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from analysis.campaigns.cache import computed_report, state_of
from analysis.campaigns.report_job import campaign_of, may_see, restore_dataclass
from analysis.frozen.store import UnequalError, as_frozen, freeze
from annotation.models import Campaign, User
from annotation.people.membership import may_manage
from datasets.work import Kind, Options, Progress, Result
from tandem.labels.selection import ReportOptions

SNAPSHOT = "snapshot"


def question(
    campaign: Campaign, options: ReportOptions, inputs: str, query: str, user: User
) -> dict[str, Any]:
    """Return the question of a snapshot, for `datasets.work.ask`.

    `inputs` is the digest of the labels that the person saw, and `query` the options in an address.
    """
    return {
        "campaign": campaign.pk,
        "options": asdict(as_frozen(options)),
        "inputs": inputs,
        "query": query,
        "user": user.pk,
    }


def _state(options: Options) -> Any:
    return state_of(campaign_of(options))


def _carry_out(options: Options, progress: Progress) -> Result:
    """Return the snapshot's key, the labels' new digest, or a library's differing figure."""
    campaign, chosen = campaign_of(options), restore_dataclass(ReportOptions, options["options"])
    computed = computed_report(campaign, chosen, progress)
    report = computed.report
    if report["inputs"]["sha256"] != options["inputs"]:
        return Result.of({"current": report["inputs"]})
    try:
        user = User.objects.get(pk=options["user"])
        made = freeze(campaign, report, options["query"], user, computed.looks)
    except UnequalError as error:
        return Result.of({"unequal": str(error)})
    return Result.of({"key": made.key})


def _may_see(user: User, options: Options) -> bool:
    manages = may_manage(user, options["campaign"])
    return user.pk == options["user"] and manages and may_see(user, options)


SNAPSHOT_KIND = Kind(SNAPSHOT, "Snapshot", _state, _carry_out, _may_see, heavy=True)
