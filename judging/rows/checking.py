"""Whether a judge may run over a campaign: with its prompt, and in the parts that it asks for."""

from __future__ import annotations

from annotation.declared import declared
from annotation.models import Campaign
from annotation.presenting import schema
from judging.backends.base import SetupError
from judging.models import Judge, JudgeRun


class ChangedPromptError(ValueError):
    """The prompt is not the one that this judge began the campaign with."""


def prompt_of(judge: Judge, campaign: Campaign) -> str:
    """The judge's own prompt, or that of the campaign's protocol."""
    return judge.prompt or declared(campaign).prompt


def check_prompt(campaign: Campaign, judge: Judge, prompt: str) -> None:
    before = JudgeRun.objects.filter(campaign=campaign, judge=judge).exclude(prompt_sha256=prompt)
    if before.exists():
        raise ChangedPromptError(
            f"the prompt of {campaign.protocol} has changed since judge {judge} began; make a new "
            "judge, so that labels of two prompts do not stand under one name"
        )


def check_granularity(campaign: Campaign, judge: Judge) -> None:
    rule = declared(campaign).listed
    by_unit = judge.granularity == Judge.Granularity.UNIT
    if rule and by_unit and schema(campaign).matching(rule.match_kind):
        raise SetupError(
            f"{campaign.protocol} matches each {rule.match_kind} with a list that the same answer "
            "writes, which no judge sees unit by unit; make one with --granularity item"
        )
