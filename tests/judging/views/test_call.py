"""The page of one call: what was asked, what was answered, and what it cost."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from annotation.assignments.queue import next_assignment
from annotation.models import Campaign, Label, User, rater_of
from judging.models import JudgeCall, JudgeRun
from tests.judging.cast import judge, run_scripted
from tests.judging.views.test_runs import HOSTILE, get, some_refused
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(db: None) -> Client:
    return client_of(User.objects.create(username="rita", role="researcher"))


@pytest.fixture
def ended(campaign: Campaign) -> JudgeRun:
    return run_scripted(campaign, judge("mixed"), some_refused())[0]


def opened(page: str) -> list[bool]:
    return [" open" in tag for tag in re.findall(r'<details class="asked-unit"[^>]*>', page)]


def test_the_question_one_came_from_is_open_and_only_its_quotes_stand_out(
    rita: Client, ended: JudgeRun
) -> None:
    call = JudgeCall.objects.filter(state="answered").first()
    assert call is not None
    units = list(call.assignment.item.units.order_by("position").values_list("pk", flat=True))
    labels = Label.objects.filter(response__assignment=call.assignment, variable="answerable")
    for label in labels.exclude(unit=units[2]):
        label.spans.update(start=11, end=16, quote="built")
    assert opened(get(rita, "judge-call", call.pk)) == [True, False, False]
    page = get(rita, "judge-call", call.pk, unit=units[2])
    assert opened(page) == [False, False, True]
    own = re.findall(r'<mark class="own"[^>]*>([^<]*)</mark>', page)
    others = re.findall(r'<mark id="quote-\d+">([^<]*)</mark>', page)
    assert ("".join(own), others) == ("Nobody kno", ["s 1."])
    target = re.search(r'<a href="#(quote-\d+)">Nobody kno', page)
    assert target is not None
    assert f'<mark class="own" id="{target[1]}">' in page
    assert f'href="/campaigns/{ended.campaign_id}/disagreements/{units[2]}/">‹ Everybody' in page
    assert opened(get(rita, "judge-call", call.pk, unit=10**6)) == [True, False, False]


def test_the_raw_answer_is_folded_unless_there_are_no_labels(rita: Client, ended: JudgeRun) -> None:
    for state, folded in (("answered", True), ("refused", False)):
        call = JudgeCall.objects.filter(state=state).first()
        assert call is not None
        page = get(rita, "judge-call", call.pk)
        (tag,) = re.findall(r'<details class="raw"([^>]*)><summary>The answer, word', page)
        assert (tag == "") == folded


def test_a_call_shows_its_request_its_response_and_its_labels(
    rita: Client, ended: JudgeRun
) -> None:
    call = JudgeCall.objects.filter(state="answered").first()
    assert call is not None
    page = get(rita, "judge-call", call.pk)
    assert "answerable" in page
    assert "User message" in page
    assert "&quot;evidence&quot;" in page


def test_a_user_with_an_open_item_sees_no_answer_of_a_judge(rita: Client, ended: JudgeRun) -> None:
    assert next_assignment(ended.campaign, rater_of(User.objects.get(username="rita")))
    call = JudgeCall.objects.filter(state="answered").first()
    assert call is not None
    page = get(rita, "judge-call", call.pk)
    assert "You have an open item in this campaign" in page
    assert "&quot;evidence&quot;" not in page
    assert "answerable" not in page


def test_a_call_shows_the_reasoning_of_the_model(rita: Client, ended: JudgeRun) -> None:
    call = JudgeCall.objects.filter(state="answered").first()
    assert call is not None
    assert "reasoning" not in get(rita, "judge-call", call.pk)
    JudgeCall.objects.filter(pk=call.pk).update(reasoning=f"So it is. {HOSTILE}" + "x" * 50_000)
    page = get(rita, "judge-call", call.pk)
    assert "The model’s reasoning" in page
    assert "So it is." in page
    assert "<script>alert" not in page
    assert "x" * 45_000 not in page


def test_the_output_of_a_model_is_escaped_and_cut(rita: Client, ended: JudgeRun) -> None:
    call = JudgeCall.objects.get(state="refused")
    JudgeCall.objects.filter(pk=call.pk).update(completion=HOSTILE + "x" * 50_000, body=HOSTILE)
    page = get(rita, "judge-call", call.pk)
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "␛[31m" in page
    assert "Only the beginning is shown" in page
    assert "x" * 45_000 not in page


def test_a_call_says_if_its_request_would_differ_today(rita: Client, ended: JudgeRun) -> None:
    call = JudgeCall.objects.filter(state="answered").first()
    assert call is not None
    JudgeCall.objects.filter(pk=call.pk).update(request_hash="0" * 64)
    assert "would differ today" in get(rita, "judge-call", call.pk)
