"""Warning: judges whose prompt contains the very texts that they are evaluated on."""

from __future__ import annotations

from collections.abc import Collection

from analysis.report.warnings import Warning
from analysis.types import JSON
from annotation.campaigns.sampling import DEVELOPMENT
from annotation.models import Assignment, Campaign, Item, QueryDraw
from judging.models import Judge

SHORTEST = 40
"""Characters: a shorter text may stand in a prompt by chance."""


def prompts_that_saw(campaign: Campaign, judges: Collection[str]) -> list[JSON]:
    """A warning for each judge whose own prompt quotes a text that it is held against people on.

    Known is what stands in the prompt word for word, whatever its blanks and line breaks: an
    example in other words is not found. Texts of development queries may stand in a prompt.
    """
    asked = Judge.objects.filter(rater__name__in=judges, runs__campaign=campaign).exclude(prompt="")
    prompts = {j.rater.name: _plain(j.prompt) for j in asked.select_related("rater").distinct()}
    if not prompts:
        return []
    labelled = Assignment.objects.filter(
        item__campaign=campaign,
        item__use=Item.Use.STUDY,
        rater__kind="human",
        responses__current=True,
    )
    # What a prompt may be tuned on is no part of what the judge is held against people on.
    tuned = QueryDraw.objects.filter(campaign=campaign, role=DEVELOPMENT)
    labelled = labelled.exclude(item__query__in=tuned.values("query"))
    columns = ("item__key", "item__report__text", "item__passage__text", "item__query__text")
    texts = {key: tuple(map(_plain, of)) for key, *of in labelled.values_list(*columns).distinct()}
    found = []
    for name, prompt in sorted(prompts.items()):
        seen = [key for key, of in texts.items() if any(_stands(text, prompt) for text in of)]
        if seen:
            text = (
                f"Its prompt quotes texts of {len(seen)} of the {len(texts)} items that it is "
                "evaluated on. Its figures are not those on unseen items."
            )
            found.append(Warning("prompt_saw_labels", None, name, text)._asdict())
    return found


def _stands(text: str, prompt: str) -> bool:
    return len(text) >= SHORTEST and text in prompt


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())
