"""A person's work through the API, from the first item to the last, and how it matches the page."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from annotation.answers.types import LostLeaseError
from annotation.models import Draft, Label, Response, Span
from tests.api.cast import QUOTE, Script, assert_error, body, place, script_of
from tests.page_cast import TEXT, Study, answers, client_of, page, payload

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(study: Study) -> Script:
    return script_of(study.ada)


def next_item(ada: Script, study: Study) -> dict[str, Any]:
    answer = ada.post(f"campaigns/{study.campaign.pk}/next/")
    assert answer.status_code == 200
    item: dict[str, Any] = answer.json()
    return item


@pytest.mark.postgresql
def test_a_script_can_do_all_the_work_of_an_annotator(study: Study, ada: Script) -> None:
    (campaign,) = ada.get("campaigns/").json()["results"]
    assert campaign["work"] == {"done": 0, "begun": 0, "left": 2, "waiting": 0}
    for _ in range(2):
        item = next_item(ada, study)
        assert next_item(ada, study)["uid"] == item["uid"]
        assert [unit["name"] for unit in item["units"]] == ["q:0", "q:1", "q:2"]
        sent = ada.put(f"assignments/{item['uid']}/response/", body("no", "no", "invalid"))
        assert sent.status_code == 201
        assert sent["ETag"] == '"1"'
    assert ada.post(f"campaigns/{study.campaign.pk}/next/").status_code == 204
    work = ada.get("campaigns/").json()["results"][0]["work"]
    assert work == {"done": 2, "begun": 0, "left": 0, "waiting": 0}
    done = ada.get("assignments/?status=done").json()
    assert [row["revision"] for row in done["results"]] == [1, 1]
    assert ada.get("assignments/?status=open").json()["count"] == 0
    assert Label.objects.count() == 6


def test_an_item_has_what_its_page_shows(study: Study, ada: Script) -> None:
    item = next_item(ada, study)
    assert [text["text"] for text in item["texts"]] == [TEXT]
    assert item["query"] == "What of the harbour? ⛵"
    assert item["is_open"] is True
    assert (item["response"], item["draft"]) == (None, None)
    (asked,) = item["units"][0]["variables"]
    assert [code["code"] for code in asked["codes"]] == ["yes", "no", "invalid"]
    assert item["units"][0]["evidence"]["owed_if"] == "yes"
    assert set(item["answer_schema"]["properties"]) == {"q:0", "q:1", "q:2"}


def test_units_have_the_same_order_as_on_the_page(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    mine.asked = ["q:2", "q:0", "q:1"]
    mine.save()
    item = ada.get(place(mine)).json()
    assert [unit["name"] for unit in item["units"]] == ["q:2", "q:0", "q:1"]


def test_assignments_can_be_filtered_by_campaign_and_status(study: Study, ada: Script) -> None:
    mine, pk = study.assignment(study.ada), study.campaign.pk
    for query, found in (("", 1), (f"campaign={pk}", 1), (f"campaign={pk + 1}", 0),
                         (f"campaign={pk}&status=open", 1), ("status=done", 0)):  # fmt: skip
        listed = ada.get(f"assignments/?{query}").json()
        assert (listed["count"], len(listed["results"])) == (found, found), query
    assert ada.get("assignments/").json()["results"][0]["uid"] == str(mine.uid)


def test_an_answer_is_refused_if_its_lease_is_lost_during_the_save(
    study: Study, ada: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = study.assignment(study.ada)

    def lost(*arguments: object) -> None:
        raise LostLeaseError

    monkeypatch.setattr("annotation.api.answers._store", lost)
    sent = ada.put(place(mine, "response/"), body("no", "no", "no"))
    assert_error(sent, 422)
    assert "another person has it now" in sent.content.decode()


def test_the_guideline_is_returned_as_markdown(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    assert ada.get(place(mine, "guideline/")).json()["markdown"].startswith("#")


def test_page_and_api_store_the_same_answer(study: Study, ada: Script) -> None:
    start = TEXT.index(QUOTE)
    by_page, by_api = study.assignment(study.ben), study.assignment(study.ada)
    form = answers("yes", "no", "invalid", quote=(QUOTE, start), comment="odd 🛶", seconds="9.5")
    assert client_of(study.ben).post(page("submit", by_page), form).status_code == 200
    sent = body("yes", "no", "invalid", comment="odd 🛶", seconds=9.5)
    assert ada.post(place(by_api, "response/"), sent).status_code == 201
    first, second = (Response.objects.get(assignment=a) for a in (by_page, by_api))
    assert (first.payload, first.comment) == (second.payload, second.comment)
    assert (first.door, second.door) == ("page", "api")
    assert _labels(first) == _labels(second)
    assert _spans(first) == _spans(second) == [("report", start, start + len(QUOTE), QUOTE)]
    by_page.refresh_from_db()
    by_api.refresh_from_db()
    assert by_page.seconds == by_api.seconds == 9.5


def _labels(response: Response) -> list[tuple[str, str, str]]:
    return sorted(response.labels.values_list("unit__name", "variable", "value"))


def _spans(response: Response) -> list[tuple[Any, ...]]:
    spans = Span.objects.filter(label__response=response)
    return list(spans.values_list("field", "start", "end", "quote"))


def test_an_answer_is_read_back_as_it_was_sent(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    assert ada.get(place(mine, "response/")).status_code == 404
    sent = body("yes", "no", "no", comment="שלום\r\n🌉")
    ada.put(place(mine, "response/"), sent)
    read = ada.get(place(mine, "response/"))
    assert read["ETag"] == '"1"'
    assert {name: read.json()[name] for name in ("units", "comment")} == sent
    assert read.json()["current"] is True


@pytest.mark.postgresql
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_save_sent_twice_with_the_same_key_is_stored_once(
    study: Study, ada: Script, method: str
) -> None:
    mine, headers = study.assignment(study.ada), {"Idempotency-Key": str(uuid.uuid4())}
    answer = [
        ada.send(method, place(mine, "response/"), body("no", "no", "no"), headers)
        for _ in range(2)
    ]
    assert [a.status_code for a in answer] == [201, 200]
    assert [a.json()["revision"] for a in answer] == [1, 1]
    assert Response.objects.count() == 1


def test_repeating_an_old_save_changes_no_later_answer(study: Study, ada: Script) -> None:
    mine, key = study.assignment(study.ada), {"Idempotency-Key": "first"}
    ada.put(place(mine, "response/"), body("no", "no", "no"), **key)
    ada.put(place(mine, "response/"), body("invalid", "no", "no", revision=1))
    Draft.objects.create(assignment=mine, payload=payload("yes"))
    late = ada.put(place(mine, "response/"), body("no", "no", "no"), **key)
    assert late.status_code == 200
    assert (late.json()["revision"], late.json()["current"]) == (1, False)
    assert mine.responses.get(current=True).revision == 2
    assert Draft.objects.exists()


def test_the_same_key_with_another_answer_is_refused(study: Study, ada: Script) -> None:
    mine, key = study.assignment(study.ada), {"Idempotency-Key": "mine"}
    ada.put(place(mine, "response/"), body("no", "no", "no"), **key)
    again = ada.put(place(mine, "response/"), body("no", "no", "invalid"), **key)
    (problem,) = assert_error(again, 422)
    assert problem["field"] == "Idempotency-Key"
    assert Response.objects.get().payload["units"]["q:2"]["answerable"] == "no"


@pytest.mark.every_case
@pytest.mark.parametrize("key", ["", "x" * 65, "a b", "é"])
def test_an_invalid_key_is_refused(study: Study, ada: Script, key: str) -> None:
    mine = study.assignment(study.ada)
    assert_error(
        ada.put(place(mine, "response/"), body("no", "no", "no"), Idempotency_Key=key), 400
    )
    assert not Response.objects.exists()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("headers", "more"),
    [({}, {}), ({}, {"revision": 0}), ({"If-Match": '"7"'}, {}), ({"If-Match": '"0"'}, {})],
)
def test_a_save_based_on_an_older_revision_is_a_conflict_with_the_current_answer(
    study: Study, ada: Script, headers: dict[str, str], more: dict[str, Any]
) -> None:
    mine = study.assignment(study.ada)
    ada.put(place(mine, "response/"), body("no", "no", "no", comment="first"))
    late = ada.put(place(mine, "response/"), body("invalid", "no", "no", **more), **headers)
    assert_error(late, 409)
    current = late.json()["current"]
    assert (current["revision"], current["draft"], current["comment"]) == (1, 0, "first")
    assert current["units"]["q:0"]["answerable"] == "no"
    assert Response.objects.count() == 1


@pytest.mark.parametrize(
    ("headers", "more"),
    [({}, {"revision": 1}), ({"If-Match": '"1"'}, {}), ({"If-Match": 'W/"1"'}, {"revision": 1})],
)
def test_a_save_based_on_the_current_revision_creates_the_next_one(
    study: Study, ada: Script, headers: dict[str, str], more: dict[str, Any]
) -> None:
    mine = study.assignment(study.ada)
    ada.put(place(mine, "response/"), body("no", "no", "no"))
    sent = ada.put(place(mine, "response/"), body("invalid", "no", "no", **more), **headers)
    assert (sent.status_code, sent.json()["revision"], sent["ETag"]) == (201, 2, '"2"')
    (listed,) = ada.get("assignments/?status=done").json()["results"]
    assert listed["revision"] == 2
    assert list(mine.responses.order_by("revision").values_list("current", flat=True)) == [
        False,
        True,
    ]


@pytest.mark.every_case
@pytest.mark.parametrize("match", ["1", "*", '"x"', '"1", "2"', '"9999999999"'])
def test_an_if_match_header_that_is_not_a_revision_is_refused(
    study: Study, ada: Script, match: str
) -> None:
    mine = study.assignment(study.ada)
    assert_error(ada.put(place(mine, "response/"), body("no", "no", "no"), If_Match=match), 400)


def test_if_match_and_revision_that_contradict_each_other_are_refused(
    study: Study, ada: Script
) -> None:
    mine = study.assignment(study.ada)
    sent = body("no", "no", "no", revision=2)
    assert_error(ada.put(place(mine, "response/"), sent, If_Match='"1"'), 400)


def test_sending_the_current_answer_again_is_accepted(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    codes = [
        ada.put(place(mine, "response/"), body("no", "no", "no")).status_code for _ in range(2)
    ]
    assert codes == [201, 200]


def test_a_draft_from_the_page_is_not_overwritten_unseen(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    form = answers("invalid", None, None, version=0)
    client_of(study.ada).post(page("draft", mine), form)
    late = ada.put(place(mine, "response/"), body("no", "no", "no"))
    assert_error(late, 409)
    assert late.json()["current"]["draft"] == 1
    item = ada.get(place(mine)).json()
    assert item["draft"]["units"]["q:0"]["answerable"] == "invalid"
    seen = ada.put(place(mine, "response/"), body("no", "no", "no", draft=1))
    assert seen.status_code == 201
    assert not Draft.objects.exists()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("units", "unit", "field"),
    [
        ({}, "q:0", None),
        (body("yes", "no", "no")["units"] | {"q:9": {}}, "q:9", None),
        (body("maybe", "no", "no")["units"], "q:0", "answerable"),
        ({**body("no", "no", "no")["units"], "q:1": {"answerable": "no"}}, "q:1", "evidence"),
        (
            {**body("no", "no", "no")["units"], "q:1": {"answerable": True, "evidence": []}},
            "q:1",
            "answerable",
        ),
        (body("yes", "no", "no", quote=("harbour", 19))["units"], "q:0", "evidence"),
        (body("yes", "no", "no", quote=("harbour", -1))["units"], "q:0", "evidence"),
        (body("yes", "no", "no", quote=("harbour", 10**30))["units"], "q:0", "evidence"),
    ],
)
def test_the_error_for_a_refused_answer_names_unit_and_field_and_keeps_the_draft(
    study: Study, ada: Script, units: dict[str, Any], unit: str, field: str | None
) -> None:
    mine = study.assignment(study.ada)
    Draft.objects.create(assignment=mine, payload=payload("yes"))
    problems = assert_error(ada.put(place(mine, "response/"), {"units": units, "draft": 1}), 422)
    assert (unit, field) in {(p["unit"], p["field"]) for p in problems}
    assert Draft.objects.exists()
    assert not Response.objects.exists()


def test_the_api_answers_in_english_and_codes_whatever_the_accounts_language(
    study: Study, ada: Script
) -> None:
    client_of(study.ada).post("/account/language/", {"language": "de"})
    answer = body("yes") | {"units": {"q:0": {"evidence": [], "answerable": "maybe"}}}
    refused = ada.put(place(study.assignment(study.ada), "response/"), answer, Accept_Language="de")
    assert "'maybe' is not a code; give one of yes, no, invalid" in refused.content.decode()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"rater": 1}, "rater"),
        ({"current": True}, "current"),
        ({"door": "import"}, "door"),
        ({"status": "done"}, "status"),
        ({"revision": -1}, "revision"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": 10**9}, "seconds"),
        ({"seconds": True}, "seconds"),
        ({"units": []}, "units"),
        ({"units": {"q:0": "no"}}, "units.q:0"),
    ],
)
def test_a_read_only_or_invalid_field_is_refused_by_name(
    study: Study, ada: Script, more: dict[str, Any], field: str
) -> None:
    mine = study.assignment(study.ada)
    sent = ada.put(place(mine, "response/"), body("no", "no", "no") | more)
    assert field in {problem["field"] for problem in assert_error(sent, 400)}
    assert not Response.objects.exists()
