"""The other protocols of the fake server, each a translation of its chat completions.

A request is checked against its protocol and translated into one of chat completions; the answer,
good or faulty, is translated back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

JSON = dict[str, Any]
TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error",
    403: "permission_error", 404: "not_found_error", 429: "rate_limit_error",
    500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
COMMON = {"model", "temperature", "top_p", "stream", "metadata"}
OF_RESPONSES = COMMON | {
    "input", "text", "max_output_tokens", "reasoning", "store", "include", "top_logprobs",
    "chat_template_kwargs",
}  # fmt: skip
OF_MESSAGES = COMMON | {
    "messages", "system", "max_tokens", "tools", "tool_choice", "thinking", "output_config",
    "stop_sequences", "top_k",
}  # fmt: skip


@dataclass(frozen=True)
class Wire:
    """A protocol: the keys that it takes (any key if none is named), and its translations.

    `asked` turns a request into one of chat completions, `answered` an answer of chat completions
    into its own, and `error` is the body of an error. `wrong` says what is wrong with a request.
    """

    takes: set[str]
    asked: Callable[[JSON], JSON]
    answered: Callable[[JSON], Any]
    error: Callable[[int, str, str | None], JSON]
    wrong: Callable[[web.Request, JSON], str]


def openai_error(code: int, message: str, error_code: str | None) -> JSON:
    return {"error": {"message": message, "type": "error", "code": error_code}}


def anthropic_error(code: int, message: str, error_code: str | None) -> JSON:
    error = {"type": TYPES.get(code, "api_error"), "message": message}
    return {"type": "error", "error": error, "request_id": "req_fake"}


def asked_of_responses(body: JSON) -> JSON:
    form = (body.get("text") or {}).get("format") or {}
    given = {"json_schema": {"schema": form["schema"]}} if "schema" in form else None
    wants_logprobs = "message.output_text.logprobs" in (body.get("include") or ())
    return {
        "model": body.get("model"),
        "messages": body["input"],
        "response_format": given,
        "logprobs": wants_logprobs,
        "top_logprobs": body.get("top_logprobs"),
    }


def asked_of_messages(body: JSON) -> JSON:
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    tools = body.get("tools")
    schema = {"json_schema": {"schema": tools[0]["input_schema"]}} if tools else None
    messages = [*system, *body["messages"]]
    return {"model": body.get("model"), "messages": messages, "response_format": schema}


def answered_by_responses(good: JSON) -> Any:
    message, finish, logprobs = _choice(good)
    found: JSON = {"id": "resp_fake", "object": "response", "error": None}
    found["status"] = "completed" if finish == "stop" else finish
    found |= {name: good[name] for name in ("model",) if name in good}
    if message is None:
        return found
    if finish in ("length", "content_filter"):
        reason = {"length": "max_output_tokens"}.get(finish, finish)
        found |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    if broken := good["choices"][0].get("error"):
        found["error"] = broken
    thought = message.get("reasoning_content")
    summary = [{"type": "summary_text", "text": thought}] if thought else []
    reasoning = {"type": "reasoning", "id": "rs_fake", "summary": summary}
    parts: list[JSON] = [
        {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs or []}
        for text in _texts(message.get("content"))
    ]
    if message.get("refusal"):
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    item = {"type": "message", "id": "msg_fake", "role": "assistant", "content": parts}
    return found | {"output": [reasoning, item], "usage": _usage_of_responses(good.get("usage"))}


def answered_by_messages(good: JSON, tool: bool) -> Any:
    message, finish, _ = _choice(good)
    found: JSON = {"id": "msg_fake", "type": "message", "role": "assistant"}
    found |= {name: good[name] for name in ("model",) if name in good}
    if message is None:
        return found
    blocks: list[JSON] = []
    if thought := message.get("reasoning_content"):
        blocks.append({"type": "thinking", "thinking": thought, "signature": "fake"})
    texts = list(_texts(message.get("content")))
    value = _object("".join(texts)) if tool else None
    if value is not None:
        name = {"id": "toolu_fake", "name": "answer"}
        blocks.append({"type": "tool_use", **name, "input": value})
    else:
        blocks += [{"type": "text", "text": text} for text in texts]
    stop = {"stop": "tool_use" if value is not None else "end_turn", "length": "max_tokens"}
    reason = stop.get(finish, "refusal" if finish == "content_filter" else finish)
    if message.get("refusal"):
        reason, blocks = "refusal", [{"type": "text", "text": message["refusal"]}]
    usage = _usage_of_messages(good.get("usage"))
    return found | {"content": blocks, "stop_reason": reason, "usage": usage}


def _choice(good: JSON) -> tuple[JSON | None, str, Any]:
    choices = good.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return None, "", None
    logprobs = (choice.get("logprobs") or {}).get("content")
    return choice["message"], choice["finish_reason"], logprobs


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (part["text"] for part in content)


def _object(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _usage_of_responses(usage: Mapping[str, Any] | None) -> JSON | None:
    if usage is None:
        return None
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["total_tokens"],
    }


def _usage_of_messages(usage: Mapping[str, Any] | None) -> JSON | None:
    """Cached tokens are counted apart from the others."""
    if usage is None:
        return None
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"] - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": usage["completion_tokens"],
    }


def _wrong_messages(request: web.Request, body: JSON) -> str:
    if "anthropic-version" not in request.headers:
        return "anthropic-version: header is required"
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    if any(message["role"] not in ("user", "assistant") for message in body["messages"]):
        return "messages: Unexpected role"
    thinks = (body.get("thinking") or {"type": "disabled"})["type"] != "disabled"
    if thinks and (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        return "Thinking may not be enabled when tool_choice forces tool use."
    if thinks and body.get("temperature", 1) != 1:
        return "`temperature` may only be set to 1 when thinking is enabled."
    return ""


def _wrong_none(request: web.Request, body: JSON) -> str:
    return ""


CHAT = Wire(set(), lambda body: body, lambda good: good, openai_error, _wrong_none)
RESPONSES = Wire(OF_RESPONSES, asked_of_responses, answered_by_responses, openai_error, _wrong_none)


def messages_wire(body: JSON) -> Wire:
    """The Messages API, which answers with a tool call if it is given a tool."""
    tool = bool(body.get("tools"))
    return Wire(
        OF_MESSAGES, asked_of_messages, lambda good: answered_by_messages(good, tool),
        anthropic_error,
        _wrong_messages,
    )  # fmt: skip


def wire_of(request: web.Request, body: JSON) -> Wire:
    if request.path.endswith("/messages"):
        return messages_wire(body)
    return RESPONSES if request.path.endswith("/responses") else CHAT


def wrong_with(wire: Wire, request: web.Request, body: JSON) -> str:
    """Return what the protocol rejects in a request. In chat completions vLLM takes every key."""
    unknown = sorted(set(body) - wire.takes) if wire.takes else []
    if unknown:
        return f"Unknown parameter: {unknown[0]!r}"
    return wire.wrong(request, body)
