"""Warning about judges whose prompt contains texts from their evaluation."""

from __future__ import annotations

from collections.abc import Collection

from annotation.campaigns.sampling import DEVELOPMENT
from annotation.models import Assignment, Campaign, Item, QuerySampling
from judging.models import Judge
from tandem.labels.frame import Warning
from tandem.types import JSON

SHORTEST = 40
"""In characters. Shorter texts may occur in a prompt by chance."""


def contaminated_prompts(campaign: Campaign, judges: Collection[str]) -> list[JSON]:
    """Return a warning for each judge whose prompt quotes a text that it is evaluated on.

    Quotes are found word for word, ignoring blanks and line breaks; paraphrases are not. Texts of
    development queries may be in a prompt.
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
    # Prompts may be tuned on items that are not compared.
    tuned = QuerySampling.objects.filter(campaign=campaign, role=DEVELOPMENT)
    labelled = labelled.exclude(item__query__in=tuned.values("query"))
    columns = ("item__key", "item__report__text", "item__passage__text", "item__query__text")
    texts = {key: tuple(map(_plain, of)) for key, *of in labelled.values_list(*columns).distinct()}
    found = []
    for name, prompt in sorted(prompts.items()):
        seen = [key for key, of in texts.items() if any(_contains(text, prompt) for text in of)]
        if seen:
            text = (
                f"Its prompt quotes texts of {len(seen)} of the {len(texts)} items that it is "
                "evaluated on. Its figures do not hold for unseen items."
            )
            found.append(Warning("prompt_saw_labels", None, name, text)._asdict())
    return found


def _contains(text: str, prompt: str) -> bool:
    return len(text) >= SHORTEST and text in prompt


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())
