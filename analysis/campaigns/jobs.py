"""The job of a report, and parts that jobs of a campaign share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from analysis.campaigns.cache import computed_report, state_of
from analysis.data.selection import ReportOptions
from annotation.access import may_read
from annotation.models import Campaign, User
from datasets.jobs import Kind, Options, Progress, Result

Declared = TypeVar("Declared")
REPORT = "report"


def question(campaign: Campaign, options: ReportOptions) -> dict[str, Any]:
    """Return the question of a campaign's report, for `datasets.jobs.ask`."""
    return {"campaign": campaign.pk, "options": asdict(options)}


def restored(kind: type[Declared], values: Mapping[str, Any]) -> Declared:
    """Return a dataclass of options from its fields as JSON, where tuples are lists."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _tuples(value) for name, value in values.items() if name in known})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def campaign_of(options: Options) -> Campaign:
    """Return the campaign that a job is about. Raises Campaign.DoesNotExist."""
    return Campaign.objects.select_related("batch", "practice_of").get(pk=options["campaign"])


def may_see(user: User, options: Options) -> bool:
    return may_read(user, options["campaign"])


def _state(options: Options) -> Any:
    return state_of(campaign_of(options))


def _carry_out(options: Options, progress: Progress) -> Result:
    campaign, chosen = campaign_of(options), restored(ReportOptions, options["options"])
    found = computed_report(campaign, chosen)
    return Result.of({"report": found.report, "newest": found.newest})


REPORTS = Kind(REPORT, "Report", _state, _carry_out, may_see)
