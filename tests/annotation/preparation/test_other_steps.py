"""Ratings with quotes and merged points with their sources can be reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.models import Response, User
from judging.models import Judge, Review
from tests.annotation.preparation.cast import (
    FERRY,
    INQUIRY,
    TOPIC,
    Json,
    author,
    load,
    point,
    prepare,
)
from tests.annotation.preparation.test_pages import _sent, page_of

pytestmark = pytest.mark.django_db


def test_unchanged_ratings_and_merged_points_pass_the_review_form(
    tmp_path: Path, client: Client
) -> None:
    answers: Any = {
        "questions": [{"id": "q1", "text": "When?"}],
        "key_points": [
            {"id": "k1", "text": "It sank.", "passage": "d1"},
            {"id": "k2", "text": "It went down.", "passage": "d1"},
        ],
    }
    load(tmp_path, TOPIC | answers)
    client.force_login(User.objects.create_user("ada", role=User.Role.ADMIN))
    quote = {"quote": "on 3 march 1954", "start": None}
    rated = {"q1": {"evidence": [quote], "rating": "5"}}
    merged: Json = {"t1": {"repeats": "yes", "merged": [point("It sank.")]}}
    merged |= {k: {"placed": "yes", "matches": [1]} for k in ("k1", "k2")}
    prepare("ratings", "documents", author(), {FERRY: rated, INQUIRY: rated})
    prepare("merging", "documents", Judge.objects.get(), {"k1": merged})
    for each in Response.objects.all():
        sent = _sent(client.get(page_of(each)).context["units"])
        client.post(page_of(each), {**sent, "verdict": "accepted", "seen": ""})
    assert list(Review.objects.values_list("verdict", flat=True)) == ["accepted"] * 3
