"""The job that builds a batch from the accepted answers of a preparation step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Max

from annotation.models import Campaign, Rater, Response, User
from annotation.preparation.base import Step
from annotation.registry import STEPS
from datasets.models import Batch
from datasets.work import Options, Progress, Result
from judging.models import Review
from judging.preparation.build import UnreviewedError, accepted_results, build
from tandem.files.rows import InputError

BUILD = "build"


def question(
    step: Step,
    batch: Batch,
    campaign: Campaign | None,
    author: Rater | None,
    numbers: Mapping[str, float],
    name: str,
    partial: bool,
    user: User,
) -> dict[str, Any]:
    """Return the question of a build, for `datasets.work.ask`. It belongs to one person."""
    return {
        "step": step.name,
        "batch": batch.pk,
        "campaign": campaign.pk if campaign else None,
        "author": author.pk if author else None,
        "numbers": dict(numbers),
        "name": name,
        "partial": partial,
        "user": user.pk,
    }


def state(options: Options) -> Any:
    answers = Response.objects.filter(
        current=True, assignment__item__campaign=options["campaign"]
    ).aggregate(number=Count("pk"), newest=Max("pk"))
    reviews = Review.objects.filter(response__assignment__item__campaign=options["campaign"])
    return [answers, reviews.aggregate(number=Count("pk"), newest=Max("made_at"))]


def carry_out(options: Options, progress: Progress) -> Result:
    """Return the counts and the key of the new batch, or why there is none."""
    step, batch = STEPS[options["step"]], Batch.objects.get(pk=options["batch"])
    user, results, written = User.objects.get(pk=options["user"]), {}, None
    try:
        if options["campaign"] is not None:
            campaign = Campaign.objects.select_related("batch").get(pk=options["campaign"])
            written = campaign, Rater.objects.get(pk=options["author"])
            results = accepted_results(step, *written, options["partial"])
        numbers, name = options["numbers"], options["name"]
        built, _ = build(step, batch, results, numbers, name, written=written, by=user)
    except InputError as error:
        # The error's location is in a file that the user does not have.
        return Result.of({"refused": f"{error.wrong}; {error.remedy}", "open": False})
    except ValueError as error:
        return Result.of({"refused": str(error), "open": isinstance(error, UnreviewedError)})
    made = Batch.objects.get(name=name)
    return Result.of({"batch": made.pk, "queries": built.queries, "left_out": built.left_out})
