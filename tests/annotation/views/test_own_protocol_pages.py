"""The page of a team's protocol that shows several reports: nothing on it names a system."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.models import Span
from annotation.protocol_files import store
from datasets.models import only_team
from tandem.protocols.protocol_file import read_protocol
from tests.api.cast import script_of
from tests.page_cast import client_of, page, study_of

pytestmark = pytest.mark.django_db

BOTH = """
name = "both"
version = "1"
title = "Both"

[item]
each = "query"
shows = ["reports"]

[[variable]]
name = "answers"
unit = "question"
question = "Does one of them answer it?"
codes = ["yes", "no"]

[[evidence]]
variable = "answers"
in = "report"
owed_if = ["yes"]

[guideline]
en = "Read both."
"""
QUERY = {
    "id": "q",
    "text": "Who?",
    "questions": [{"id": "a", "text": "Who built it?"}],
    "reports": [
        {"id": "secret-model-1", "text": "Ada did.", "system": "secret-model"},
        {"id": "secret-model-2", "text": "Nobody knows.", "system": "secret-model"},
    ],
}


def test_no_text_is_named_by_its_report_and_quotes_come_back_to_theirs(tmp_path: Path) -> None:
    store(read_protocol(BOTH, "both.toml"), only_team())
    study = study_of("both", tmp_path, lines=[QUERY])
    mine, client = study.assignment(study.ada), client_of(study.ada)
    content = client.get(page("item", mine)).content.decode()
    assert "secret-model" not in content
    assert 'data-text="report:2"' in content

    quotes = [{"quote": "Nobody knows", "start": 0, "field": "report:2"}]
    form = {"unit-0": "a", "unit-0-answers": "yes", "unit-0-evidence": json.dumps(quotes)}
    saved = client.post(page("submit", mine), {**form, "version": 0, "seen": 0, "seconds": 3})
    assert saved.status_code == 200, saved.content
    assert Span.objects.get().field == "report:secret-model-2"

    again = client.get(page("item", mine)).content.decode()
    assert "secret-model" not in again
    assert "&quot;field&quot;: &quot;report:2&quot;" in again


def test_the_api_names_texts_as_pages_do(tmp_path: Path) -> None:
    store(read_protocol(BOTH, "both.toml"), only_team())
    study = study_of("both", tmp_path, lines=[QUERY])
    mine, ada = study.assignment(study.ada), script_of(study.ada)
    shown = ada.get(f"assignments/{mine.uid}/")
    assert [each["field"] for each in shown.json()["texts"]] == ["report:1", "report:2"]
    quote = {"quote": "Nobody knows", "start": 0, "field": "report:2"}
    units = {"a": {"answers": "yes", "evidence": [quote]}}
    sent = ada.put(f"assignments/{mine.uid}/response/", {"units": units})
    assert sent.status_code in (200, 201), sent.content
    assert Span.objects.get().field == "report:secret-model-2"
    again = ada.get(f"assignments/{mine.uid}/")
    assert "secret-model" not in again.content.decode()
    assert again.json()["response"]["units"]["a"]["evidence"] == [quote]
