"""The job of an export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models import Count, Max
from django.forms.models import model_to_dict

from annotation.exports.bundles import download, expected_lines
from annotation.exports.contents import NoExportError
from annotation.exports.qrels import NoGradesError
from annotation.exports.workbook import UnfitError
from annotation.models import Assignment, Campaign, Rater, Response
from audit.models import Event
from datasets.work import JobError, Options, Progress, Result

EXPORT = "export"


def question(campaign: Campaign, what: str, form: str) -> dict[str, Any]:
    """Return the question of an export, for `datasets.work.ask`."""
    return {"campaign": campaign.pk, "what": what, "form": form}


def _campaign(options: Options) -> Campaign:
    return Campaign.objects.select_related("batch", "practice_of").get(pk=options["campaign"])


def state(options: Options) -> Any:
    """Return what exports depend on.

    Answers of other campaigns over the batch decide which units are asked. Changes other than
    answers are in the audit trail.
    """
    campaign = _campaign(options)
    answers = Response.objects.filter(
        current=True, assignment__item__campaign__batch=campaign.batch_id
    )
    assignments = Assignment.objects.filter(item__campaign=campaign).order_by()
    raters = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    changes = Event.objects.filter(campaign=campaign.pk).exclude(event="export")
    return [
        settings.TANDEM_VERSION,
        model_to_dict(campaign),
        [campaign.batch.name, campaign.batch.digest],
        answers.aggregate(number=Count("pk"), newest=Max("pk"), at=Max("created_at")),
        sorted(
            assignments.values_list("rater", "status", "reason", "assisted_by").annotate(
                number=Count("pk")
            ),
            key=str,
        ),
        list(raters.order_by("pk").values_list("pk", "name", "kind")),
        changes.aggregate(newest=Max("pk")),
    ]


def carry_out(options: Options, progress: Progress) -> Result:
    """Return an export as a file. Progress counts lines of an estimated total. Raises JobError."""
    campaign, what, form = _campaign(options), options["what"], options["form"]
    total = expected_lines(campaign, what, form)
    try:
        # Missing labels have lines, too, so there may be more than expected.
        file = download(
            campaign, what, form, lambda rows: progress(rows, max(rows, total) if total else 0)
        )
        return Result(_as_job_errors(file.pieces), file.name, file.media_type)
    except (UnfitError, KeyError, NoExportError) as error:
        raise JobError(str(error)) from error


def _as_job_errors(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces. Raises JobError for a content that does not fit into the file's form."""
    try:
        yield from pieces
    except (UnfitError, NoGradesError) as error:
        raise JobError(str(error)) from error
