"""Examples of a person's work for the API's description."""

from __future__ import annotations

from typing import Any

from annotation.protocols import PROTOCOLS
from annotation.protocols.base import UnitSpec
from annotation.protocols.schema import schema_of

UID = "2f1c8a4e-6d0b-4c1e-9a55-0c6f8f3b7e21"
QUESTION = UnitSpec("question", "q1:1", "When did it open?")
UNITS = {"q1:1": {"evidence": [{"quote": "opened in 1901", "start": 3}], "answerable": "yes"}}
ANSWER: dict[str, Any] = {"units": UNITS, "comment": None, "revision": 0, "seconds": 41.5}
GIVEN: dict[str, Any] = {
    "units": UNITS,
    "comment": None,
    "revision": 1,
    "current": True,
    "saved_at": "2026-11-20T09:31:00Z",
    "assisted_by": None,
}
SAVED: dict[str, Any] = {**GIVEN, "warnings": []}
LISTED: dict[str, Any] = {
    "uid": UID,
    "campaign": 1,
    "status": "done",
    "query": "How was the bridge built?",
    "revision": 1,
    "submitted_at": "2026-11-20T09:31:00Z",
    "has_draft": False,
    "assisted_by": None,
}
PRESENTED: dict[str, Any] = {
    "uid": UID,
    "campaign": 1,
    "protocol": "report-coverage",
    "title": "Does the report answer this question?",
    "is_open": True,
    "status": "open",
    "assisted_by": None,
    "query": "How was the bridge built?",
    "texts": [
        {
            "field": "report",
            "heading": "",
            "text": "It opened in 1901.",
            "facts": [],
            "suggested": [],
        }
    ],
    "units": [
        {
            "name": "q1:1",
            "text": QUESTION.text,
            "heading": "",
            "variables": [
                {
                    "name": "answerable",
                    "question": "Does the report answer this question?",
                    "codes": [
                        {"code": "yes", "word": "Yes"},
                        {"code": "no", "word": "No"},
                        {"code": "invalid", "word": "Invalid"},
                    ],
                    "asked_if": {},
                }
            ],
            "evidence": {
                "variable": "answerable",
                "field": "report",
                "owed_if": "yes",
                "several": False,
            },
            "written": None,
            "verdict": None,
            "listed": None,
            "matching": None,
        }
    ],
    "first_answer": None,
    "answer_schema": schema_of(PROTOCOLS["report-coverage"]).item_schema({"q1:1": QUESTION}),
    "seconds": None,
    "response": None,
    "draft": None,
}
