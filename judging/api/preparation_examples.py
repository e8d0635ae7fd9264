"""Examples of preparation, for the description."""

from __future__ import annotations

from typing import Any

from datasets.api.batches import A_BATCH

A_STEP: dict[str, Any] = {
    "step": "key-points",
    "title": "Key points from passages",
    "asks": True,
    "thresholds": {},
    "campaign": 3,
    "hidden": False,
    "authors": [
        {
            "author": "author",
            "answers": {"accepted": 5, "changed": 1, "rejected": 0, "waiting": 2},
            "missing": {"unreadable": 1},
            "is_ready": False,
            "runs": [{"id": 7, "state": "done"}],
        }
    ],
}
PREPARED: dict[str, Any] = {
    "id": "7d0c6d0e-3a5b-4a53-9d0f-0f2f6a4d1c11",
    "item": "q1/p1",
    "query": "How was the bridge built?",
    "author": "author",
    "verdict": None,
    "note": "",
    "reviewed_by": None,
    "reviewed_at": None,
}
POINT = {
    "text": "The bridge opened in 1901.",
    "evidence": [{"quote": "opened in 1901", "start": None}],
}
ANSWER = {"q1/p1": {"holds_points": "yes", "points": [POINT]}}
WHOLE_PREPARED: dict[str, Any] = {
    **PREPARED,
    "step": "key-points",
    "texts": [
        {"field": "passage", "heading": "The bridge", "text": "The bridge opened in 1901. …"}
    ],
    "units": {"q1/p1": "The bridge"},
    "answer": ANSWER,
    "written": ANSWER,
    "problems": [],
    "answer_schema": {"type": "object", "properties": {"q1/p1": {"type": "object"}}},
}
A_REVIEW = {"verdict": "accepted", "note": "one is enough"}
REVIEWED = {
    **WHOLE_PREPARED,
    "verdict": "accepted",
    "note": "one is enough",
    "reviewed_by": "person-4f2a",
    "reviewed_at": "2026-11-20T09:30:00Z",
}
ACCEPTED = {"accepted": 7, "left": 1, "reviewed_before": 0}
NEW_BATCH: dict[str, Any] = {"name": "pointed", "author": "author"}
BUILT: dict[str, Any] = {
    "batch": {**A_BATCH, "id": 2, "name": "pointed"},
    "queries": 2,
    "left_out": [],
}
