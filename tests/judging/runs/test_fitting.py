"""A judge starts only if it fits the campaign, and nothing is planned before that is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import Assignment, Campaign, Rater
from judging.backends.base import SetupError
from judging.models import Judge, JudgeRun
from judging.prompts.template import PromptError
from judging.runs import ledger, lifecycle
from judging.runs.fit import check_closed, check_granularity
from tests.judging.cast import campaign_of, judge
from tests.judging.judge_file.test_document import GRADED

pytestmark = pytest.mark.django_db


def refuses(campaign: Campaign, rater: Judge, message: str, error: type[ValueError]) -> None:
    with pytest.raises(error, match=message):
        lifecycle.start(campaign, rater)
    assert not JudgeRun.objects.exists()


def of_file(name: str, text: str) -> Judge:
    Judge.objects.filter(pk=judge(name).pk).update(file=text)
    return Judge.objects.get(rater__name=name)


@pytest.fixture
def studies(tmp_path: Path) -> tuple[Campaign, Campaign]:
    """A campaign that asks only for codes, and one that asks for lists with their matches."""
    return campaign_of(tmp_path, "grounding-relevance"), campaign_of(tmp_path, "key-point-writing")


def test_a_decision_model_is_refused_for_lists(studies: tuple[Campaign, Campaign]) -> None:
    closed, written = studies
    deciding, writing = Judge(backend="decisions"), Judge(backend="openai")
    check_closed(closed, deciding)
    check_closed(closed, writing)
    check_closed(written, writing)
    with pytest.raises(SetupError, match="lists, or for several codes, which decision"):
        check_closed(written, deciding)
    rater = judge("d", "decisions", model="m", base_url="http://127.0.0.1:9/v1")
    refuses(written, rater, "decision models cannot give", SetupError)
    assert not Assignment.objects.exists()
    assert lifecycle.start(closed, rater)


def test_a_protocol_with_lists_is_refused_unit_by_unit(
    studies: tuple[Campaign, Campaign],
) -> None:
    closed, written = studies
    whole, units = (Judge(granularity=each, rater=Rater(name="j")) for each in ("item", "unit"))
    for campaign in studies:
        check_granularity(campaign, whole)
    check_granularity(closed, units)
    refuses(written, judge("alone", granularity="unit"), "--granularity item", SetupError)
    assert not Assignment.objects.exists()
    written.options = {**written.options, "variables": ["holds_points"]}
    check_granularity(written, units)


def test_a_start_refuses_a_judge_file_of_another_protocol_or_with_a_broken_message(
    studies: tuple[Campaign, Campaign],
) -> None:
    closed, written = studies
    refuses(written, of_file("elsewhere", GRADED), "from a file about grounding-rel", SetupError)
    assert not Assignment.objects.exists()
    text = GRADED.replace("{{ passage.text }}", "{{ passage.text | join }}")
    refuses(closed, of_file("broken", text), "the judge file: ", PromptError)
    good = of_file("good", GRADED)
    assert lifecycle.start(closed, good).prompt_sha256 == lifecycle.sha256_of(GRADED)
    assert ledger.count_waiting(closed, good) > 0
