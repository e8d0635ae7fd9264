"""Adjudicators quote a sentence and the passage that it cites, under the page's names of texts."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.campaigns.design import Design
from annotation.models import Assignment, Span, User
from annotation.people.membership import add_member
from tests.page_cast import client_of, study_of

pytestmark = pytest.mark.django_db

QUERY = {
    "id": "q",
    "text": "Who built it?",
    "passages": [
        {"id": "planted/1", "text": "It is of stone."},
        {"id": "planted/2", "text": "Ada built it in 1901."},
    ],
    "reports": [
        {
            "id": "planted-system",
            "text": "Ada built it. It stands.",
            "sentences": ["Ada built it.", "It stands."],
            "sentence_citations": [["planted/2"], []],
        }
    ],
}
UNIT = "planted-system#1/planted/2"


def give(assignment: Assignment, code: str, *quotes: dict[str, Any]) -> None:
    answer = {"support": code, "evidence": list(quotes)}
    submit(assignment, {"units": {UNIT: answer}, "comment": None}, "api")


def test_quotes_of_both_texts_are_decided_on_without_the_names_of_texts(tmp_path: Path) -> None:
    study = study_of("citation-support", tmp_path, Design(raters_per_item=2), [QUERY])
    quotes = (
        {"quote": "Ada built it", "start": 0, "field": "report"},
        {"quote": "Ada built it", "start": 0, "field": "passage:planted/2"},
    )
    give(study.assignment(study.ada), "partial", *quotes)
    give(study.assignment(study.ben), "none")
    dora = User.objects.create(username="dora", role="annotator")
    add_member(study.campaign, dora, "adjudicator")
    client, unit = client_of(dora), study.campaign.items.get().units.get()
    where = [study.campaign.pk, unit.pk]
    page = html.unescape(client.get(reverse("adjudication-unit", args=where)).content.decode())
    assert "planted" not in page
    cards = [json.loads(each) for each in re.findall(r'data-answer="(.*?)" data-name', page)]
    (copied,) = [each for each in cards if each["support"] == "partial"]
    assert [each["field"] for each in copied["evidence"]] == ["report", "passage:2"]
    name = re.search(r'name="unit-0" value="([^"]+)"', page)
    assert name
    form = {
        "unit-0": name[1],
        "unit-0-support": "partial",
        "unit-0-evidence": json.dumps(copied["evidence"]),
        "comment": "It says who.",
        "version": 0,
        "seen": 0,
    }
    sent = client.post(reverse("decide", args=where), form)
    assert sent.status_code == 200, sent.content
    decided = Span.objects.filter(label__response__assignment__rater__kind="reference")
    assert sorted(decided.values_list("field", flat=True)) == ["passage:planted/2", "report"]
    again = html.unescape(client.get(reverse("adjudication-unit", args=where)).content.decode())
    assert "planted" not in again
