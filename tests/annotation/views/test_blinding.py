"""Nothing that a page sends to the browser reveals whose answer is whose."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from annotation.campaigns.design import Design
from annotation.imports.importer import import_labels
from annotation.models import Assignment, Label, Rater, Response
from annotation.presentation import asked_units, present, schema
from tests.blind_cast import LINE, SECRET, blind_study, swapped_pair
from tests.cast import SHORT, write_lines
from tests.page_cast import Study, client_of, make_study, page, study_of
from tests.page_cast import answers as coverage

pytestmark = pytest.mark.django_db
BOTH = pytest.mark.parametrize("protocol", ["answer-rating", "answer-preference"])


def form(mine: Assignment, **more: Any) -> dict[str, Any]:
    """The form of the page with the last code of every variable."""
    asked = schema(mine.item.campaign)
    units = asked_units(mine, present(mine.item)).values()
    fields: dict[str, Any] = dict(more)
    for number, unit in enumerate(units):
        fields[f"unit-{number}"] = f"u{number}"
        for variable in asked.variables_of(unit.kind):
            fields[f"unit-{number}-{variable.name}"] = variable.codes[-1]
    return fields


@pytest.mark.first_case
@BOTH
def test_nothing_sent_to_the_browser_names_a_system(protocol: str, tmp_path: Path) -> None:
    study = blind_study(protocol, tmp_path)
    mine, client = study.assignment(study.ada), client_of(study.ada)
    first = form(mine, version=0, seen=0)
    other = {**form(mine, version=0, seen=0), "comment": "mine"}
    short = {key: value for key, value in first.items() if key != "unit-0"}
    bodies = [client.get(page("item", mine)).content]
    answers = [
        client.post(page("draft", mine), {**short, "unit-0": f"{SECRET}-a/1"}),
        client.post(page("draft", mine), first),
        client.post(page("draft", mine), other),
        client.post(page("submit", mine), {"unit-0": "u0", "version": 1, "seen": 0}),
        client.post(page("submit", mine), {**first, "version": 1}),
        client.post(page("submit", mine), {**other, "version": 0}),
    ]
    assert [answer.status_code for answer in answers] == [422, 200, 409, 422, 200, 409]
    bodies += [answer.content for answer in answers[1:]]
    bodies += [client.get(address).content for address in (page("item", mine), "/tasks/")]
    for body in bodies:
        assert SECRET not in html.unescape(body.decode())


@pytest.mark.first_case
@BOTH
def test_answers_given_by_number_are_stored_under_the_units_names(
    protocol: str, tmp_path: Path
) -> None:
    study = blind_study(protocol, tmp_path)
    mine = study.assignment(study.ada)
    sent = client_of(study.ada).post(page("submit", mine), form(mine, version=0, seen=0))
    assert sent.status_code == 200
    assert set(Response.objects.get().payload["units"]) == set(mine.asked)
    names = set(Label.objects.values_list("unit__name", flat=True))
    assert names == set(mine.asked)


def test_each_number_refers_to_the_unit_at_its_position(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "appropriate")
    mine, client = study.assignment(study.ada), client_of(study.ada)
    fields: dict[str, Any] = {"version": 0, "seen": 0}
    for number, place in enumerate((2, 0, 1)):
        fields |= {f"unit-{number}": f"u{place}", f"unit-{number}-appropriate": str(place + 1)}
    client.post(page("submit", mine), fields)
    stored = dict(Label.objects.values_list("unit__name", "value"))
    assert stored == {name: str(n) for n, name in enumerate(mine.asked, start=1)}
    shown = client.get(page("item", mine)).content.decode()
    assert re.findall(r'name="unit-(\d)-appropriate" value="(\d)" checked', shown) == [
        ("0", "1"),
        ("1", "2"),
        ("2", "3"),
    ]


def test_a_form_that_names_a_unit_by_its_id_is_refused(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "appropriate")
    mine = study.assignment(study.ada)
    fields = {"unit-0": mine.asked[0], "unit-0-appropriate": "1", "version": 0, "seen": 0}
    answer = client_of(study.ada).post(page("draft", mine), fields)
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["message"] == "was not asked"


@pytest.mark.first_case
@pytest.mark.parametrize("times", [1, 2])
def test_a_guessed_id_is_refused_like_an_unknown_one(tmp_path: Path, times: int) -> None:
    study = blind_study("answer-rating", tmp_path, "appropriate")
    mine, client = study.assignment(study.ada), client_of(study.ada)
    replies = []
    for name in (mine.asked[0], "no-system-at-all"):
        fields = {f"unit-{n}": name for n in range(times)}
        sent = {**fields, "unit-0-appropriate": "1", "version": 0, "seen": 0}
        replies.append([client.post(page(to, mine), sent).json() for to in ("draft", "submit")])
    assert replies[0] == replies[1]


def test_a_problem_is_named_as_the_page_names_its_unit(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "appropriate")
    mine = study.assignment(study.ada)
    fields = {**form(mine, version=0, seen=0), "unit-1-appropriate": "9"}
    problems = client_of(study.ada).post(page("submit", mine), fields).json()["problems"]
    assert [problem["unit"] for problem in problems] == ["u1"]


def test_a_conflict_shows_both_versions_by_number(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "appropriate")
    mine, client = study.assignment(study.ada), client_of(study.ada)
    client.post(page("draft", mine), form(mine, version=0, seen=0))
    later = {**form(mine, version=0, seen=0), "unit-2-appropriate": "1"}
    body = client.post(page("draft", mine), later).json()
    assert body["mine"]["units"]["u2"] == {"appropriate": "1"}
    assert body["theirs"]["units"]["u2"] == {"appropriate": "4"}


@pytest.mark.every_case
@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize("code", ["first", "second", "tie-good", "tie-bad"])
def test_the_code_first_means_the_answer_shown_first(code: str, yes: bool, tmp_path: Path) -> None:
    study = blind_study("answer-preference", tmp_path, reports=2)
    mine, client = swapped_pair(study, study.ada, yes), client_of(study.ada)
    sent = {"unit-0": "u0", "unit-0-preferred": code, "version": 0, "seen": 0}
    client.post(page("draft", mine), sent)
    drafted = client.get(page("item", mine)).content.decode()
    client.post(page("submit", mine), {**sent, "version": 1})
    other = {"first": "second", "second": "first"}.get(code, code)
    assert Label.objects.get().value == (other if yes else code)
    for body in (drafted, client.get(page("item", mine)).content.decode()):
        assert re.findall(r'value="([a-z-]+)" checked', body) == [code]


def test_a_conflict_about_a_swapped_pair_uses_the_codes_of_the_page(tmp_path: Path) -> None:
    study = blind_study("answer-preference", tmp_path, reports=2)
    mine, client = swapped_pair(study, study.ada, True), client_of(study.ada)
    sent = {"unit-0": "u0", "unit-0-preferred": "first", "version": 0, "seen": 0}
    client.post(page("draft", mine), sent)
    body = client.post(page("draft", mine), {**sent, "unit-0-preferred": "tie-bad"}).json()
    assert body["theirs"]["units"] == {"u0": {"preferred": "first"}}
    assert body["mine"]["units"] == {"u0": {"preferred": "tie-bad"}}


def test_a_judges_label_quotes_an_answer_by_its_number(tmp_path: Path) -> None:
    report = f"{SECRET}-b#1"
    quote = {"field": f"report:{report}", "text": SHORT[:4], "start": 0, "end": 4}
    row = {"item": "q/1", "unit": report, "variable": "appropriate", "value": "2", "rater": "Judy"}
    Rater.objects.create(name="Judy", kind=Rater.Kind.JUDGE)
    design = Design(variables=("appropriate",), seed=5, validates="Judy")
    study = study_of("answer-rating", tmp_path, design, [LINE])
    path = write_lines(tmp_path / "l.jsonl", [{**row, "rater_kind": "judge", "spans": [quote]}])
    import_labels([path], study.campaign, None, None)
    mine = study.assignment(study.ada)
    body = html.unescape(client_of(study.ada).get(page("item", mine)).content.decode())
    answers = [field for field in mine.shown if field.startswith("report:")]
    assert f'data-in="answer-{answers.index(quote["field"]) + 1}"' in body
    assert SECRET not in body


def test_units_without_a_secret_keep_their_names() -> None:
    study: Study = make_study()
    mine, client = study.assignment(study.ada), client_of(study.ada)
    assert client.post(page("draft", mine), coverage("no", version=0)).status_code == 200
    assert 'name="unit-0" value="q:0"' in client.get(page("item", mine)).content.decode()
