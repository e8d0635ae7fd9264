"""Each text of a batch has a mark, and a model that echoes its prompt shows which were sent."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign, Item
from annotation.protocols import PROTOCOLS
from judging.models import JudgeCall
from tests.judging.cast import command, judge, query, run_scripted
from tests.judging.prompts.test_isolation import echo

pytestmark = pytest.mark.django_db

MARK = re.compile(r"mark-(q\d)-([a-z-]+)")

SHOWN = {
    "report-coverage": {"query", "question", "report"},
    "rubric-passage": {"query", "question", "passage", "title"},
    "key-point-verification": {"query", "key-point", "passage", "title"},
    "key-point-writing": {"query", "passage", "title", "key-point"},
    "key-point-recall": {"query", "key-point", "report"},
    "grounding-relevance": {"query", "passage", "title"},
    "question-typing": {"query"},
    "grounded-answer": {"query", "passage", "title"},
    "answer-rating": {"query", "passage", "title", "report", "reference"},
    "answer-preference": {"query", "report"},
    "nugget-importance": {"query", "nugget"},
    "nugget-assignment": {"query", "nugget", "report"},
    "citation-support": {"query", "report", "passage", "title"},
}
"""The kinds of text that people see under each protocol, and that its judges may see."""


def marked_query(number: int) -> dict[str, Any]:
    """A query with a mark in each text: those that may be shown, and those that never are."""
    key = f"mark-q{number}-"
    row = query(number)
    row["text"] += f" {key}query"
    for question in row["questions"]:
        question["text"] += f" {key}question"
        question["meta"] = {"note": f"{key}question-meta"}
    for passage in row["passages"]:
        last = f"{key}passage stands here."
        passage |= {"text": f"{passage['text']} {last}", "title": f"{key}title"}
        passage["sentences"] = [*passage["sentences"], last]
        passage |= {"relevant": True, "meta": {"domain": f"{key}passage-meta"}}
    for point in row["key_points"]:
        point["text"] += f" {key}key-point"
        point |= {"meta": {"note": f"{key}key-point-meta"}}
    for nugget in row["nuggets"]:
        nugget["text"] += f" {key}nugget"
        nugget |= {"sources": [f"{key}source"], "meta": {"note": f"{key}nugget-meta"}}
    for report in row["reports"]:
        report["text"] += f" {key}report"
        report |= {"family": f"{key}family", "meta": {"note": f"{key}report-meta"}}
        report["system"] += f"-{key}system"
        report["setting"] = f"{key}setting"
        report["key_points"] = [{"id": f"{report['id']}:own", "text": f"{key}own-point"}]
    row["references"] = [{"text": f"A reference. {key}reference"}]
    row["rankings"] = [{"system": f"{key}ranking", "passages": [row["passages"][0]["id"]]}]
    row["meta"] = {"category": f"{key}category", "note": f"{key}meta"}
    return row


def marked_campaign(folder: Path, protocol: str) -> Campaign:
    path = folder / "marked.jsonl"
    path.write_text("".join(json.dumps(marked_query(n)) + "\n" for n in (1, 2)), "utf-8")
    command("load_batch", str(path), "--name", "marked")
    command("create_campaign", "marks", "--protocol", protocol, "--batch", "marked")
    return Campaign.objects.get(name="marks")


def shown_by(campaign: Campaign, granularity: str) -> dict[str, set[tuple[str, str]]]:
    """The marks that the requests about each query repeated: the query's and the kind of text."""
    run_scripted(campaign, judge(granularity=granularity), echo)
    found = defaultdict[str, set[tuple[str, str]]](set)
    for call in JudgeCall.objects.select_related("assignment__item__query"):
        marks = MARK.findall(call.completion or "")
        found[call.assignment.item.query.key] |= set(marks)
    return found


@pytest.mark.every_case
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_judge_is_shown_what_its_protocol_shows_and_nothing_else(
    tmp_path: Path, protocol: str
) -> None:
    found = shown_by(marked_campaign(tmp_path, protocol), "item")
    assert found == own_marks(protocol)


@pytest.mark.first_case
@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS if not PROTOCOLS[p].listed])
def test_a_judge_asked_unit_by_unit_is_shown_what_its_protocol_shows_and_nothing_else(
    tmp_path: Path, protocol: str
) -> None:
    found = shown_by(marked_campaign(tmp_path, protocol), "unit")
    assert found == own_marks(protocol)


def own_marks(protocol: str) -> dict[str, set[tuple[str, str]]]:
    """Each query's own marks, of the kinds of text that the protocol shows."""
    return {name: {(name, kind) for kind in SHOWN[protocol]} for name in ("q1", "q2")}


def test_a_judge_is_shown_no_human_answer(tmp_path: Path) -> None:
    campaign = marked_campaign(tmp_path, "report-coverage")
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        "".join(
            json.dumps(
                {
                    "item": item.key,
                    "unit": unit.name,
                    "variable": "answerable",
                    "value": "no",
                    "rater": "mark-q1-rater",
                    "meta": {"comment": "mark-q1-comment"},
                }
            )
            + "\n"
            for item in Item.objects.filter(campaign=campaign)
            for unit in item.units.all()
        ),
        "utf-8",
    )
    command("import_labels", str(labels), "--campaign", campaign.name)
    found = shown_by(campaign, "item")
    assert {kind for marks in found.values() for _, kind in marks} == SHOWN["report-coverage"]
