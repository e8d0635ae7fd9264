"""The job of a report, and parts that jobs of a campaign share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from analysis.campaigns.cache import Computed, computed_report, state_of
from annotation.access import may_read
from annotation.models import Campaign, User
from datasets.models import Job
from datasets.work import JobError, Kind, Options, Progress, Publish, Result, results
from tandem.figures.files import AS_SHOWN, FigureError, Look, figure_file
from tandem.labels.selection import ReportOptions
from tandem.types import JSON

Declared = TypeVar("Declared")
REPORT, FIGURE = "report", "figure"


def question(campaign: Campaign, options: ReportOptions) -> dict[str, Any]:
    """Return the question of a campaign's report, for `datasets.work.ask`."""
    return {"campaign": campaign.pk, "options": asdict(options)}


def restore_dataclass(kind: type[Declared], values: Mapping[str, Any]) -> Declared:
    """Restore a dataclass of options from its fields as JSON, in which tuples are lists."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _as_tuples(value) for name, value in values.items() if name in known})


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value


def campaign_of(options: Options) -> Campaign:
    """Return the campaign that a job is about. Raises Campaign.DoesNotExist."""
    return Campaign.objects.select_related("batch", "practice_of").get(pk=options["campaign"])


def may_see(user: User, options: Options) -> bool:
    return may_read(user, options["campaign"])


def _state(options: Options) -> Any:
    return state_of(campaign_of(options))


def _carry_out(options: Options, progress: Progress, publish: Publish) -> Result:
    campaign, chosen = campaign_of(options), restore_dataclass(ReportOptions, options["options"])

    def show(part: Computed, is_whole: bool) -> None:
        publish(_result(part), results.CHECKING if is_whole else results.GROWING, part.looks)

    return _result(computed_report(campaign, chosen, progress, show))


def _result(found: Computed) -> Result:
    return Result.of({"report": found.report, "newest": found.newest})


def figure_question(
    report: Job, name: str, suffix: str, subject: str, look: Look = AS_SHOWN
) -> dict[str, Any]:
    """Return the question of a figure's file, drawn from a finished report or from measures."""
    campaign = report.options["campaign"]
    of = {"figure": name, "suffix": suffix, "subject": subject, "look": asdict(look)}
    return {"campaign": campaign, "report": report.key, **of}


def figure_key(key: str | None) -> str | None:
    """Return a job's key if it draws a figure, and None if it computes a report."""
    return key if key and Job.objects.filter(key=key, kind=FIGURE).exists() else None


def report_in(job: Job) -> JSON:
    """Return the report from a finished job, either the agreement report or the report of measures.

    Raises GoneError if it was deleted meanwhile.
    """
    found: JSON = results.value(job)
    return found["report"] if job.kind == REPORT else found


def _figure(options: Options, progress: Progress) -> Result:
    job = Job.objects.filter(key=options["report"]).first()
    if job is None or not results.has_result(job):
        raise JobError("the report that it shows was deleted; open the report and ask again")
    of, look = options["subject"], restore_dataclass(Look, options.get("look", {}))
    try:
        made = figure_file(report_in(job), options["figure"], options["suffix"], of, look)
    except FigureError as error:
        raise JobError(str(error)) from error
    name = f"{made.name}-{options['campaign']}.{made.kind.suffix}"
    return Result([made.content], name, made.kind.media_type)


REPORTS = Kind(REPORT, "Results", _state, _carry_out, may_see, heavy=True, grows=True)
# A finished report does not change.
FIGURE_FILES = Kind(FIGURE, "Figure", lambda options: None, _figure, may_see)
