"""Repairs of an answer's form: when one is requested, what it says, and how it counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.models import Campaign
from annotation.protocols import PROTOCOLS
from judging.backends.base import Answer, Request, Setup
from judging.backends.openai import OpenAICompatible
from judging.backends.scripted import Scripted
from judging.models import Judge, JudgeCall
from judging.prompts.repair import is_readable, repair_request
from judging.prompts.request import Prepared, Preparer, request_hash
from judging.prompts.template import read_prompt
from judging.runs import ledger, planning
from tests.judging.cast import judge, run_scripted, yes

MAX_ANSWER_LENGTH = 50_000

NO = {"evidence": [], "answerable": "no"}


def first_of(campaign: Campaign, granularity: str = "unit") -> Prepared:
    rater = judge(granularity=granularity)
    planning.plan(campaign, rater)
    prompt = read_prompt(PROTOCOLS[campaign.protocol].prompt)
    preparer = Preparer(campaign, rater, prompt, Scripted({}))
    rows = ledger.assignments_of(campaign, rater).select_related("item__campaign", "item__query")
    return preparer.prepare(rows.order_by("id")[0])


def repair(prepared: Prepared, answer: Any, by_unit: bool = True) -> Request | None:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return repair_request(prepared, Answer(text))


def test_a_readable_answer_is_not_repaired(campaign: Campaign) -> None:
    assert repair(first_of(campaign), NO) is None


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("The report answers it, so yes.", "the completion contains no JSON that fits"),
        ([NO], "the completion is JSON, but not of the form that was asked for"),
        (NO | {"answerable": "maybe"}, "'maybe' is not a code; give one of yes, no, invalid"),
        (NO | {"answerable": "yes"}, "answerable is yes: quote the report for it"),
        ({"answerable": "no"}, "evidence: is missing"),
    ],
)
def test_a_repair_request_shows_the_answer_and_its_problems(
    campaign: Campaign, answer: Any, problem: str
) -> None:
    prepared = first_of(campaign)
    request = repair(prepared, answer)
    assert request
    *before, written, again = request.messages
    assert tuple(before) == prepared.request.messages
    assert written.role == "assistant"
    assert written.content == (answer if isinstance(answer, str) else json.dumps(answer))
    assert again.role == "user"
    assert problem in again.content
    assert request.schema == prepared.request.schema


def test_a_repair_of_a_whole_item_uses_the_unit_names_shown_to_the_judge(
    campaign: Campaign,
) -> None:
    prepared = first_of(campaign, "item")
    names = list(prepared.units)
    request = repair(prepared, dict.fromkeys(names[1:], NO), by_unit=False)
    assert request
    assert f"unit {names[0]!r}: has no answer" in request.messages[-1].content


def test_a_repair_request_has_its_own_hash(campaign: Campaign) -> None:
    prepared = first_of(campaign)
    backend = OpenAICompatible(Setup("m", "http://h"))
    before = request_hash(backend, prepared.request)
    request = repair(prepared, "Yes.")
    assert request
    assert request_hash(backend, request) != before
    assert repair(prepared, "No.") != request
    body = backend.body(request)
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize("text", ["", "x" * (MAX_ANSWER_LENGTH + 1)])
def test_empty_and_overlong_answers_are_not_repaired(campaign: Campaign, text: str) -> None:
    assert repair(first_of(campaign), text) is None


def test_a_repair_request_lists_only_the_first_ten_problems(campaign: Campaign) -> None:
    request = repair(first_of(campaign), {f"k{n}": "x" * 100 for n in range(100)})
    assert request
    assert request.messages[-1].content.count("\n- ") == 10
    assert len(request.messages[-1].content) < 4000


def asker(name: str, **params: Any) -> Judge:
    server = {"backend": "openai", "model": "m", "base_url": "http://h"}
    return judge(name, **server, granularity="unit", params=params)


def test_a_judge_repairs_an_answer_at_most_once_and_only_if_set_to(campaign: Campaign) -> None:
    stubborn = run_scripted(campaign, asker("stubborn", repair=1), lambda _: "Yes.")[0]
    assert stubborn.failures == {"unreadable": 12}
    assert stubborn.calls == 24
    assert JudgeCall.objects.filter(run=stubborn, repair=True).count() == 12
    plain = run_scripted(campaign, asker("plain"), lambda _: "Yes.")[0]
    assert plain.calls == 12


def test_a_repaired_answer_gives_labels(campaign: Campaign) -> None:
    def answer(request: Request) -> str:
        return yes(request) if len(request.messages) > 2 else "Yes."

    run = run_scripted(campaign, asker("mending", repair=1), answer)[0]
    assert (run.done, run.failures) == (12, {})
    assert JudgeCall.objects.filter(run=run, repair=True).count() == 12


@pytest.mark.parametrize("text", ["x", "x" * MAX_ANSWER_LENGTH])
def test_the_shortest_and_the_longest_allowed_answer_are_repaired(
    campaign: Campaign, text: str
) -> None:
    request = repair(first_of(campaign), text)
    assert request
    assert request.messages[-2].content == text


def test_an_answer_of_the_right_form_is_readable_even_without_evidence(
    campaign: Campaign,
) -> None:
    prepared = first_of(campaign)
    assert is_readable(prepared, Answer(json.dumps(NO)))
    assert not is_readable(prepared, Answer("No."))
