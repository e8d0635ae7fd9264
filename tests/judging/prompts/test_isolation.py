"""What one request shows, as repeated by a model that echoes its prompt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Campaign
from annotation.presentation import present
from annotation.protocols import PROTOCOLS
from judging.backends.base import Request
from judging.models import Judge, JudgeCall
from judging.prompts.isolation import isolation_of
from judging.runs import planning
from tests.judging.cast import campaign_of, command, judge, query, run_scripted

pytestmark = pytest.mark.django_db


def echo(request: Request) -> str:
    """Repeat everything that was shown, without an answer."""
    return "\n".join(message.content for message in request.messages)


def chosen(params: dict[str, Any]) -> Judge:
    return judge(backend="openai", model="m", base_url="http://127.0.0.1:1", params=params)


def marked(text: str) -> list[str]:
    """The sentences of a text, marked so that it differs from the others."""
    return [part.strip() for part in re.split(r"[.\r\n]", text) if len(part.strip()) > 10]


def shown(campaign: Campaign, granularity: str) -> list[tuple[JudgeCall, set[str]]]:
    """Each call with the fields of its item's texts that the model repeated."""
    run_scripted(campaign, judge(granularity=granularity), echo)
    calls = JudgeCall.objects.select_related(
        "assignment__item__campaign", "assignment__item__query"
    )
    found = []
    for call in calls:
        said = call.completion or ""
        texts = present(call.assignment.item).texts
        found.append((call, {t.field for t in texts if any(m in said for m in marked(t.text))}))
    return found


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("protocol", "granularity"),
    # A list in an answer is matched within the same answer.
    [(p, g) for p in PROTOCOLS for g in ("item", "unit") if g == "item" or not PROTOCOLS[p].listed],
)
def test_a_request_shows_its_own_item_and_no_other(
    tmp_path: Path, protocol: str, granularity: str
) -> None:
    campaign = campaign_of(tmp_path, protocol)
    numbers = {item.pk: item.query.text for item in campaign.items.select_related("query")}
    for call, _ in shown(campaign, granularity):
        said = call.completion or ""
        others = {text for pk, text in numbers.items() if pk != call.assignment.item_id}
        assert not any(text in said for text in others - {numbers[call.assignment.item_id]})


@pytest.mark.every_case
@pytest.mark.parametrize("granularity", ["item", "unit"])
def test_an_answer_is_rated_without_the_answers_of_other_systems(
    tmp_path: Path, granularity: str
) -> None:
    found = shown(campaign_of(tmp_path, "answer-rating"), granularity)
    reports = [{f for f in fields if f.startswith("report:")} for _, fields in found]
    assert {len(each) for each in reports} <= {0, 1}
    assert len(set().union(*reports)) == 4
    # The passages are shown with each answer.
    assert all(any(f.startswith("passage:") for f in fields) for _, fields in found)


def test_a_judge_isolated_by_item_sees_the_whole_item(tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, "answer-rating")
    run_scripted(campaign, chosen({"isolate": "item"}), echo)
    said = [call.completion or "" for call in JudgeCall.objects.all()]
    assert len(said) == 2
    assert all("Nobody knows" in each and "Anna Lee 🌉" in each for each in said)


def test_a_pair_is_shown_with_both_of_its_answers(tmp_path: Path) -> None:
    for _, fields in shown(campaign_of(tmp_path, "answer-preference"), "unit"):
        assert sum(field.startswith("report:") for field in fields) == 2


def test_a_judge_with_whole_items_planned_keeps_asking_whole_items(tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, "answer-rating")
    rater = judge()
    items = list(campaign.items.all())
    names = [unit.name for unit in items[0].units.all()]
    rater.rater.assignments.create(item=items[0], scope="", asked=names)
    run_scripted(campaign, rater, echo)
    asked = rater.rater.assignments.filter(item=items[0])
    assert [(row.scope, row.asked) for row in asked] == [("", names)]
    assert rater.rater.assignments.filter(item=items[1]).count() > 1


@pytest.mark.parametrize(
    ("params", "protocol", "level"),
    [
        ({}, "answer-rating", "response"),
        ({}, "report-coverage", "item"),
        ({"isolate": "item"}, "answer-rating", "item"),
        ({"isolate": "unit"}, "grounding-relevance", "unit"),
    ],
)
def test_the_default_isolation_is_that_of_the_protocol(
    params: dict[str, Any], protocol: str, level: str
) -> None:
    assert isolation_of(chosen(params), protocol) == level


def test_the_requests_of_many_items_are_planned_with_few_queries(
    tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    """Neither texts nor units are looked up item by item."""
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(query(n)) + "\n" for n in range(1, 61)), "utf-8")
    command("load_batch", str(path), "--name", "many")
    command("create_campaign", "c", "--protocol", "answer-rating", "--batch", "many")
    with django_assert_max_num_queries(40):
        planning.plan(Campaign.objects.get(name="c"), judge())
    assert Assignment.objects.count() == 60 * 3
