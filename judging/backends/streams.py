"""Join the events of a server that streams its answer, although it was not asked to.

The result has the form of an answer in one piece. A protocol is recognised by its events: chat
completions send choices, responses and messages name the type of each event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from judging.backends.base import JSON, TransientError

_LINE_END = re.compile(r"\r\n|\n|\r")
_FIELDS = ("data:", "event:", "id:", "retry:", ":")
_LINES = ("ndjson", "jsonl", "json-lines", "stream+json")
_DONE = "[DONE]"
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
_FACTS = ("id", "model", "created", "system_fingerprint", "usage", "error")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
Decode = Callable[[str], Any]


def is_stream(content_type: str, text: str) -> bool:
    """Return whether a body is a stream of events, by its type or its beginning."""
    kind = content_type.lower()
    return text.lstrip().startswith(_FIELDS) or any(name in kind for name in _LINES)


def join_stream(text: str, decode: Decode) -> JSON:
    """Return the answer in the events of a stream. `decode` reads the JSON of an event.

    Raises TransientError if the stream has no events or ends too early.
    """
    done, events = False, []
    for data in _data(text):
        if data.strip() == _DONE:
            done = True
        elif isinstance(event := _read(data, decode), dict):
            events.append(event)
    if not events:
        raise TransientError("empty-body", "the server sent an event stream without an answer")
    kinds = [str(event.get("type") or "") for event in events]
    if any("choices" in event for event in events):
        return _join_choices(events, done)
    if any(kind.startswith("response.") for kind in kinds):
        return _join_response(events)
    if "message_start" in kinds:
        return _join_message(events)
    return events[-1]


def _data(text: str) -> Iterator[str]:
    """Yield the data of each event. In a stream of bare lines, each line is an event."""
    lines = _LINE_END.split(text)
    if not any(line.startswith(_FIELDS) for line in lines):
        yield from (line for line in lines if line.strip())
        return
    collected: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("data:"):
            collected.append(line.removeprefix("data:").removeprefix(" "))
        elif not line.strip() and collected:
            yield from _whole(collected)
            collected = []


def _whole(lines: list[str]) -> Iterator[str]:
    """Yield an event's lines as one, or each alone if no blank lines are between events."""
    alone = len(lines) > 1 and all(line.startswith(("{", _DONE)) for line in lines)
    yield from lines if alone else ["\n".join(lines)]


def _read(data: str, decode: Decode) -> Any:
    try:
        return decode(data) if data.strip() else None
    except (ValueError, RecursionError) as error:
        message = "an event of the server's stream is not JSON"
        raise TransientError("not-json", message) from error


def _cut() -> TransientError:
    return TransientError("broken-body", "the event stream ended before the answer did")


def _join_choices(events: Sequence[JSON], done: bool) -> JSON:
    whole: JSON = {}
    choice: JSON = {}
    message: JSON = {}
    tokens: list[Any] = []
    for event in events:
        whole |= {name: event[name] for name in _FACTS if event.get(name)}
        groq = event.get("x_groq")
        if isinstance(groq, dict) and groq.get("usage"):
            whole["usage"] = groq["usage"]
        for part in _first_choices(event):
            choice |= {n: part[n] for n in ("finish_reason", "error") if part.get(n)}
            logprobs = part.get("logprobs")
            if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
                tokens += logprobs["content"]
            delta = part.get("delta") or part.get("message")
            _add_texts(message, delta if isinstance(delta, dict) else {})
    if not (choice or done or whole.get("error")):
        raise _cut()
    if choice or message:
        message.setdefault("content", None)
        logprobs = {"content": tokens} if tokens else None
        whole["choices"] = [choice | {"message": message, "logprobs": logprobs}]
    return whole


def _first_choices(event: JSON) -> Iterator[JSON]:
    choices = event.get("choices")
    for part in choices if isinstance(choices, list) else ():
        if isinstance(part, dict) and not part.get("index"):
            yield part


def _add_texts(message: JSON, delta: Mapping[str, Any]) -> None:
    for name in _TEXTS:
        said = delta.get(name)
        if isinstance(said, list):
            texts = [part.get("text") for part in said if isinstance(part, dict)]
            said = "".join(text for text in texts if isinstance(text, str))
        if isinstance(said, str):
            message[name] = message.get(name, "") + said


def _join_response(events: Sequence[JSON]) -> JSON:
    """Return the response in the last event, with the items that were sent before it."""
    items = [e.get("item") for e in events if e.get("type") == "response.output_item.done"]
    for event in reversed(events):
        if event.get("type") in _ENDS and isinstance(event.get("response"), dict):
            response: JSON = event["response"]
            return response if response.get("output") else response | {"output": items}
        if event.get("type") == "error":
            return {"error": event.get("error") or event}
    raise _cut()


def _join_message(events: Sequence[JSON]) -> JSON:
    whole: JSON = {}
    blocks: dict[Any, JSON] = {}
    for event in events:
        kind, delta, place = event.get("type"), event.get("delta"), event.get("index")
        if kind == "error":
            return {"error": event.get("error") or event}
        if kind == "message_start" and isinstance(event.get("message"), dict):
            whole = dict(event["message"])
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[place] = dict(event["content_block"])
        elif kind == "content_block_delta" and isinstance(delta, dict):
            block = blocks.setdefault(place, {})
            for name in ("text", "thinking", "partial_json"):
                if isinstance(delta.get(name), str):
                    block[name] = str(block.get(name) or "") + delta[name]
        elif kind == "message_delta":
            whole |= {k: v for k, v in (delta or {}).items() if v is not None}
            whole["usage"] = {**(whole.get("usage") or {}), **(event.get("usage") or {})}
    if not whole.get("stop_reason"):
        raise _cut()
    return whole | {"content": [_with_input(block) for block in blocks.values()]}


def _with_input(block: JSON) -> JSON:
    """Return a block of a tool with the input that was sent in parts."""
    written = block.pop("partial_json", None)
    if written is None:
        return block
    try:
        return block | {"input": json.loads(written)}
    except (ValueError, RecursionError):
        return block | {"input": written}
