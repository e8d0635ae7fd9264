"""Verification of the points that answers make: context, page, API, judges, files, report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client

from analysis.campaigns.reports import campaign_report
from annotation.answers.submission import submit
from annotation.campaigns.design import Design
from annotation.exports.rows import labels
from annotation.models import Assignment, Campaign, Label, Response, Span
from annotation.presentation import present, schema
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from judging.backends.base import Request
from judging.floor import get_floor
from tandem.files.rows import AnswerPoint, Passage, Query, Report
from tandem.labels.selection import ReportOptions
from tests import cast
from tests.annotation.answering import person
from tests.api.cast import place, script_of
from tests.judging.cast import judge, run_scripted
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db

ANSWERS = PROTOCOLS["key-point-verification"].read_as("answers")
OPTION = ("--option", "points=answers")
OPENED = "opened in 1901"
OLD = "قديم means old."
AT = cast.BRIDGE.index(OPENED)


def items(*reports: Report) -> list[Any]:
    passages = (Passage("p", "One.", source="web"), Passage("p#1", "Two."))
    query = Query("q", "Why?", passages=passages, reports=reports)
    return list(ANSWERS.make_items(query, schema_of(ANSWERS).variables))


def report(**parts: Any) -> Report:
    made: dict[str, Any] = {"context": ("p#1", "p"), "key_points": (AnswerPoint("r:1", "One"),)}
    return Report("r", "Not to be shown.", **made | parts)


class TestItems:
    def test_a_report_is_an_item_with_its_points_as_units_and_its_context_as_texts(self) -> None:
        (item,) = items(report(system="s", setting="t"))
        assert (item.key, item.report, item.system, item.setting) == ("r", "r", "s", "t")
        assert [(u.kind, u.key, u.text) for u in item.units] == [("key-point", "r:1", "One")]
        assert [(t.field, t.text) for t in item.texts] == [
            ("passage:p#1", "Two."),
            ("passage:p", "One."),
        ]
        assert item.texts[1].facts == (("source", "web"),)

    @pytest.mark.parametrize("parts", [
        {"context": None}, {"context": ()}, {"key_points": None}, {"key_points": ()},
        {"context": ("p", "gone")},
    ])  # fmt: skip
    def test_a_report_without_points_or_a_complete_context_makes_no_item(self, parts: Any) -> None:
        assert items(report(**parts)) == []

    def test_only_support_by_the_context_is_asked(self) -> None:
        assert [v.name for v in schema_of(ANSWERS).variables] == ["grounded"]


class TestCampaign:
    def test_a_campaign_over_answer_points_asks_about_them_alone(self, batch: Path) -> None:
        campaign = cast.campaign_of("key-point-verification", *OPTION)
        lines = cast.exported("c", "units")
        assert [(x["item"], x["unit"], x["variables"]) for x in lines] == [
            ("r", "r/1", ["grounded"]), ("r", "r#2", ["grounded"]),
        ]  # fmt: skip
        assert lines[0]["texts"] == {"passage:p": cast.BRIDGE, "passage:p#1": cast.RIVER}
        assert (lines[0]["query"], lines[0]["system"]) == ("q/1", "one")
        assert campaign.options["points"] == "answers"

    @pytest.mark.parametrize(("protocol", "options", "wrong"), [
        ("key-point-recall", [], "option points does not apply to key-point-recall"),
        ("key-point-verification", ["variables=key"], "has no variable 'key'"),
        ("key-point-verification", ["passages=relevant"], "passages cannot be combined with"),
    ])  # fmt: skip
    def test_options_without_effect_are_refused(
        self, batch: Path, protocol: str, options: list[str], wrong: str
    ) -> None:
        more = [f"--option={option}" for option in options]
        with pytest.raises(CommandError, match=wrong):
            cast.campaign_of(protocol, *OPTION, *more)

    def test_an_unknown_kind_of_points_is_refused(self, batch: Path) -> None:
        with pytest.raises(CommandError, match="option points is one of answers"):
            cast.campaign_of("key-point-verification", "--option", "points=mine")

    def test_the_points_option_is_offered_for_its_protocol_only(self, tmp_path: Path) -> None:
        study = study_of("key-point-recall", tmp_path)
        rita = client_of(study.rita)
        asked = {"protocol": "key-point-verification", "batch": "b"}
        assert 'name="points"' in rita.get("/campaigns/new/", asked).content.decode()
        asked = {"protocol": "key-point-recall", "batch": "b"}
        assert 'name="points"' not in rita.get("/campaigns/new/", asked).content.decode()

    def test_the_api_creates_a_campaign_over_answer_points(self, tmp_path: Path) -> None:
        study = study_of("key-point-recall", tmp_path)
        body = {
            "name": "by script", "protocol": "key-point-verification", "batch": "b",
            "options": {"points": "answers"},
        }  # fmt: skip
        assert script_of(study.rita).post("campaigns/", body).status_code == 201
        made = Campaign.objects.get(name="by script")
        assert [item.key for item in made.items.all()] == ["r"]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return study_of("key-point-verification", tmp_path, Design(points="answers"))


def quote(words: str, start: int | None, passage: str | None = "p") -> dict[str, Any]:
    field = None if passage is None else f"passage:{passage}"
    return {"quote": words, "start": start, "field": field}


def form(*quotes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "unit-0": "u0", "unit-0-grounded": "yes", "unit-0-evidence": json.dumps(quotes),
        "unit-1": "u1", "unit-1-grounded": "no", "unit-1-evidence": "[]", **more,
    }  # fmt: skip


def stored() -> list[tuple[str, int | None, str]]:
    return list(Span.objects.order_by("pk").values_list("field", "start", "quote"))


class TestPage:
    def seen(self, client: Client, mine: Assignment) -> str:
        return client.get(page("item", mine)).content.decode()

    def test_the_page_shows_points_and_passages_but_not_the_report(self, study: Study) -> None:
        html = self.seen(client_of(study.ada), study.assignment(study.ada))
        assert html.count("data-marks") == 2
        assert 'data-text="passage:p"' in html
        assert 'data-text="passage:p#1"' in html
        assert "Do the passages support it?" in html
        assert "Anna built it." in html
        assert "Is it a key point" not in html
        assert "שלום לכולם" not in html

    def test_the_page_names_neither_the_system_nor_a_report(self, study: Study) -> None:
        html = self.seen(client_of(study.ada), study.assignment(study.ada))
        assert 'value="u0"' in html
        assert "r/1" not in html
        assert "r#2" not in html

    def test_each_quote_is_stored_with_its_passage_and_shown_again(self, study: Study) -> None:
        mine, client = study.assignment(study.ada), client_of(study.ada)
        old = quote(OLD, cast.RIVER.index(OLD), "p#1")
        sent = form(quote(OPENED, AT), old, version=0, seen=0)
        assert client.post(page("draft", mine), sent).status_code == 200
        sent |= {"version": 1}
        assert client.post(page("submit", mine), sent).status_code == 200
        assert stored() == [("passage:p", AT, OPENED), ("passage:p#1", old["start"], OLD)]
        assert "passage:p#1" in self.seen(client, mine).partition('name="unit-0-evidence"')[2]
        assert "The invariants hold." in cast.run("check_invariants")

    def test_a_quote_must_be_in_the_passage_that_it_names(self, study: Study) -> None:
        mine, client = study.assignment(study.ada), client_of(study.ada)
        answer = client.post(page("submit", mine), form(quote(OPENED, AT, "p#1")))
        assert answer.status_code == 422
        assert "was not found" in answer.json()["problems"][0]["message"]
        answer = client.post(page("submit", mine), form(quote(OPENED, AT, "gone")))
        assert "is not a text of this item" in answer.json()["problems"][0]["message"]

    def test_a_quote_names_no_passage_if_only_one_is_shown(self, tmp_path: Path) -> None:
        plain = study_of("key-point-verification", tmp_path)
        mine = plain.assignment(plain.ada)
        sent = {
            "unit-0": mine.asked[0], "unit-0-grounded": "no", "unit-0-key": "",
            "unit-0-evidence": json.dumps([quote(OPENED, AT)]),
        }  # fmt: skip
        answer = client_of(plain.ada).post(page("submit", mine), sent)
        assert "is not {quote, start}" in answer.json()["problems"][0]["message"]


class TestApi:
    def test_the_api_accepts_quotes_with_and_without_their_passage(self, study: Study) -> None:
        ada, mine = script_of(study.ada), study.assignment(study.ada)
        item = ada.get(place(mine)).json()
        assert item["units"][0]["evidence"]["several"] is True
        of_quote = item["answer_schema"]["properties"]["u0"]["properties"]["evidence"]["items"]
        assert of_quote["required"] == ["quote", "start", "field"]
        units: dict[str, Any] = {
            "u0": {"grounded": "yes", "evidence": [quote(OPENED, None, None), quote("old", None)]},
            "u1": {"grounded": "no", "evidence": []},
        }
        refused = ada.put(place(mine, "response/"), {"units": units})
        assert refused.status_code == 422
        units["u0"]["evidence"] = [quote(OPENED, None, None), quote("old", None, "p#1")]
        assert ada.put(place(mine, "response/"), {"units": units}).status_code == 201
        assert stored() == [
            ("passage:p", AT, OPENED),
            ("passage:p#1", cast.RIVER.index("old"), "old"),
        ]


class TestJudges:
    def test_a_judges_quote_is_searched_for_in_all_passages(self, study: Study) -> None:
        def said(request: Request) -> str:
            quotes = [{"quote": q, "start": None} for q in ("MEANS old", OPENED, "nowhere")]
            first, second = (unit.name for unit in request.facts.units)
            yes = {"evidence": quotes, "grounded": "yes"}
            return json.dumps({first: yes, second: {"evidence": [], "grounded": "no"}})

        run, _, backend = run_scripted(study.campaign, judge("m", "openai", model="m"), said)
        assert (run.failures, run.done) == ({}, 1)
        assert sorted(stored()) == [
            ("passage", None, "nowhere"),
            ("passage:p", AT, OPENED),
            ("passage:p#1", cast.RIVER.index("means old"), "means old"),
        ]
        (request,) = backend.asked
        asked = request.messages[-1].content
        assert cast.BRIDGE in asked
        assert cast.RIVER in asked
        assert "quotes of the passages for `grounded`" in asked
        assert run.manifest["prompt"]["name"] == "key-point-verification-answers"

    def test_the_prompt_hides_point_ids_that_name_a_system(self, tmp_path: Path) -> None:
        line = json.loads(json.dumps(cast.FIRST))
        line["reports"][0]["key_points"][0]["id"] = "one/r:p1"
        study = study_of("key-point-verification", tmp_path, Design(points="answers"), [line])
        who = judge("m", "openai", model="m")
        backend = run_scripted(study.campaign, who, lambda _: "{}")[2]
        prompt = " ".join(message.content for message in backend.asked[0].messages)
        assert "one/r:p1" not in prompt
        assert '"key-point 1"' in prompt

    def test_the_word_overlap_judge_answers_too(self, study: Study) -> None:
        cast.run("run_judge", "--campaign", "Study", "--judge", judge("floor").rater.name)
        found = dict(Label.objects.values_list("unit__key", "value"))
        assert found == {"r/1": "yes", "r#2": "yes"}
        assert {field for field, _, _ in stored()} == {"passage:p"}


def test_the_baselines_of_query_points_and_answer_points_are_kept_separate(tmp_path: Path) -> None:
    line = json.loads(json.dumps(cast.FIRST))
    line["key_points"] = [{"id": "r", "text": "It opened in 1901.", "passage": "p"}]
    cast.load(tmp_path, [line])
    plain = cast.campaign_of("key-point-verification", "--option", "variables=grounded")
    own = cast.campaign_of("key-point-verification", *OPTION, name="own")
    assert set(get_floor(plain).codes["grounded"]) == {("r", "key-point", "r")}
    found = set(get_floor(own).codes["grounded"])
    assert found == {("r", "key-point", "r/1"), ("r", "key-point", "r#2")}


def test_labels_are_exported_and_imported_with_their_passages(study: Study, tmp_path: Path) -> None:
    client_of(study.ada).post(page("submit", study.assignment(study.ada)), form(quote(OPENED, AT)))
    path = cast.write_lines(tmp_path / "labels.jsonl", labels(study.campaign))
    again = cast.campaign_of("key-point-verification", *OPTION)
    lines = [json.loads(line) | {"campaign": "c"} for line in path.read_text().splitlines()]
    cast.run("import_labels", cast.write_lines(path, lines), "--campaign", "c")
    (first, second) = labels(again)
    assert first["spans"] == [
        {"field": "passage:p", "start": AT, "end": AT + len(OPENED), "text": OPENED}
    ]
    assert (first["unit"], first["value"], first["system"]) == ("r/1", "yes", "one")
    assert (second["unit"], second["value"], "spans" in second) == ("r#2", "no", False)


@pytest.mark.first_case
@pytest.mark.parametrize("form_of", ["label-studio", "web-annotations"])
def test_other_export_formats_keep_the_passage_of_each_span(study: Study, form_of: str) -> None:
    client_of(study.ada).post(page("submit", study.assignment(study.ada)), form(quote(OPENED, AT)))
    text = cast.run("export", "--campaign", "Study", "--what", form_of)
    assert OPENED in text
    assert "passage:p" in text


def test_a_quote_without_a_field_is_found_on_import(batch: Path, tmp_path: Path) -> None:
    campaign = cast.campaign_of("key-point-verification", *OPTION)
    answer = {"grounded": "yes", "evidence": [{"quote": "means old"}]}
    line = {"item": "r", "rater": "ann", "units": {"r/1": answer}}
    cast.run("import_labels", cast.write_lines(tmp_path / "r.jsonl", [line]), "--campaign", "c")
    assert stored() == [("passage:p#1", cast.RIVER.index("means old"), "means old")]
    assert Response.objects.get().assignment.item.campaign == campaign


def test_the_report_compares_what_people_mark_in_each_passage(study: Study) -> None:
    for user, passage in ((study.ada, "p"), (study.ben, "p#1")):
        words, text = (OPENED, cast.BRIDGE) if passage == "p" else (OLD, cast.RIVER)
        mine = person(study.campaign.items.get(), user.username)
        place_of = text.index(words)
        answer = {"grounded": "yes", "evidence": [quote(words, place_of, passage)]}
        units = {"r/1": answer, "r#2": {"grounded": "no", "evidence": []}}
        submit(mine, {"units": units, "comment": None}, "page")
    made = campaign_report(study.campaign, ReportOptions(resamples=50))
    grounded = made["variables"]["grounded"]
    assert grounded["agreement"]["percent"]["value"] == 1
    assert grounded["spans"]["unanchored"] == {}
    agreement = json.dumps(grounded["spans"]["agreement"])
    assert "the texts are not known" not in agreement


def test_a_stored_campaign_presents_the_same_item(study: Study) -> None:
    campaign = Campaign.objects.get(pk=study.campaign.pk)
    (item,) = campaign.items.all()
    assert [text.field for text in present(item).texts] == ["passage:p", "passage:p#1"]
    assert schema(campaign).protocol is ANSWERS
