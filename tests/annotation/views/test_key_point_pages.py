"""The key-point pages on the server: suggestions, withheld points, and items by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Label, Response
from annotation.views.protocol_pages.key_point_verification import suggestions
from datasets.models import Batch
from tandem.protocols.base import Text
from tests import cast
from tests.api.cast import assert_error, place, script_of
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db


def taken(study: Study, key: str) -> Assignment:
    """Ada's assignment to an item, after submitting all earlier items without points."""
    while True:
        mine = study.assignment(study.ada)
        if mine.item.key == key:
            return mine
        submit(mine, {"units": {n: NO_POINTS[kind(n)] for n in mine.asked}, "comment": None}, "api")


NO_POINTS: dict[str, dict[str, Any]] = {
    "passage": {"holds_points": "no", "points": None},
    "key-point": {"matched": "no", "matches": []},
}


def kind(name: str) -> str:
    return "key-point" if name.startswith("k") else "passage"


def form(
    assignment: Assignment, code: str | None, points: list[Any], **more: Any
) -> dict[str, Any]:
    fields = {"unit-0": assignment.asked[0], "unit-0-points": json.dumps(points), **more}
    return fields | ({"unit-0-holds_points": code} if code else {})


def seen(client: Client, assignment: Assignment) -> str:
    return client.get(page("item", assignment)).content.decode()


def quote_at(start: int, length: int) -> dict[str, Any]:
    return {"quote": cast.BRIDGE[start : start + length], "start": start}


class TestSuggestions:
    def test_suggestions_are_in_text_order_with_unfound_ones_last(self) -> None:
        text = Text(
            "passage", "🌉 One two. Three four.", suggested=("nowhere at all", "Three", "One")
        )
        found = [(s.number, s.quote, s.places) for s in suggestions(text)]
        assert found == [
            (1, "One", ((2, 5),)),
            (2, "Three", ((11, 16),)),
            (3, "nowhere at all", ()),
        ]

    def test_a_word_is_suggested_before_a_part_of_a_word(self) -> None:
        text = Text("passage", "Use it only For cats or dogs.", suggested=("or",))
        assert [s.places for s in suggestions(text)] == [((21, 23),)]

    def test_the_same_quote_is_suggested_once(self) -> None:
        text = Text("passage", "One two.", suggested=("two", "two"))
        assert [s.places for s in suggestions(text)] == [((4, 7),)]

    def test_the_page_says_once_that_suggestions_may_be_wrong(self, tmp_path: Path) -> None:
        study = study_of("key-point-verification", tmp_path)
        html = seen(client_of(study.ada), study.assignment(study.ada))
        assert html.count("may be wrong") == 1
        start = cast.BRIDGE.index("opened in 1901")
        assert f'data-places="{start}-{start + 14} "' in html


class TestWriting:
    EXTRACTED = cast.FIRST["key_points"][0]["text"]

    def test_extracted_points_are_not_sent_before_the_list_is_complete(
        self, tmp_path: Path
    ) -> None:
        study = study_of("key-point-writing", tmp_path)
        mine, client = taken(study, "q/1/p"), client_of(study.ada)
        assert self.EXTRACTED not in seen(client, mine)
        points = [{"text": "It opened. 🌉", "evidence": [quote_at(11, 8)]}]
        kept = client.post(page("draft", mine), form(mine, None, points, version=0, seen=0))
        assert kept.status_code == 200
        assert self.EXTRACTED not in seen(client, mine)
        said = client.post(page("draft", mine), form(mine, "yes", points, version=1, seen=0))
        assert said.status_code == 200
        html = seen(client, mine)
        assert self.EXTRACTED in html
        assert "data-sealed" in html

    def test_a_quote_at_a_wrong_position_is_refused(self, tmp_path: Path) -> None:
        study = study_of("key-point-writing", tmp_path)
        mine, client = taken(study, "q/1/p"), client_of(study.ada)
        points = [{"text": "It opened.", "evidence": [quote_at(11, 8) | {"start": 12}]}]
        more = {"unit-1": "k/1", "unit-1-matched": "yes", "unit-1-matches": "[1]"}
        answer = client.post(page("submit", mine), form(mine, "yes", points, **more))
        assert answer.status_code == 422
        assert "point 1" in answer.json()["problems"][0]["message"]
        points[0]["evidence"] = [quote_at(11, 8)]
        answer = client.post(page("submit", mine), form(mine, "yes", points, **more))
        assert answer.status_code == 200
        stored = Response.objects.get(current=True, assignment=mine).payload["units"]
        assert stored["q/1/p"]["points"] == points
        assert stored["k/1"] == {"matched": "yes", "matches": [1]}
        labels = Label.objects.filter(response__assignment=mine).values_list("variable", "value")
        assert set(labels) == {("holds_points", "yes"), ("matched", "yes")}

    @pytest.mark.every_case
    @pytest.mark.parametrize("name", ["draft", "submit"])
    @pytest.mark.parametrize("odd", ['{"a": 1}', '{"text": "x", "citations": []}', "5", "true"])
    def test_a_malformed_list_is_refused(self, tmp_path: Path, name: str, odd: str) -> None:
        study = study_of("key-point-writing", tmp_path)
        mine, client = taken(study, "q/1/p"), client_of(study.ada)
        fields = {**form(mine, "yes", [], version=0, seen=0), "unit-0-points": odd}
        answer = client.post(page(name, mine), fields)
        assert answer.status_code == 422
        assert answer.json()["problems"][0]["message"] == "is not a list"

    def test_a_passage_without_extracted_points_hides_nothing(self, tmp_path: Path) -> None:
        lines = [{**cast.FIRST, "key_points": []}]
        study = study_with(tmp_path, lines)
        mine, client = study.assignment(study.ada), client_of(study.ada)
        html = seen(client, mine)
        assert "data-sealed" not in html
        assert 'data-waiting="0"' in html
        answer = client.post(page("submit", mine), form(mine, "no", []))
        assert answer.status_code == 200


def study_with(folder: Path, lines: list[cast.Line]) -> Study:
    """Ada before key-point writing over a batch of its own."""
    study = study_of("question-typing", folder)
    cast.load(folder, lines, name="bare")
    batch = Batch.objects.get(name="bare")
    study.campaign = create_campaign(
        "Bare", "key-point-writing", batch, Design(), pool="open"
    ).campaign
    return study


class TestJump:
    @pytest.fixture
    def study(self, tmp_path: Path) -> Study:
        return study_of("key-point-writing", tmp_path)

    def of(self, study: Study, count: int) -> list[Assignment]:
        found = []
        for _ in range(count):
            mine = study.assignment(study.ada)
            units = {n: NO_POINTS[kind(n)] for n in mine.asked}
            submit(mine, {"units": units, "comment": None}, "api")
            found.append(mine)
        return sorted(found, key=lambda each: each.item.position)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("asked", "place"),
        [("1", 0), ("2", 1), ("3", 2), ("9", 2), ("0", 0), ("999999999", 2), (" 2 ", 1)],
    )
    def test_jump_opens_ones_own_item_by_number(self, study: Study, asked: str, place: int) -> None:
        mine = self.of(study, 3)
        answer = client_of(study.ada).get(page("jump", mine[0]), {"number": asked})
        assert answer.headers["Location"] == page("item", mine[place])

    @pytest.mark.every_case
    @pytest.mark.parametrize("asked", ["", "two", "-1", "1.5", "10000000000", "²"])
    def test_jump_without_a_number_stays_on_the_item(self, study: Study, asked: str) -> None:
        mine = self.of(study, 2)
        answer = client_of(study.ada).get(page("jump", mine[1]), {"number": asked})
        assert answer.headers["Location"] == page("item", mine[1])

    def test_jump_counts_ones_own_items_only(self, study: Study) -> None:
        study.assignment(study.ben)
        mine = self.of(study, 2)
        client = client_of(study.ada)
        answer = client.get(page("jump", mine[0]), {"number": "9"})
        assert answer.headers["Location"] == page("item", mine[1])
        first = client.get(page("jump", mine[1]), {"number": "1"})
        assert first.headers["Location"] == page("item", mine[0])
        assert 'value="2"' in seen(client, mine[1])

    def test_jump_is_refused_from_anothers_item_and_by_post(self, study: Study) -> None:
        (mine,) = self.of(study, 1)
        assert client_of(study.ben).get(page("jump", mine), {"number": "1"}).status_code == 404
        assert client_of(study.ada).post(page("jump", mine), {"number": "1"}).status_code == 405


class TestApi:
    def test_the_api_describes_lists_and_matches(self, tmp_path: Path) -> None:
        study = study_of("key-point-writing", tmp_path)
        ada, mine = script_of(study.ada), taken(study, "q/1/p")
        shown = ada.get(place(mine)).json()
        first, second = shown["units"]
        assert first["listed"] == {
            "name": "points",
            "question": "The key points of the text",
            "field": "passage",
            "asked_if": {"holds_points": ["yes"]},
        }
        assert second["matching"] == {"name": "matches", "variable": "matched", "code": "yes"}
        assert (first["matching"], second["listed"]) == (None, None)
        asked = shown["answer_schema"]["properties"]["k/1"]["properties"]["matches"]
        assert asked == {"type": "array", "items": {"type": "integer", "minimum": 1}}

    def test_the_api_withholds_extracted_points_until_the_list_is_complete(
        self, tmp_path: Path
    ) -> None:
        study = study_of("key-point-writing", tmp_path)
        ada, mine = script_of(study.ada), taken(study, "q/1/p")
        units = {name: NO_POINTS[kind(name)] for name in mine.asked}
        before = ada.get(place(mine))
        assert TestWriting.EXTRACTED not in before.content.decode()
        assert before.json()["units"][1]["text"] == ""
        assert ada.put(place(mine, "response/"), {"units": units}).status_code == 201
        after = ada.get(place(mine)).json()
        assert after["units"][1]["text"] == TestWriting.EXTRACTED

    def test_the_api_refuses_a_quote_at_a_wrong_position(self, tmp_path: Path) -> None:
        study = study_of("key-point-writing", tmp_path)
        ada, mine = script_of(study.ada), taken(study, "q/1/p")
        points = [{"text": "It opened.", "evidence": [quote_at(11, 8) | {"start": 10}]}]
        units = {
            "q/1/p": {"holds_points": "yes", "points": points},
            "k/1": {"matched": "yes", "matches": [1]},
        }
        (problem,) = assert_error(ada.put(place(mine, "response/"), {"units": units}), 422)
        assert (problem["unit"], problem["field"]) == ("q/1/p", "points")
        points[0]["evidence"] = [quote_at(11, 8)]
        assert ada.put(place(mine, "response/"), {"units": units}).status_code == 201
        assert ada.get(place(mine, "response/")).json()["units"] == units
