"""Answers amid Markdown fences, reasoning and prose are read, and never wrongly."""

from __future__ import annotations

from collections import Counter

import pytest

from annotation.models import Assignment, Campaign, Label
from judging.models import JudgeCall
from tests.fake_openai.running import Running
from tests.judging.cast import command, judge

FORMS = (
    "ANSWER",
    "```json\nANSWER\n```",
    "```\nANSWER\n```\n",
    "<think>The report is short.</think>\nANSWER",
    "The report is short.\n</think>\n\nANSWER",
    "Here is my answer:\n\nANSWER",
    "ANSWER\n\nI hope that this helps.",
    "Sure!\n```json\nANSWER\n```\nAsk me for more.",
    "<think>{}</think>```json\nANSWER\n```",
    "\n\n  ANSWER",
    "~~~json\nANSWER\n~~~",
)  # fmt: skip


def run(server: Running, name: str, *forms: str, granularity: str = "unit") -> None:
    server.behave(reset=True, answer="no", around=forms)
    judge(name, "openai", model="m", base_url=server.url, granularity=granularity)
    command("run_judge", "--campaign", "study of report-coverage", "--judge", name)


@pytest.mark.first_case
@pytest.mark.parametrize("granularity", ["item", "unit"])
def test_every_ordinary_form_of_an_answer_is_read(
    campaign: Campaign, server: Running, granularity: str
) -> None:
    run(server, "m", *FORMS, granularity=granularity)
    labels = Label.objects.filter(response__assignment__rater__name="m", variable="answerable")
    assert Counter(labels.values_list("value", flat=True)) == {"no": 12}
    assert not Assignment.objects.exclude(status="done").exists()
    steps = set(JudgeCall.objects.values_list("reading", flat=True))
    assert len(steps) > (1 if granularity == "item" else 5)


def test_two_contradicting_answers_are_missing_as_ambiguous(
    campaign: Campaign, server: Running
) -> None:
    run(server, "m", 'ANSWER\n{"evidence": [], "answerable": "invalid"}')
    assert not Label.objects.exists()
    assert set(Assignment.objects.values_list("status", "reason")) == {("failed", "ambiguous")}
