"""The backend for Anthropic's Messages API, `/v1/messages`.

An answer in a given form is requested as the input of a tool that the model has to use. The
protocol has no seed and no log probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from judging.backends.base import JSON, Answer, Request, Setup, SetupError, TransientError
from judging.backends.completeness import complete
from judging.backends.contents import STRUCTURE
from judging.backends.transport import break_in, error_in, word_of
from judging.backends.wire import Wire, WireBackend, reported_usage

PUBLIC_URL = "https://api.anthropic.com/v1"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 8192
TOOL = "answer"
LISTED_MODELS = 1000


class Messages(Wire):
    """`/v1/messages`."""

    path = "messages"
    models = f"models?limit={LISTED_MODELS}"
    apart = frozenset({"system"})
    keys = {
        STRUCTURE: ("tools", "tool_choice"),
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "reasoning_effort": ("output_config",),
        # The protocol requires them.
        "max_tokens": (),
        "max_completion_tokens": (),
    }

    def check(self, params: Mapping[str, Any]) -> None:
        super().check(params)
        if params.get("logprobs"):
            raise SetupError(
                "Anthropic's protocol gives no log probabilities; leave out logprobs, or ask for "
                "several samples"
            )
        for name in ("chat_template_kwargs", "api"):
            if name in params:
                raise SetupError(f"--param {name} is for the openai backend; leave it out")
        if params.get("temperature", 0.0) > 1:
            raise SetupError("Anthropic's temperature is from 0 to 1; give a lower one")
        if _thinks(params) and "temperature" in params:
            raise SetupError(
                "Anthropic's models accept no temperature while they think; leave it out"
            )

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    def body(self, model: str, request: Request, params: Mapping[str, Any]) -> JSON:
        listed = [m for m in request.messages if m.role not in self.apart]
        system = "\n\n".join(m.content for m in request.messages if m.role in self.apart)
        limit = params.get("max_tokens", params.get("max_completion_tokens", DEFAULT_MAX_TOKENS))
        body: JSON = {
            "model": model,
            "messages": [{"role": m.role, "content": m.content} for m in listed],
            "max_tokens": limit,
        }
        body |= {"system": system} if system else {}
        thinks = _thinks(params)
        if request.schema:
            tool = {"name": TOOL, "description": "Gives the answer."}
            body["tools"] = [tool | {"input_schema": request.schema}]
            # A model that thinks cannot be made to use a tool.
            choice = {"type": "auto"} if thinks else {"type": "tool", "name": TOOL}
            body["tool_choice"] = choice | {"disable_parallel_tool_use": True}
        if "temperature" in params and not thinks:
            body["temperature"] = params["temperature"]
        if "top_p" in params:
            body["top_p"] = params["top_p"]
        if effort := params.get("reasoning_effort"):
            body["output_config"] = {"effort": effort}
        return body

    def read(self, body: JSON, status: int, accept_no_reason: bool = False) -> Answer:
        content = body.get("content")
        if not isinstance(content, list):
            words = f"the server sent no content. {error_in(body)}".strip()
            raise TransientError("no-content", words)
        blocks = [block for block in content if isinstance(block, dict)]
        inputs = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        texts = _texts(blocks, "text")
        # Text next to the tool's input is not part of the answer.
        thoughts = _texts(blocks, "thinking") + (texts if inputs else [])
        written = [json.dumps(given, ensure_ascii=False) for given in inputs] or ["".join(texts)]
        answer = Answer(
            text="\n".join(written),
            finish_reason=word_of(body.get("stop_reason")),
            usage=_usage(body.get("usage")),
            model=word_of(body.get("model")),
            status=status,
            reasoning="\n\n".join(thoughts),
        )
        return complete(
            answer,
            written=bool(inputs or texts),
            broken=break_in(body),
            accept_no_reason=accept_no_reason,
        )


def _thinks(params: Mapping[str, Any]) -> bool:
    thinking = params.get("extra_body", {}).get("thinking")
    return isinstance(thinking, Mapping) and thinking.get("type") != "disabled"


def _texts(blocks: list[JSON], kind: str) -> list[str]:
    found = (word_of(block.get(kind)) for block in blocks if block.get("type") == kind)
    return [text for text in found if text]


def _usage(usage: Any) -> JSON:
    """Count all tokens of the prompt; the protocol lists three kinds of them separately."""
    if not isinstance(usage, dict):
        return {}
    read, created = (usage.get(f"cache_{kind}_input_tokens") for kind in ("read", "creation"))
    fresh, details = usage.get("input_tokens"), usage.get("output_tokens_details")
    counts = [count for count in (fresh, read, created) if isinstance(count, int)]
    return reported_usage(
        prompt=sum(counts) if isinstance(fresh, int) else None,
        completion=usage.get("output_tokens"),
        cached=read,
        reasoning=details.get("thinking_tokens") if isinstance(details, dict) else None,
    )


class Anthropic(WireBackend):
    """Asks Anthropic's server, or another one with the same Messages API."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, Messages(), PUBLIC_URL)
        if _thinks(self.params):
            self.params = {name: self.params[name] for name in self.params if name != "temperature"}
