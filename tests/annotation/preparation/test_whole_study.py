"""Preparation leads from documents and references to a batch to judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Label
from datasets.material import batch_rows
from datasets.models import Batch
from judging.backends.base import Answer
from judging.models import JudgeCall
from tandem.files.rows import Query
from tests.annotation.preparation.cast import (
    EMPTY,
    FERRY,
    INQUIRY,
    REPORT,
    TOPIC,
    Json,
    author,
    load,
    point,
    prepare,
    researcher,
)
from tests.judging.answers.test_logprobs import logprobs_of
from tests.judging.cast import command

pytestmark = pytest.mark.django_db

LOST = "The ferry Aurora sank on 3 March 1954 off Tarn with 61 people aboard."
FOUND = "An inquiry found that the bow door of the Aurora stood open."


def scored(name: str, share: float) -> Answer:
    """A yes or no of one key point with the probability of yes."""
    code = "yes" if share >= 0.5 else "no"
    before, after = f'{{"{name}":{{"is_key":"', '"}}'
    shares = {code: max(share, 1 - share), "no" if code == "yes" else "yes": min(share, 1 - share)}
    return Answer(before + code + after, logprobs=logprobs_of(before, (code, shares), after))


def rated(*ratings: int) -> Json:
    return {f"t1:q{n}": {"evidence": [], "rating": str(r)} for n, r in enumerate(ratings, 1)}


def points(passage: str, *found: Json) -> Json:
    return {f"t1/{passage}": {"holds_points": "yes", "points": list(found)}}


def passages(document: str, *found: Json) -> Json:
    return {f"t1/{document}": {"holds_passages": "yes", "passages": list(found)}}


REQUEST = {
    "usable": "yes",
    "request": {"text": "Report on the loss of the Aurora.", "citations": []},
    "questions": [
        point("When did the Aurora sink?", "sank in 1954"),
        point("How many people were aboard the Aurora?", "Sixty-one people were aboard"),
        point("Why did the Aurora sink?", "its bow door was open"),
    ],
}
NO_REQUEST = {"usable": "no", "request": None, "questions": None}
MET = dict.fromkeys(("clear", "open_ended", "sourced", "sound", "harmless"), "yes")
MERGED: Json = {
    "t1": {"repeats": "yes", "merged": [point("It sank in March 1954."), point("Channel")]},
    "t1:k1": {"placed": "yes", "matches": [1]},
    "t1:k2": {"placed": "yes", "matches": [1]},
    "t1:k3": {"placed": "yes", "matches": [2]},
}
WRITTEN: dict[str, dict[str, Any]] = {
    "request": {REPORT: {"t1": REQUEST}, "Home |": {"t2": NO_REQUEST}},
    "questions": {"Report on": {"t1": {**MET, "kind": "causal", "category": "history"}}},
    "passages": {
        FERRY: passages("d1", point(LOST, "It carried 61")),
        INQUIRY: passages("d2", point(FOUND, "nine weeks")),
    },
    "ratings": {LOST: rated(5, 2, 0), FOUND: rated(0, 0, 4)},
    "key-points": {
        LOST: points(
            "t1/d1#1", point("The Aurora sank in 1954.", "1954"), point("It was March.", "3 March")
        ),
        FOUND: points(
            "t1/d2#1", point("The bow door stood open.", "bow door of the Aurora stood open")
        ),
    },
    "merging": {"t1:k1": MERGED},
    "scoring": {LOST: scored("t1:m1", 0.95), FOUND: scored("t1:m2", 0.2)},
}
"""What the author answers in each step, by a word that stands in the request."""


def walked(folder: Path) -> Query:
    """Carry out and review all steps; return the only one of two queries that remains."""
    batch = load(folder, TOPIC, EMPTY).name
    rosa, writer = researcher().username, author()
    for step, answers in WRITTEN.items():
        of = ("--step", step, "--batch", batch)
        assert prepare(step, batch, writer, answers).failures == {}
        command("review_batch", *of, "--accept", "--by", rosa)
        command("build_batch", *of, "--name", (batch := f"after {step}"))
    file = str(folder / "ready.jsonl")
    of = ("--step", "sentences", "--batch", batch)
    command("build_batch", *of, "--name", "ready", "--output", file)
    (query,) = batch_rows(Batch.objects.get(name="ready"))
    return query


def test_a_batch_is_prepared_from_documents_to_scored_key_points(tmp_path: Path) -> None:
    query = walked(tmp_path)
    assert query.text == "Report on the loss of the Aurora."
    assert [q.id for q in query.questions] == ["t1:q1", "t1:q3"]
    assert [(p.id, p.relevant) for p in query.passages] == [("t1/d1#1", True), ("t1/d2#1", True)]
    (kept,) = query.key_points
    assert (kept.text, kept.spans) == ("It sank in March 1954.", ("1954", "3 March"))
    assert kept.score == pytest.approx(0.95)
    assert set((kept.meta or {})["prepared"]) == {"key-points", "merging", "scoring"}
    assert next(s.strip() for s in query.reports[0].sentences or ()) == "It sank."
    assert set((query.meta or {})["prepared"]) == {"request", "questions"}
    assert JudgeCall.objects.filter(state="answered").count() == Assignment.objects.count() == 12
    assert Label.objects.filter(variable="rating").count() == 6


def test_merged_key_points_become_a_nugget_bank_that_says_who_wrote_it(tmp_path: Path) -> None:
    walked(tmp_path)
    command("derive_batch", "bank", "--batch", "after merging", "--rule", "nugget-bank")
    (query,) = batch_rows(Batch.objects.get(name="bank"))
    assert [(nugget.id, nugget.text, nugget.sources) for nugget in query.nuggets] == [
        ("t1:m1", "It sank in March 1954.", ("t1/d1#1",)),
        ("t1:m2", "Channel", ("t1/d2#1",)),
    ]
    for nugget in query.nuggets:
        assert (nugget.meta or {})["prepared"]["merging"]["verdict"] == "accepted"
        assert set((nugget.meta or {})["prepared"]) == {"key-points", "merging"}


def test_the_prepared_file_can_be_loaded_as_another_batch(tmp_path: Path) -> None:
    walked(tmp_path)
    again = command("load_batch", str(tmp_path / "ready.jsonl"), "--name", "elsewhere")
    assert "Loaded batch 'elsewhere' (native): 1 queries" in again
    assert "Warning" not in again
