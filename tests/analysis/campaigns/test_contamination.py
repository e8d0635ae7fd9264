"""Judges whose prompt quotes what they are evaluated on: which quotes and which items count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.campaigns.reports import contaminated_prompts
from annotation.models import Assignment, Campaign, Item, Rater, Response
from judging.models import Judge, JudgeRun
from tests.cast import Line, campaign_of, load

LONG = "bridge bridge bridge bridge bridge spans"
SHORT = "harbour harbour harbour harbour harbours"[:39]
ASKED = "What was said of the bridge in the harbour when it was opened?"


def line(n: int, text: str, asked: str = "Why?") -> Line:
    return {
        "id": f"q{n}", "text": asked, "questions": [{"id": f"q{n}:a", "text": "When?"}],
        "reports": [{"id": f"r{n}", "text": text}],
    }  # fmt: skip


@pytest.fixture
def campaign(db: None, tmp_path: Path) -> Campaign:
    """Three items that two people have labelled, and one that nobody has."""
    load(tmp_path, [line(0, LONG), line(1, SHORT), line(2, "So.", ASKED), line(3, f"{LONG} it")])
    campaign = campaign_of("report-coverage", "--raters-per-item", "2")
    for name in ("ann", "bo"):
        for item in campaign.items.filter(position__lt=3):
            labelled(item, name)
    return campaign


def labelled(item: Item, name: str, kind: str = "human") -> Response:
    rater, _ = Rater.objects.get_or_create(name=name, defaults={"kind": kind})
    asked = Assignment.objects.create(item=item, rater=rater, asked=["a"], status="done")
    return Response.objects.create(assignment=asked, payload={}, door="page")


def judge(campaign: Campaign, name: str, prompt: str) -> Judge:
    rater = Rater.objects.create(name=name, kind="judge")
    made = Judge.objects.create(rater=rater, backend="openai", prompt=prompt)
    JudgeRun.objects.create(campaign=campaign, judge=made, prompt_sha256="0" * 64)
    return made


def warning(name: str, items: int, of: int = 3) -> dict[str, Any]:
    return {
        "code": "prompt_saw_labels", "variable": None, "rater": name,
        "text": f"Its prompt quotes texts of {items} of the {of} items that it is evaluated on. "
                "Its figures do not hold for unseen items.",
    }  # fmt: skip


def test_only_quoted_texts_of_at_least_forty_characters_count(
    campaign: Campaign,
) -> None:
    assert (len(LONG), len(SHORT)) == (40, 39)
    judge(campaign, "short", f"For example: {SHORT}")
    judge(campaign, "long", "For example:\n\n" + LONG.replace(" ", "  \n") + f"! {SHORT}")
    assert contaminated_prompts(campaign, ["short", "long"]) == [warning("long", 1)]


def test_each_contaminated_judge_is_named_once_with_the_number_of_items(
    campaign: Campaign,
) -> None:
    for name in ("b", "a", "c"):
        judge(campaign, name, f"{LONG} {ASKED}")
    judge(campaign, "none", "")
    judge(campaign, "half", LONG[:-1])
    asked = ["c", "b", "a", "none", "half"]
    assert contaminated_prompts(campaign, asked) == [warning(name, 2) for name in "abc"]
    assert contaminated_prompts(campaign, ["b"]) == [warning("b", 2)]
    assert contaminated_prompts(campaign, []) == []


def test_only_judges_of_the_campaign_count(campaign: Campaign) -> None:
    other = campaign_of("report-coverage", name="other")
    judge(other, "elsewhere", LONG)
    assert contaminated_prompts(campaign, ["elsewhere"]) == []
    labelled(other.items.get(key="r0"), "ann")
    assert contaminated_prompts(other, ["elsewhere"]) == [warning("elsewhere", 1, of=1)]


def test_only_study_items_that_a_person_labelled_count(campaign: Campaign) -> None:
    judge(campaign, "j", f"{LONG} it")
    item = campaign.items.get(key="r3")
    assert contaminated_prompts(campaign, ["j"]) == [warning("j", 1)]
    labelled(item, "machine", "judge")
    Assignment.objects.create(item=item, rater=Rater.objects.get(name="bo"), asked=["a"])
    assert contaminated_prompts(campaign, ["j"]) == [warning("j", 1)]
    response = labelled(item, "ann")
    assert contaminated_prompts(campaign, ["j"]) == [warning("j", 2, of=4)]
    Response.objects.filter(pk=response.pk).update(current=False)
    assert contaminated_prompts(campaign, ["j"]) == [warning("j", 1)]
    campaign.items.filter(key="r0").update(use=Item.Use.GOLD)
    assert contaminated_prompts(campaign, ["j"]) == []
