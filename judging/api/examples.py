"""Examples of judges, runs and calls, for the description."""

from __future__ import annotations

from typing import Any

NEW_JUDGE: dict[str, Any] = {
    "name": "small-judge",
    "backend": "openai",
    "model": "gpt-4.1-mini",
    "granularity": "item",
    "params": {"temperature": "0"},
}
A_JUDGE: dict[str, Any] = {
    "id": 1,
    "name": "small-judge",
    "backend": "openai",
    "model": "gpt-4.1-mini",
    "base_url": "https://api.openai.com/v1",
    "api_key_env": "OPENAI_API_KEY",
    "granularity": "item",
    "prompt_sha256": "",
    "params": {"temperature": 0.0},
    "base": None,
    "created_at": "2026-11-20T09:30:00Z",
}
WHOLE_JUDGE = {**A_JUDGE, "prompt": "", "variation": {}}
NEW_RUN: dict[str, Any] = {"judge": 1, "campaign": 1, "limit": 20}
A_RUN: dict[str, Any] = {
    "id": 1,
    "campaign": 1,
    "judge": 1,
    "judge_name": "small-judge",
    "state": "running",
    "wish": "",
    "limit": 20,
    "most_tokens": None,
    "most_cost": None,
    "concurrency": None,
    "reuse": "never",
    "done": 11,
    "failed": 1,
    "failures": {"unreadable": 1},
    "calls": 12,
    "reused": 0,
    "prompt_tokens": 14_210,
    "cached_tokens": 0,
    "completion_tokens": 2_480,
    "cost": "0.009652",
    "error": "",
    "started_at": "2026-11-20T09:31:00Z",
    "ended_at": None,
}
PROGRESS = {
    "word": "Running",
    "note": "",
    "open": 8,
    "closed": 12,
    "cancelled": 0,
    "rate": 1.5,
    "seconds_left": 5.3,
}
WHOLE_RUN = {**A_RUN, "progress": PROGRESS, "warnings": []}
A_CALL: dict[str, Any] = {
    "id": 1,
    "run": 1,
    "item": "r1",
    "unit": "",
    "replicate": 0,
    "attempt": 1,
    "state": "answered",
    "missing": None,
    "detail": "",
    "http_status": 200,
    "usage": {"prompt_tokens": 1184, "completion_tokens": 207},
    "cost": "0.000805",
    "repair": False,
    "reused_from": None,
    "sent_at": "2026-11-20T09:31:02Z",
    "seconds": 1.8,
}
WHOLE_CALL = {
    **A_CALL,
    "request_hash": "5d0f…",
    "completion": '{"units": {"q1:1": {"answerable": "yes"}}}',
    "body": "",
    "finish_reason": "stop",
    "model_returned": "gpt-4.1-mini-2025-04-14",
}
AN_ESTIMATE: dict[str, Any] = {
    "rows": 20,
    "missing": 20,
    "reused": 0,
    "calls": 20,
    "prompt_tokens": 23_680,
    "cached_tokens": 0,
    "completion_tokens": 4_140,
    "concurrency": 16,
    "cost": "0.016096",
    "seconds": None,
    "cost_unknown": "",
    "time_unknown": "how long it takes is unknown before the first answers",
    "notes": [],
    "sentence": "20 of 20 will be asked, about $0.02.",
}
A_TRY: dict[str, Any] = {
    "item": "r1",
    "asked": 4,
    "seconds": 1.8,
    "messages": [{"role": "user", "content": "Can these questions be answered from the report? …"}],
    "completion": '{"units": {"q1:1": {"answerable": "yes"}}}',
    "usage": {"prompt_tokens": 1184, "completion_tokens": 207},
    "cost": "0.000805",
    "labels": [{"unit": "q1:1", "values": {"answerable": "yes"}, "quotes": 1}],
    "problems": [],
    "state": "answered",
    "detail": "",
}
