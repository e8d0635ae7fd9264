"""The jobs of measures, and of the runs and qrels for TREC's tools."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.conf import settings

from analysis.campaigns.cache import state_of
from analysis.campaigns.evaluators import declared_for
from analysis.campaigns.report_job import campaign_of, restore_dataclass
from analysis.evaluation.build import batch_measures
from analysis.evaluation.selection import ResolvedOptions, computed_measures
from analysis.evaluation.trec import trec_archive
from annotation.access import may_read
from annotation.models import Campaign, User
from datasets.access import visible_batches
from datasets.models import Batch
from datasets.work import JobError, Kind, Options, Progress, Result
from tandem.labels.evaluators import EvaluatorError
from tandem.labels.selection import ReportOptions
from tandem.scores.options import Options as MeasureOptions

MEASURES, TREC, BATCH_MEASURES = "measures", "measures-trec", "batch-measures"
ARCHIVE = "application/zip"


def question(campaign: Campaign, resolved: ResolvedOptions) -> dict[str, Any]:
    """Return the question of a campaign's measures, for `datasets.work.ask`."""
    passages, points = resolved.passages, resolved.points
    return {
        "campaign": campaign.pk,
        "preset": resolved.preset,
        "options": asdict(resolved.options),
        "report_options": asdict(resolved.report_options),
        "passages": [passages[0], passages[1].pk] if passages else None,
        "slices": [each.pk for each in resolved.slices],
        "points": points.pk if points else None,
    }


def _resolve(options: Options) -> ResolvedOptions:
    def found(key: int) -> Campaign:
        return Campaign.objects.select_related("batch").get(pk=key)

    passages, points = options["passages"], options["points"]
    return ResolvedOptions(
        options["preset"],
        restore_dataclass(MeasureOptions, options["options"]),
        restore_dataclass(ReportOptions, options["report_options"]),
        (passages[0], found(passages[1])) if passages else None,
        tuple(map(found, options["slices"])),
        found(points) if points else None,
    )


def _campaigns(options: Options) -> list[int]:
    """Return the campaigns whose labels a result depends on, by key."""
    passages = [options["passages"][1]] if options["passages"] else []
    points = [options["points"]] if options["points"] else []
    return [options["campaign"], *passages, *options["slices"], *points]


def _state(options: Options) -> Any:
    there = Campaign.objects.select_related("batch").in_bulk(_campaigns(options))
    declared = declared_for(there[options["campaign"]])
    return [*(state_of(there[key]) for key in _campaigns(options)), declared]


def _may_see(user: User, options: Options) -> bool:
    return all(may_read(user, key) for key in _campaigns(options))


def _measures(options: Options, progress: Progress) -> Result:
    try:
        return Result.of(computed_measures(campaign_of(options), _resolve(options), progress))
    except EvaluatorError as error:
        raise JobError(f"{error}.") from error


def _trec(options: Options, progress: Progress) -> Result:
    resolved, key = _resolve(options), options["campaign"]
    archive = trec_archive(campaign_of(options), resolved.options, resolved.report_options)
    return Result([archive], f"measures-{key}.zip", ARCHIVE)


def batch_question(batch: Batch) -> dict[str, Any]:
    """Return the question of the measures of a batch without labels."""
    return {"batch": batch.pk}


def _batch_state(options: Options) -> Any:
    return [options["batch"], settings.TANDEM_VERSION]


def _batch_measures(options: Options, progress: Progress) -> Result:
    batch = Batch.objects.get(pk=options["batch"])
    return Result.of(batch_measures(batch, MeasureOptions(), ReportOptions(), progress))


def _may_see_batch(user: User, options: Options) -> bool:
    return visible_batches(user).filter(pk=options["batch"]).exists()


MEASURES_KIND = Kind(MEASURES, "Measures", _state, _measures, _may_see, heavy=True)
BATCH_KIND = Kind(
    BATCH_MEASURES,
    "Measures of the texts",
    _batch_state,
    _batch_measures,
    _may_see_batch,
    heavy=True,
)
TREC_KIND = Kind(TREC, "TREC runs and qrels", _state, _trec, _may_see, heavy=True)
