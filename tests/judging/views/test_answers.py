"""A judge's answers are shown as cards with words, quotes and reasons, and can be filtered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Campaign, Item, Look, User
from annotation.presentation import CHANGED
from judging.backends.base import Answer, FinalError, Request
from judging.models import JudgeRun
from judging.views import answers
from tests.judging.cast import judge, run_scripted, yes
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(db: None) -> Client:
    return client_of(User.objects.create(username="rita", role="researcher"))


def mixed(request: Request) -> Answer | str | BaseException:
    """Refuse one report, say no to another, and yes with a reason to the rest."""
    text = request.facts.texts[0]
    if text.startswith("Nobody knows 1"):
        return FinalError("refused", "the model refused")
    if text.startswith("Nobody knows 2"):
        units = request.facts.units
        return json.dumps({unit.name: {"evidence": [], "answerable": "no"} for unit in units})
    return Answer(yes(request), reasoning="The text says so <b>plainly</b>.",
                  usage={"prompt_tokens": 900, "completion_tokens": 100})  # fmt: skip


def refused(request: Request) -> FinalError:
    return FinalError("refused", "the model refused")


@pytest.fixture
def run(campaign: Campaign) -> JudgeRun:
    return run_scripted(campaign, judge("mixed"), mixed)[0]


def shown(client: Client, run: JudgeRun, status: int = 200, **query: Any) -> str:
    address = reverse("judge-answers", args=[run.campaign_id, run.judge_id])
    answer = client.get(address, query)
    assert answer.status_code == status
    return str(answer.content.decode())


def test_a_card_shows_question_label_quote_rationale_and_usage(rita: Client, run: JudgeRun) -> None:
    page = shown(rita, run)
    assert page.count('answer-card"') == 4
    assert "How was bridge 1 built?" in page
    assert '<span class="pill judge-pill yes">Yes</span>' in page
    assert "<mark>Anna Lee 🌉</mark> built bridge 1." in page
    assert "The text says so &lt;b&gt;plainly&lt;/b&gt;." in page
    assert "1,000 tokens" in page
    assert "missing: refused" in page
    assert "the model refused" in page
    assert reverse("judge-call", args=[run.judge_calls.first().pk]) in page  # type: ignore[union-attr]
    assert set(Look.objects.values_list("kind", flat=True)) == {"judged"}


def test_cards_can_be_shown_by_unit_and_filtered(rita: Client, run: JudgeRun) -> None:
    def cards(**query: Any) -> int:
        return shown(rita, run, **query).count('answer-card"')

    assert cards(by="unit") == 12
    assert cards(by="unit", verdict="yes") == 6
    assert cards(verdict="no") == 1
    assert cards(by="unit", state="failed") == 3
    assert cards(state="repaired") == 0
    assert cards(reason="refused") == 1
    assert cards(by="unit", reason="refused") == 3
    assert cards(reason="timeout") == 0
    assert cards(find="bridge 2") == 2
    assert cards(item=0) == 1
    assert "No answer matches" in shown(rita, run, find="nothing")


def test_the_counts_of_a_run_link_to_its_missing_answers_by_reason(
    rita: Client, run: JudgeRun
) -> None:
    answers = reverse("judge-answers", args=[run.campaign_id, run.judge_id])
    for page in (
        reverse("judge-run", args=[run.pk]),
        reverse("judges-compared", args=[run.campaign_id]) + "?now",
    ):
        content = rita.get(page).content.decode()
        assert f'href="{answers}?state=failed"' in content
        assert f'href="{answers}?reason=refused"' in content
    of_judge = rita.get(reverse("judge", args=[run.judge_id])).content.decode()
    assert f'href="{answers}?state=failed">1</a>' in of_judge
    chosen = shown(rita, run, reason="refused")
    assert "missing as <b>refused</b>" in chosen
    assert '<input type="hidden" name="reason" value="refused">' in chosen


def test_the_counts_of_a_judge_asked_unit_by_unit_link_to_units(
    rita: Client, campaign: Campaign
) -> None:
    run = run_scripted(campaign, judge("single", granularity="unit"), refused)[0]
    content = rita.get(reverse("judge-run", args=[run.pk])).content.decode()
    answers = reverse("judge-answers", args=[campaign.pk, run.judge_id])
    assert f'href="{answers}?reason=refused&amp;by=unit"><b>12</b> refused' in content
    assert shown(rita, run, reason="refused", by="unit").count('answer-card"') == 12


def test_pages_link_to_each_other_and_unknown_filters_are_ignored(
    rita: Client, run: JudgeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "ITEMS", 3)
    first = shown(rita, run, verdict="nonsense", state="?", by="x")
    assert first.count('answer-card"') == 3
    assert 'rel="next"' in first
    last = shown(rita, run, page=2)
    assert last.count('answer-card"') == 1
    assert 'rel="prev"' in last
    assert 'rel="next"' not in last
    assert "No answer matches" in shown(rita, run, page=10**9)


def test_a_long_text_is_cut_to_the_passage_around_its_quotes() -> None:
    from annotation.models import Span
    from judging.answer_cards import AROUND, _excerpt
    from tandem.protocols.base import Text

    text = "a" * 3000 + "quoted" + "b" * 3000
    found = _excerpt(Text("t", text, "T"), [Span(field="t", start=3000, end=3006, quote="quoted")])
    assert [piece.text for piece in found.pieces if piece.is_quoted] == ["quoted"]
    assert "".join(piece.text for piece in found.pieces[1:-1]) == (
        "a" * AROUND + "quoted" + "b" * AROUND
    )
    assert found.is_cut
    short = _excerpt(Text("t", "short", "T"), [])
    assert ("".join(piece.text for piece in short.pieces), short.is_cut) == ("short", False)


def test_a_judge_that_did_not_run_in_the_campaign_has_no_page(rita: Client, run: JudgeRun) -> None:
    other = judge("idle")
    address = reverse("judge-answers", args=[run.campaign_id, other.pk])
    assert rita.get(address).status_code == 404
    assert Assignment.objects.filter(rater=other.rater).count() == 0


@pytest.mark.parametrize("by", ["", "unit"])
def test_a_changed_item_is_a_card_that_says_so_beside_all_others(
    rita: Client, run: JudgeRun, by: str
) -> None:
    whole = shown(rita, run, by=by).count('answer-card"')
    item = Item.objects.filter(campaign=run.campaign_id).order_by("position")[0]
    Item.objects.filter(pk=item.pk).update(key="changed")
    page = shown(rita, run, by=by)
    assert page.count(f'<p class="problem">{CHANGED}</p>') == 1
    # By unit, the item's three units are one card.
    assert page.count('answer-card"') == whole - (2 if by else 0)
