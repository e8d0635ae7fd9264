"""An item of each task as a script reads it: the texts, what each unit asks, and practice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import submit
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Draft, GoldAnswer, User
from tests import protocol_cast
from tests.api.cast import Script, place, script_of
from tests.blind_cast import blind_study, swapped_pair
from tests.cast import BRIDGE, FIRST, FULL, RIVER, campaign_of, run
from tests.page_cast import study_of

pytestmark = pytest.mark.django_db
YES_NO = {"yes": "Yes", "no": "No"}
LISTED = {
    "name": "points",
    "question": "The key points of the text",
    "field": "passage",
    "asked_if": {"holds_points": ["yes"]},
}


def begun(protocol: str, folder: Path, **options: Any) -> tuple[Assignment, Script]:
    """Ada's first item of a campaign over the query whose ids are hard to tell apart."""
    study = study_of(protocol, folder, Design(seed=5, **options), [FIRST])
    return study.assignment(study.ada), script_of(study.ada)


def variable(
    name: str, question: str, codes: dict[str, str], asked_if: dict[str, list[str]] | None = None
) -> dict[str, Any]:
    listed = [{"code": code, "word": word} for code, word in codes.items()]
    kinds = {"several": False, "scale": None, "asked_if": asked_if or {}}
    return {"name": name, "question": question, "codes": listed, **kinds}


def unit(name: str, text: str, heading: str, *asked: dict[str, Any], **more: Any) -> dict[str, Any]:
    free = dict.fromkeys(("evidence", "written", "listed", "matching", "verdict"))
    own = {"facts": [], "texts": [], "variables": [*asked]}
    return {"name": name, "text": text, "heading": heading} | own | free | more


def text(field: str, heading: str, words: str, **facts: str) -> dict[str, Any]:
    listed = [{"name": name, "value": value} for name, value in facts.items()]
    return {"field": field, "heading": heading, "text": words, "facts": listed, "suggested": []}


def test_a_report_comes_with_its_questions_and_the_rule_for_evidence(tmp_path: Path) -> None:
    mine, ada = begun("report-coverage", tmp_path)
    item = ada.get(place(mine)).json()
    assert list(quoted(item, "🌉")) == ["quote", "start"]
    assert list(item.pop("answer_schema")["properties"]) == ["a/b#1", " blank ", "🌉"]
    codes = {"yes": "Yes", "no": "No", "invalid": "Makes no sense"}
    asked = variable("answerable", "Can the report answer it?", codes)
    rule: dict[str, Any] = {
        "variable": "answerable",
        "field": "report",
        "owed_if": "yes",
        "codes": ["yes"],
    }
    rule |= {"several": False}
    rule |= {"quotes": [{"field": "report", "codes": ["yes"], "within": False}]}
    assert item == {
        "uid": str(mine.uid),
        "campaign": mine.item.campaign_id,
        "protocol": "report-coverage",
        "title": "Can the report answer it?",
        "is_open": True,
        "status": "open",
        "assisted_by": None,
        "query": "How was the bridge built?",
        "texts": [text("report", "", FULL)],
        "units": [
            unit("a/b#1", "When did it open?", "", asked, evidence=rule),
            unit(" blank ", "Who built it?", "", asked, evidence=rule),
            unit("🌉", "Is it old?", "", asked, evidence=rule),
        ],
        "first_answer": None,
        "seconds": None,
        "response": None,
        "draft": None,
    }


def quoted(item: dict[str, Any], unit: str) -> dict[str, Any]:
    """The properties of a quote for the unit in the answer's schema."""
    answer = item["answer_schema"]["properties"][unit]
    found: dict[str, Any] = answer["properties"]["evidence"]["items"]["properties"]
    return found


def test_a_quote_names_its_text_if_several_texts_can_be_quoted(tmp_path: Path) -> None:
    mine, ada = begun("key-point-verification", tmp_path, points="answers")
    item = ada.get(place(mine)).json()
    assert list(quoted(item, item["units"][0]["name"])) == ["quote", "start", "field"]
    assert item["units"][0]["evidence"]["several"] is True


def test_a_script_is_told_of_the_quotes_that_are_owed_in_two_texts(tmp_path: Path) -> None:
    run("protocol", "add", protocol_cast.write_protocol(tmp_path))
    run("load_batch", protocol_cast.write_batch(tmp_path), "--name", "b")
    campaign = campaign_of(protocol_cast.NAME, "--pool", "open")
    ada = script_of(User.objects.create(username="ada"))
    item = ada.post(f"campaigns/{campaign.pk}/next/", {}).json()
    rule = next(each["evidence"] for each in item["units"] if each["evidence"])
    assert rule["several"]
    assert rule["quotes"] == [
        {"field": "report", "codes": ["full"], "within": True},
        {"field": "passage", "codes": ["partial", "full"], "within": False},
    ]


def test_passages_come_with_their_facts_and_a_written_answer_with_its_sources(
    tmp_path: Path,
) -> None:
    mine, ada = begun("grounded-answer", tmp_path)
    item = ada.get(place(mine)).json()
    assert item["texts"] == [
        text("passage:p", "The bridge", BRIDGE, source="web", date="2024-04-30", age="3 days"),
        text("passage:p#1", "Passage", RIVER, source="private"),
    ]
    helps = variable("selected", "Does it help to answer?", YES_NO)
    *passages, query = item["units"]
    first, second = FIRST["passages"][0]["sentences"]
    assert passages == [
        unit("passage-sentence:q/1/p#1", first, "Sentences of passages", helps),
        unit("q/1/p#2", second, "", helps),
        unit("passage:q/1/p#1", " ".join(RIVER.split("\n")), "Passages", helps),
    ]
    assert [each["name"] for each in query.pop("variables")] == ["descriptor", "deflected"]
    needed = {"descriptor": ["complete", "partial"], "deflected": ["no"]}
    written = {
        "name": "written", "question": "The answer", "asked_if": needed, "sources": ["p", "p#1"],
    }  # fmt: skip
    whole = unit("q/1", "How was the bridge built?", "The request", written=written)
    assert query == {name: value for name, value in whole.items() if name != "variables"}


def test_points_to_match_are_hidden_until_the_raters_own_list_is_complete(tmp_path: Path) -> None:
    mine, ada = begun("key-point-writing", tmp_path)
    holds = variable(
        "holds_points", "Does the text hold key points for the question?",
        {"yes": "Yes, and all are listed", "no": "No, none"},
    )  # fmt: skip
    matched = variable(
        "matched", "Does it match a point on the list?", {"yes": "Yes", "no": "None"}
    )
    passage = unit("q/1/p", "The bridge", "Passages", holds, listed=LISTED)
    matching = {"name": "matches", "variable": "matched", "code": "yes"}
    point = unit("k/1", "", "Key points", matched, matching=matching)
    item = ada.get(place(mine)).json()
    assert (item["title"], item["units"]) == ("Key point writing", [passage, point])
    drafted = {"units": {"q/1/p": {"holds_points": "no", "points": None}, "k/1": {}}}
    Draft.objects.create(assignment=mine, payload=drafted | {"comment": None})
    item = ada.get(place(mine)).json()
    assert item["units"] == [passage, point | {"text": "It opened in 1901."}]


@pytest.mark.every_case
@pytest.mark.parametrize("yes", [False, True])
def test_feedback_on_a_pair_follows_the_order_in_which_it_was_shown(
    tmp_path: Path, yes: bool
) -> None:
    study = blind_study("answer-preference", tmp_path, reports=2)
    study.campaign.items.update(use="practice")
    Campaign.objects.update(practice_of=study.campaign.pk)
    study.campaign.refresh_from_db()
    mine = swapped_pair(study, study.ada, yes=yes)
    unit = mine.item.units.get()
    for variable, value in (("preferred", "second"), ("unasked", "tie-good")):
        GoldAnswer.objects.create(unit=unit, variable=variable, value=value, reason="So.")
    submit(mine, {"units": {unit.name: {"preferred": "first"}}, "comment": None}, "api")
    feedback = script_of(study.ada).get(place(mine, "feedback/")).json()
    said, known = ("second", "first") if yes else ("first", "second")
    assert feedback["answers"] == [
        {"unit": "u0", "variable": "preferred", "said": said, "known": known, "reason": "So.",
         "is_right": False},
        {"unit": "u0", "variable": "unasked", "said": None, "known": "tie-good", "reason": "So.",
         "is_right": False},
    ]  # fmt: skip
    assert (feedback["qualify"], feedback["passed"]) == (None, True)
