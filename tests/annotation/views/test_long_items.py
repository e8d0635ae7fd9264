"""What shows a long item is left to a web process in which nobody saves, if there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from annotation import long_items
from annotation.long_items import MOST_CHARACTERS, MOST_UNITS
from annotation.models import Item, Look
from datasets.elsewhere import MAY_LEAVE, LeftResponse
from tests.annotation.adjudication.cast import make_dispute
from tests.api.cast import script_of
from tests.page_cast import Study, client_of, study_of

pytestmark = pytest.mark.django_db

ELSEWHERE: dict[str, Any] = {MAY_LEAVE: True}
WORDS = "It opened again. "
LONG = WORDS * (MOST_CHARACTERS // len(WORDS) + 1)
KINDS: dict[str, tuple[str, int, bool]] = {
    "a short item": (WORDS, 1, False),
    "a text of many words": (LONG, 1, True),
    "a text without blanks": ("橋" * (MOST_CHARACTERS + 1), 1, True),
    "many units": (WORDS, MOST_UNITS + 1, True),
}


def study_with(folder: Path, text: str, units: int) -> Study:
    line: dict[str, Any] = {
        "id": "q",
        "text": "What?",
        "questions": [{"id": f"s{n}", "text": f"Is it {n}?"} for n in range(units)],
        "reports": [{"id": "r", "system": "x", "text": text}],
    }
    return study_of("report-coverage", folder, lines=[line])


def is_left(response: object) -> bool:
    return isinstance(response, LeftResponse)


@pytest.mark.parametrize(("text", "units", "long"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("counted", [True, False], ids=["words counted", "not counted"])
def test_a_long_item_is_left_to_others(
    tmp_path: Path, text: str, units: int, long: bool, counted: bool
) -> None:
    study = study_with(tmp_path, text, units)
    if not counted:
        Item.objects.update(words=None)
    uid = study.assignment(study.ada).uid
    page, client = reverse("item", args=[uid]), client_of(study.ada)
    assert is_left(client.get(page, **ELSEWHERE)) is long
    assert client.get(page).status_code == 200
    script = script_of(study.ada)
    client, headers = script.client, {"Authorization": f"Token {script.token}"}
    address = f"/api/v1/assignments/{uid}/"
    assert is_left(client.get(address, headers=headers, **ELSEWHERE)) is long
    assert client.get(address, headers=headers).status_code == 200


@pytest.mark.parametrize("part", ["draft", "submit", "progress", "guideline"])
def test_a_save_of_a_long_item_and_its_small_parts_are_not_left(tmp_path: Path, part: str) -> None:
    study = study_with(tmp_path, LONG, 1)
    address, client = reverse(part, args=[study.assignment(study.ada).uid]), client_of(study.ada)
    send = client.post if part in ("draft", "submit") else client.get
    assert not is_left(send(address, **ELSEWHERE))


def test_somebody_elses_long_item_is_refused_and_not_left(tmp_path: Path) -> None:
    study = study_with(tmp_path, LONG, 1)
    address = reverse("item", args=[study.assignment(study.ada).uid])
    assert client_of(study.ben).get(address, **ELSEWHERE).status_code == 404


def test_a_left_request_is_logged_only_where_it_is_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = study_with(tmp_path, LONG, 1)
    address, client = reverse("item", args=[study.assignment(study.ada).uid]), client_of(study.ada)
    with caplog.at_level("INFO", "tandem.requests"):
        client.get(address, **ELSEWHERE)
        assert not caplog.records
        client.get(address)
    assert [record.getMessage() for record in caplog.records] == ["request"]


def test_a_look_is_recorded_only_where_the_page_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_items, "MOST_CHARACTERS", 10)
    there = make_dispute()
    client = client_of(there.dora)
    address = reverse("adjudication-unit", args=[there.study.campaign.pk, there.units[0].pk])
    assert is_left(client.get(address, **ELSEWHERE))
    assert not Look.objects.exists()
    assert client.get(address).status_code == 200
    assert Look.objects.exists()
