"""The prompt of a judge on a campaign, which may not change while its name stays."""

from __future__ import annotations

from annotation.models import Campaign, CarriedAnswer
from annotation.registry import get_protocol
from judging.judge_backends import build_backend
from judging.models import Judge, JudgeRun
from judging.prompts.request import Preparer
from judging.prompts.template import Prompt, read_prompt, sha256_of
from judging.runs import ledger


class ChangedPromptError(ValueError):
    """The prompt is not the one with which this judge started on the campaign."""


def prompt_for(judge: Judge, campaign: Campaign) -> str:
    """Return the text of the judge's file, its own prompt, or that of the campaign's protocol."""
    return judge.file or judge.prompt or get_protocol(campaign).prompt


def checked_prompt(judge: Judge, campaign: Campaign) -> Prompt:
    """Return the judge's prompt for a campaign, unless it has a judge file with own messages."""
    text = prompt_for(judge, campaign)
    return Prompt("", text, sha256_of(text)) if judge.file else read_prompt(text)


def check_prompt(campaign: Campaign, judge: Judge, prompt: str) -> None:
    before = JudgeRun.objects.filter(campaign=campaign, judge=judge).exclude(prompt_sha256=prompt)
    if before.exists():
        raise _changed_prompt(campaign, judge)
    carried = CarriedAnswer.objects.filter(
        response__assignment__item__campaign=campaign,
        response__assignment__rater=judge.rater_id,
    )
    names = list(carried.order_by().values_list("campaign", flat=True).distinct())
    there = JudgeRun.objects.filter(campaign__name__in=names, judge=judge)
    if names and there.exclude(prompt_sha256=prompt).exists():
        raise ChangedPromptError(
            f"{campaign} carries answers of judge {judge} over from {', '.join(names)}, and the "
            "prompt has changed since; create a new judge"
        )


def prompt_of(run: JudgeRun) -> Prompt:
    """Return the prompt that a run started with.

    Raises ChangedPromptError if an update has changed it since.
    """
    prompt = checked_prompt(run.judge, run.campaign)
    if prompt.sha256 != run.prompt_sha256:
        raise _changed_prompt(run.campaign, run.judge)
    return prompt


def _changed_prompt(campaign: Campaign, judge: Judge) -> ChangedPromptError:
    return ChangedPromptError(
        f"the prompt of {campaign.protocol} has changed since judge {judge} started; create a "
        "new judge, so that one name does not have labels from two prompts"
    )


def check_template(campaign: Campaign, judge: Judge) -> None:
    """Check that a judge file's first request can be filled in. Raises PromptError."""
    rows = ledger.assignments_of(campaign, judge).select_related("item__campaign", "item__query")
    if judge.file and (first := rows.order_by("id").first()):
        prompt = checked_prompt(judge, campaign)
        Preparer(campaign, judge, prompt, build_backend(judge)).prepare(first)
