"""Examples of an adjudicator's work for the API's description."""

from __future__ import annotations

from typing import Any

from annotation.api.examples import PRESENTED, QUESTION, UNITS
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of

ANSWER = UNITS["q1:1"]
REASON = "The year stands in the second sentence."
DISPUTE: dict[str, Any] = {
    "unit": 7,
    "query": PRESENTED["query"],
    "text": QUESTION.text,
    "splits": [{"variable": "answerable", "raters": [1, 1]}],
}
NEW: dict[str, Any] = {"answer": ANSWER, "reason": REASON, "revision": 0, "seconds": 30.0}
DECISION: dict[str, Any] = {
    "revision": 1,
    "current": True,
    "answer": ANSWER,
    "reason": REASON,
    "decided_at": "2026-11-22T09:31:00Z",
    "own": True,
}
CASE: dict[str, Any] = {
    "unit": 7,
    "query": PRESENTED["query"],
    "texts": PRESENTED["texts"],
    "at_issue": None,
    "beside": None,
    "kind": "question",
    "text": QUESTION.text,
    "variables": PRESENTED["units"][0]["variables"],
    "evidence": PRESENTED["units"][0]["evidence"],
    "answer_schema": schema_of(PROTOCOLS["report-coverage"]).unit_schema("question"),
    "raters": [
        {
            "name": "Rater A",
            "values": {"answerable": "yes"},
            "spans": [{"field": "report", "start": 3, "end": 17, "text": "opened in 1901"}],
            "comment": None,
        },
        {"name": "Rater B", "values": {"answerable": "no"}, "spans": [], "comment": None},
    ],
    "revision": 0,
    "decisions": [],
}
