"""Answers as a stream of events: each text in parts, under the protocol's names of the events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

JSON = dict[str, Any]
DONE = "data: [DONE]\n\n"


def events_of(answered: JSON) -> list[str]:
    """Return the events of an answer in any of the protocols."""
    if "choices" in answered:
        return [": PROCESSING\n\n", *map(_event, _chunks(answered)), DONE]
    if "output" in answered:
        return [_named(event) for event in _response_events(answered)]
    return [_named(event) for event in _message_events(answered)]


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _named(data: JSON) -> str:
    return f"event: {data['type']}\r\ndata: {json.dumps(data)}\r\n\r\n"


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _chunks(answered: JSON) -> Iterator[JSON]:
    choice, model = answered["choices"][0], answered.get("model")
    message = choice["message"]
    yield {"model": model, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
    for name in ("reasoning_content", "content"):
        for half in _halves(message.get(name) or ""):
            yield {"model": model, "choices": [{"index": 0, "delta": {name: half}}]}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {"model": model, "choices": [end | {"logprobs": choice.get("logprobs")}]}
    yield {"model": model, "choices": [], "usage": answered.get("usage")}


def _response_events(answered: JSON) -> Iterator[JSON]:
    yield {"type": "response.created", "response": {"status": "in_progress", "output": []}}
    for item in answered["output"]:
        yield {"type": "response.output_item.done", "item": item}
    yield {"type": "response.completed", "response": answered | {"output": []}}


def _message_events(answered: JSON) -> Iterator[JSON]:
    usage = answered["usage"]
    start = answered | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    kinds = {"tool_use": "input", "text": "text", "thinking": "thinking"}
    for index, block in enumerate(answered["content"]):
        name = kinds[block["type"]]
        empty = {} if name == "input" else ""
        yield {
            "type": "content_block_start",
            "index": index,
            "content_block": {**block, name: empty},
        }
        whole = json.dumps(block["input"]) if name == "input" else block[name]
        part = "partial_json" if name == "input" else name
        for half in _halves(whole):
            yield {"type": "content_block_delta", "index": index, "delta": {part: half}}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": answered["stop_reason"], "stop_sequence": None}
    out = {"output_tokens": usage["output_tokens"]}
    yield {"type": "message_delta", "delta": ended, "usage": out}
    yield {"type": "message_stop"}
