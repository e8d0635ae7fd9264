"""The stage of a batch that a preparation step builds: a judge writes, people review, it is built.

The step's campaign is found by its name, so that what was written and reviewed on the pages or by
commands counts as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import get_args

from analysis.models import StudyPart
from analysis.study.commands import run_command
from analysis.study.file import StudyFile
from analysis.study.lineage import derived_stage
from analysis.study.parts import Action, ImportedFile, Key, Part, Stage
from annotation.models import Campaign
from annotation.preparation.base import Step
from annotation.registry import STEPS
from datasets.models import Batch
from judging.models import Judge
from judging.preparation.build import given_thresholds
from judging.preparation.review import authored_answers, decides_more
from judging.preparation.status import AuthorStatus, author_status, campaign_name
from judging.runs import planning
from tandem.labels.file.rows import Reason


def prepared(
    file: StudyFile, part: Part, blocked: tuple[Key, ...], record: StudyPart | None
) -> Stage:
    """Return the stage of a batch that a step builds. Raises InputError."""
    step = STEPS[part.options["step"]]
    if batch := Batch.objects.filter(name=part.name).first():
        expected = {
            "step": step.name,
            "batch": part.options["batch"],
            "set": given_thresholds(step, part.options["set"]),
            "judge": part.judges[0].judge if part.judges else "",
        }
        return derived_stage(file, part, batch, expected)
    build = Action(part.first_step, partial(run_command, part.command, **part.options))
    if not step.protocol:
        return Stage(part, exists=False, actions=(build,), blocked=blocked)
    progress = _author(part)
    todo = tuple(_before(part, step, progress))
    if progress is None or todo:
        return Stage(part, exists=False, actions=todo, blocked=blocked)
    counts = {"written": progress.written, "reviewed": progress.reviewed}
    waits = reviews_to_do(part, progress)
    actions = () if waits else (build,)
    return Stage(part, False, actions, (waits,) if waits else (), blocked, counts=counts)


def _author(part: Part) -> AuthorStatus | None:
    """Return the progress of the step's judge, or None if it has not started."""
    campaign = step_campaign(part)
    judge = Judge.objects.select_related("rater").filter(rater__name=part.judges[0].judge).first()
    return author_status(campaign, judge.rater) if campaign and judge else None


def step_campaign(part: Part) -> Campaign | None:
    """Return the campaign of a step, once it has started."""
    batch = Batch.objects.filter(name=part.options["batch"]).first()
    name = batch and campaign_name(batch, STEPS[part.options["step"]])
    return Campaign.objects.filter(name=name).first() if name else None


def _before(part: Part, step: Step, progress: AuthorStatus | None) -> Iterator[Action]:
    """Yield the actions that come before people's reviews on the pages."""
    campaign, (asked,) = step_campaign(part), part.judges
    left = planning.remaining_requests(campaign, asked.judge) if campaign else None
    if left != 0:
        words = f"have judge {asked.judge} write for step {step.name}"
        yield Action(words, partial(run_command, "prepare_batch", **asked.terms))
    for reviews in part.reviews:
        if progress is None or left or _is_open(reviews, step, campaign, progress):
            words = f"import the reviews of {reviews.path.name}"
            yield Action(words, partial(_review, part, reviews))


def _is_open(
    reviews: ImportedFile, step: Step, campaign: Campaign | None, progress: AuthorStatus
) -> bool:
    """Whether a file reviews an answer that nobody has reviewed."""
    if campaign is None or not reviews.path.exists():
        return False
    return decides_more(reviews.path, authored_answers(step, campaign, progress.rater))


def _review(part: Part, reviews: ImportedFile) -> list[str]:
    # Reviews on the page may be later than the file.
    of = {name: part.options[name] for name in ("step", "batch", "judge")}
    return run_command(
        "review_batch", **{**reviews.options, **of, "import": reviews.path, "keep": True}
    )


def reviews_to_do(part: Part, progress: AuthorStatus) -> str:
    """Describe what people still have to do before a step's batch is built. Empty if nothing."""
    step, batch, judge = part.options["step"], part.options["batch"], part.options["judge"]
    where = f"step {step} of batch {batch!r}"
    if open_ := progress.written - progress.reviewed:
        return (
            f"People review {open_} of {progress.written} answers by {judge} to {where}: on the "
            "page of the preparation, or import their reviews."
        )
    if (lost := failures(progress)) and not part.options["partial"]:
        return (
            f"{_listed(lost)} by {judge} to {where} are missing: set partial = true "
            "to build the batch without them."
        )
    return ""


def failures(progress: AuthorStatus) -> dict[str, int]:
    """Count the answers that the judge failed to give, by reason."""
    return {reason: n for reason, n in progress.missing.items() if reason in get_args(Reason)}


def _listed(missing: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(missing.items()))
    return f"{sum(missing.values())} answers ({reasons})"
