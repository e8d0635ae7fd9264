"""The job of a report, and parts that jobs of a campaign share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from django.utils.text import slugify

from analysis.campaigns.cache import computed_report, state_of
from analysis.data.selection import ReportOptions
from analysis.figures import FIGURES, subjects
from analysis.figures.files import FILES
from annotation.access import may_read
from annotation.models import Campaign, User
from datasets.jobs import JobError, Kind, Options, Progress, Result, results
from datasets.models import Job

Declared = TypeVar("Declared")
REPORT, FIGURE = "report", "figure"


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
    found = computed_report(campaign, chosen, progress)
    return Result.of({"report": found.report, "newest": found.newest})


def figure_question(report: Job, name: str, suffix: str, subject: str) -> dict[str, Any]:
    """Return the question of a figure's file, drawn from a finished report."""
    campaign = report.options["campaign"]
    of = {"figure": name, "suffix": suffix, "subject": subject}
    return {"campaign": campaign, "report": report.key, **of}


def _figure(options: Options, progress: Progress) -> Result:
    job = Job.objects.filter(key=options["report"]).first()
    if job is None or not results.is_there(job):
        raise JobError("the report that it shows was deleted; open the report and ask again")
    report = results.value(job)["report"]
    figure, kind = FIGURES[options["figure"]], FILES[options["suffix"]]
    found = next(each for each in subjects(report, figure) if each.name == options["subject"])
    name = f"{figure.name}-{slugify(found.name) or 'figure'}-{options['campaign']}.{kind.suffix}"
    return Result([kind.render(figure, found)], name, kind.media_type)


REPORTS = Kind(REPORT, "Results", _state, _carry_out, may_see)
# A finished report does not change.
FIGURE_FILES = Kind(FIGURE, "Figure", lambda options: None, _figure, may_see)
