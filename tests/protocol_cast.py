"""A small protocol in a file that uses all of its form, with a batch, and labels for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cast import Line, write_lines

NAME = "cited-claims"
TEXT = """\
name = "cited-claims"
version = "1"
title = "Cited claims"
summary = "Say how far each cited passage supports its sentence."

[item]
each = "report"
shows = ["report", "cited"]

[[variable]]
name = "support"
unit = "sentence-citation"
question = "Does the passage support the sentence?"
codes = ["none", "partial", "full"]
level = "ordinal"
words = { none = "Not at all" }
escapes = ["cannot-tell"]

[[variable]]
name = "faults"
unit = "report"
question = "What is wrong with the report?"
codes = ["wordy", "vague", "rude"]
several = true

[[variable]]
name = "use"
unit = "report"
question = "How useful is it?"
scale = { from = 0, to = 10, step = 2.5 }

[[evidence]]
variable = "support"
in = "sentence"
owed_if = ["full"]

[[evidence]]
variable = "support"
in = "passage"
owed_if = ["partial", "full"]

[written]
unit = "report"
question = "What would you add?"
asked_if = { faults = ["vague"] }

[[measure]]
name = "weighted-recall"
scores = { support = { partial = 0.5, full = 1 } }
over = "best-per-sentence"
denominator = "sentences"

[guideline]
file = "claims.md"
"""
GUIDELINE = "# Cited claims\n\nRead the sentence, then what it cites.\n"
BESIDE = {"claims.md": GUIDELINE}


def _query(number: int) -> Line:
    systems = ("plain", "wide")
    return {
        "id": f"q{number}",
        "text": f"Who built bridge {number}?",
        "passages": [
            {"id": "p", "text": "Ada built it. Bo paid for it."},
            {"id": "r", "text": "It opened late."},
        ],
        "reports": [
            {
                "id": f"{system}-{number}",
                "text": "Ada built it. It opened on time. Nobody paid.",
                "system": system,
                "sentences": ["Ada built it.", "It opened on time.", "Nobody paid."],
                "sentence_citations": [["p"], ["r", "p"], []],
            }
            for system in systems
        ],
    }


QUERIES = [_query(number) for number in range(1, 4)]


def write_protocol(folder: Path, text: str = TEXT, name: str = f"{NAME}.toml") -> Path:
    for part, content in BESIDE.items():
        (folder / part).write_text(content, "utf-8")
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def write_batch(folder: Path) -> Path:
    return write_lines(folder / "bridges.jsonl", QUERIES)


def labels_by(rater: str, shift: int = 0, **more: Any) -> Iterator[Line]:
    """Labels for each unit, which differ between raters with another `shift`."""
    turn = number = shift
    for query in QUERIES:
        for report in query["reports"]:
            number += 1
            shared = {"item": report["id"], "rater": rater, "protocol": NAME, **more}
            for n, cited in enumerate(report["sentence_citations"], start=1):
                for passage in cited:
                    turn += 1
                    unit = f"{report['id']}#{n}/{passage}"
                    yield shared | _support(unit, report["sentences"][n - 1], passage, turn)
            faults = json.dumps(["wordy", "rude"][: number % 3])
            of = {**shared, "unit": report["id"], "kind": "report"}
            yield of | {"variable": "faults", "value": faults}
            yield of | {"variable": "use", "value": ("0", "2.5", "10")[number % 3]}


def _support(unit: str, sentence: str, passage: str, turn: int) -> Line:
    value = ("none", "partial", "full", "full")[turn % 4]
    quoted = {"p": "Ada built it.", "r": "It opened late."}[passage]
    spans = [{"field": f"passage:{passage}", "text": quoted}] if value != "none" else []
    if value == "full":
        spans.append({"field": "report", "text": sentence})
    label = {"unit": unit, "kind": "sentence-citation", "variable": "support", "value": value}
    return label | ({"spans": spans} if spans else {})
