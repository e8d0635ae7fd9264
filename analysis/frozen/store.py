"""The job of a snapshot, which stores a report as a row that never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from analysis.campaigns.cache import computed_report, state_of
from analysis.campaigns.report_job import campaign_of, may_see, restore_dataclass
from analysis.models import FrozenReport, digest
from annotation.exposure.ledger import Note, deliver, saw_answers
from annotation.models import Campaign, Consent, User
from annotation.people.consent import revoked_raters
from annotation.people.membership import may_manage
from audit.recording import record
from datasets.work import Kind, Options, Progress, Result
from tandem.formats.html import as_json
from tandem.labels.selection import MOST_RESAMPLES, ReportOptions
from tandem.types import JSON


def frozen_reports(campaign: Campaign) -> QuerySet[FrozenReport]:
    """Return the snapshots of a campaign, the newest first, without their content."""
    return FrozenReport.objects.filter(campaign=campaign).defer("content")


class UnequalError(ValueError):
    """Another library computes a different figure, named in the text."""


def as_frozen(choices: ReportOptions) -> ReportOptions:
    """Return the options of a snapshot: 10,000 resamples, unless another number was given."""
    return choices if choices.resamples else replace(choices, resamples=MOST_RESAMPLES)


def freeze(
    campaign: Campaign,
    report: JSON,
    choices: str,
    user: User,
    looks: Sequence[Note] | None = None,
) -> FrozenReport:
    """Store the report as a snapshot; the same report is stored only once.

    `looks` come from the report's computation. Without them, reading the snapshot counts as a look
    at all existing answers.

    Raises UnequalError if another library computes a different figure from the labels.
    """
    if report["check"]["differs"]:
        raise UnequalError(report["check"]["line"])
    content = as_json(report)
    sha256 = digest(content)
    values = {
        "campaign": campaign,
        "sha256": sha256,
        "inputs_sha256": report["inputs"]["sha256"],
        "choices": choices,
        "content": content,
        "version": report["version"],
        "by": user,
        "by_name": user.username,
        "looks": None if looks is None else list(looks),
    }
    with transaction.atomic():
        found, made = FrozenReport.objects.get_or_create(key=sha256[:16], defaults=values)
        if made:
            record("report.frozen", campaign.pk, ("frozenreport", found.key), after=sha256)
    return found


def revoked_since(frozen: FrozenReport) -> int:
    """Count the raters of a snapshot who revoked their consent after it was created."""
    gone = Consent.objects.filter(
        rater__in=revoked_raters(frozen.campaign),
        text__campaign=frozen.campaign_id,
        revoked_at__gt=frozen.created_at,
    )
    names = {rater["name"] for rater in frozen.report["raters"]}
    return len(names & set(gone.values_list("rater__name", flat=True)))


def saw_snapshot(frozen: FrozenReport) -> None:
    """Record in the ledger that a snapshot is shown, with the answers older than it."""
    if frozen.looks is None:
        saw_answers("snapshot", frozen.campaign_id, until=frozen.created_at)
    else:
        deliver(frozen.looks)


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
