"""TREC's scores of nuggets and citations, from a protocol in a file to figures worked by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import value
from tests.cast import write_lines

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
FILE = """
name = "nuggets-and-citations"
version = "1"
title = "Nuggets and citations"

[item]
each = "report"
shows = ["report", "cited"]

[[variable]]
name = "assignment"
unit = "report-nugget"
question = "Does the report state the nugget?"
codes = ["none", "partial", "support"]
level = "ordinal"

[[variable]]
name = "support"
unit = "sentence-citation"
question = "Does the passage support the sentence?"
codes = ["none", "partial", "full"]
level = "ordinal"
escapes = ["cannot-tell"]

[[variable]]
name = "helpful"
unit = "report"
question = "How helpful is it?"
scale = { from = 0, to = 2, step = 1 }

[[measure]]
name = "a"
scores = { assignment = { partial = 0.5, support = 1 } }

[[measure]]
name = "v-strict"
scores = { assignment = { support = 1 } }
where = { importance = ["vital"] }

[[measure]]
name = "w"
scores = { assignment = { partial = 0.5, support = 1 } }
weight = { importance = { vital = 1, okay = 0.5 } }

[[measure]]
name = "precision"
scores = { support = { partial = 0.5, full = 1 } }

[[measure]]
name = "recall"
scores = { support = { partial = 0.5, full = 1 } }
denominator = "sentences"
over = "first-per-sentence"

[[measure]]
name = "helpfulness"
scores = { helpful = { 1 = 1, 2 = 2 } }

[guideline]
en = "Read the report."
"""
BATCH = {
    "id": "t",
    "text": "Who built it?",
    "passages": [{"id": "p", "text": "Ada did."}, {"id": "r", "text": "Bo paid."}],
    "nuggets": [
        {"id": "n1", "text": "Ada built it.", "importance": "vital"},
        {"id": "n2", "text": "Bo paid.", "importance": "vital"},
        {"id": "n3", "text": "It stands.", "importance": "okay"},
    ],
    "reports": [
        {
            "id": "one", "text": "Ada did. Bo paid. So it is. It stands.", "system": "s1",
            "sentences": ["Ada did.", "Bo paid.", "So it is.", "It stands."],
            "sentence_citations": [["p", "r"], ["r"], [], ["p"]],
        },
        {
            "id": "two", "text": "Nobody knows.", "system": "s2", "sentences": ["Nobody knows."],
            "sentence_citations": [[]],
        },
    ],
}  # fmt: skip


def labels() -> Iterator[JSON]:
    """Ada judges both reports, and the second cites nothing."""
    said = {
        "assignment": {
            "one/n1": "support", "one/n2": "partial", "one/n3": "support",
            "two/n1": "none", "two/n2": "none", "two/n3": "support",
        },
        "support": {"one#1/p": "partial", "one#1/r": "full", "one#2/r": "full",
                    "one#4/p": "cannot-tell"},
        "helpful": {"one": "2", "two": "1"},
    }  # fmt: skip
    for variable, units in said.items():
        for unit, code in units.items():
            yield {"item": unit[:3], "unit": unit, "variable": variable, "value": code,
                   "rater": "ada", "rater_kind": "human"}  # fmt: skip


def test_the_figures_are_those_worked_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(FILE, encoding="utf-8")
    run("protocol", "add", str(path))
    batch = write_lines(tmp_path / "b.jsonl", [BATCH])
    run("load_batch", str(batch), "--name", "b", "--format", "native")
    run("create_campaign", "c", "--protocol", "nuggets-and-citations", "--batch", "b",
        "--pool", "open")  # fmt: skip
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", labels())), "--campaign", "c")
    found = json.loads(run("measures", "--campaign", "c", "--resamples", "2"))["measures"]
    by_hand = {
        "a": (2.5 / 3, 1 / 3),
        "v-strict": (1 / 2, 0),
        "w": ((1.5 + 0.5) / 2.5, 0.5 / 2.5),
        # Of three citations judged, without the one that nobody could tell.
        "precision": (2.5 / 3, None),
        # Of three sentences: the first citations have .5 and 1, and one sentence has none.
        "recall": (1.5 / 3, 0),
        "helpfulness": (2, 1),
    }
    for name, (one, two) in by_hand.items():
        assert value(found[name], "s1") == pytest.approx(one), name
        assert value(found[name], "s2") == (None if two is None else pytest.approx(two)), name
    assert found["precision"]["reasons"]["people"] == {"two": "the report has no unit that counts"}
