"""Where a page hides which system wrote a text, the API hides it too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.answers.drafts import save_draft
from annotation.models import Assignment, Label, Response
from annotation.presentation import asked_units, present, schema
from tests.api.cast import assert_error, place, script_of
from tests.blind_cast import SECRET, TEXTS, blind_study, swapped_pair

pytestmark = pytest.mark.django_db
BOTH = pytest.mark.parametrize("protocol", ["answer-rating", "answer-preference"])


def units(mine: Assignment, code: int = -1) -> dict[str, Any]:
    """Return a complete answer: one code for each variable, units named as on the page."""
    asked, named = schema(mine.item.campaign), asked_units(mine, present(mine.item)).values()
    return {
        f"u{n}": {v.name: v.codes[code] for v in asked.variables_of(unit.kind)}
        for n, unit in enumerate(named)
    }


@BOTH
def test_no_answer_of_the_api_names_a_system(protocol: str, tmp_path: Path) -> None:
    study = blind_study(protocol, tmp_path)
    ada, campaign = script_of(study.ada), study.campaign.pk
    item = ada.post(f"campaigns/{campaign}/next/")
    mine = Assignment.objects.get(uid=item.json()["uid"])
    answer = place(mine, "response/")
    save_draft(mine, {"units": {name: {} for name in mine.asked}, "comment": "d"}, 0, 0)
    requests = [
        (item, 200),
        (ada.get(place(mine)), 200),
        (ada.put(answer, {"units": units(mine)}), 409),
        (ada.put(answer, {"units": {}, "draft": 1}), 422),
        (ada.put(answer, {"units": {"u0": {"odd": 1}}, "draft": 1}), 422),
        (ada.put(answer, {"units": units(mine), "draft": 1}), 201),
        (ada.put(answer, {"units": units(mine, 0)}), 409),
        (ada.get(answer), 200),
        (ada.get(place(mine)), 200),
        (ada.get("assignments/"), 200),
        (ada.get("campaigns/"), 200),
    ]
    assert [each.status_code for each, _ in requests] == [status for _, status in requests]
    for each, _ in requests:
        assert SECRET not in json.dumps(each.json(), ensure_ascii=False) + str(each.headers)


@BOTH
def test_answers_sent_under_aliases_are_stored_under_stored_names(
    protocol: str, tmp_path: Path
) -> None:
    study = blind_study(protocol, tmp_path)
    mine, ada = study.assignment(study.ada), script_of(study.ada)
    sent = units(mine)
    saved = ada.put(place(mine, "response/"), {"units": sent})
    assert saved.json()["units"] == sent
    assert ada.get(place(mine, "response/")).json()["units"] == sent
    assert ada.get(place(mine)).json()["response"]["units"] == sent
    assert set(Response.objects.get().payload["units"]) == set(mine.asked)


def test_each_alias_number_is_the_position_of_its_unit(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "appropriate")
    mine, ada = study.assignment(study.ada), script_of(study.ada)
    sent = {f"u{n}": {"appropriate": str(n + 1)} for n in (2, 0, 1)}
    ada.put(place(mine, "response/"), {"units": sent})
    stored = dict(Label.objects.values_list("unit__name", "value"))
    assert stored == {name: str(n) for n, name in enumerate(mine.asked, start=1)}


def test_guessing_a_stored_name_does_not_reveal_whether_it_exists(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "appropriate")
    mine, ada = study.assignment(study.ada), script_of(study.ada)
    errors = []
    for name in (mine.asked[0], "no-system-at-all"):
        sent = {**units(mine), name: {"appropriate": "1"}}
        del sent["u0"]
        errors.append(assert_error(ada.put(place(mine, "response/"), {"units": sent}), 422))
    assert errors[0] == errors[1]
    assert not Response.objects.exists()


@pytest.mark.parametrize("yes", [True, False])
def test_first_means_the_answer_that_is_shown_first(yes: bool, tmp_path: Path) -> None:
    study = blind_study("answer-preference", tmp_path, reports=2)
    mine, ada = swapped_pair(study, study.ada, yes), script_of(study.ada)
    texts = ada.get(place(mine)).json()["texts"]
    shown = list(TEXTS.values())[:2]
    assert [text["text"] for text in texts] == (shown[::-1] if yes else shown)
    assert [text["field"] for text in texts] == ["answer-1", "answer-2"]
    saved = ada.put(place(mine, "response/"), {"units": {"u0": {"preferred": "first"}}})
    assert saved.json()["units"] == {"u0": {"preferred": "first"}}
    assert Label.objects.get().value == ("second" if yes else "first")


@BOTH
def test_a_save_sent_twice_is_stored_once(protocol: str, tmp_path: Path) -> None:
    study = blind_study(protocol, tmp_path)
    mine, ada = study.assignment(study.ada), script_of(study.ada)
    sent = {"units": units(mine)}
    answers = [ada.put(place(mine, "response/"), sent, Idempotency_Key="k") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert Response.objects.count() == 1
