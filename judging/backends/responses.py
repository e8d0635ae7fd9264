"""OpenAI's Responses API, `/v1/responses`, which the openai backend uses with `api=responses`.

Nothing is stored at the provider. There is no seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from judging.backends.base import (
    JSON,
    Answer,
    Request,
    TransientError,
)
from judging.backends.completeness import GOOD, complete
from judging.backends.contents import STRUCTURE, sorted_object
from judging.backends.transport import break_in, error_in, text_of, word_of
from judging.backends.wire import Wire, reported_usage

LIMITS = ("max_completion_tokens", "max_tokens")
WITH_LOGPROBS = "message.output_text.logprobs"
_UNFINISHED = ("queued", "in_progress", "cancelled")


class Responses(Wire):
    """`/v1/responses`."""

    path = "responses"
    listed = "input"
    batch_url = "/v1/responses"
    keys = {
        STRUCTURE: ("text",),
        "logprobs": ("include", "top_logprobs"),
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "max_tokens": ("max_output_tokens",),
        "max_completion_tokens": ("max_output_tokens",),
        "reasoning_effort": ("reasoning",),
        "chat_template_kwargs": ("chat_template_kwargs",),
    }

    def body(self, model: str, request: Request, params: Mapping[str, Any]) -> JSON:
        body: JSON = {
            "model": model,
            "input": [{"role": m.role, "content": m.content} for m in request.messages],
            "store": False,
        }
        if request.schema:
            form = {"type": "json_schema", "name": "answer", "strict": True}
            body["text"] = {"format": {**form, "schema": request.schema}}
        body |= {name: params[name] for name in ("temperature", "top_p") if name in params}
        limits = [params[name] for name in LIMITS if name in params]
        body |= {"max_output_tokens": limits[0]} if limits else {}
        if effort := params.get("reasoning_effort"):
            body["reasoning"] = {"effort": effort}
        if top := params.get("logprobs"):
            body |= {"include": [WITH_LOGPROBS], "top_logprobs": top}
        if template := params.get("chat_template_kwargs"):
            body["chat_template_kwargs"] = sorted_object(template)
        return body

    def read(self, body: JSON, status: int, accept_no_reason: bool = False) -> Answer:
        state, output = word_of(body.get("status")), body.get("output")
        if state == "failed" or not isinstance(output, list):
            # An error that names a status was read before.
            words = f"the server sent no output. {error_in(body)}".strip()
            raise TransientError("no-output", words)
        if state in _UNFINISHED:
            raise TransientError("unfinished", f"the server left the response {state}")
        parts = list(_parts(output, "message"))
        refusals = [word_of(p.get("refusal")) for p in parts if p.get("type") == "refusal"]
        texts = [part for part in parts if part.get("type") == "output_text"]
        text, details = text_of(texts), body.get("incomplete_details")
        reason = word_of(details.get("reason")) if isinstance(details, dict) else ""
        # Only the status says that a response is complete.
        ended_by = reason if state == "incomplete" and reason not in GOOD else ""
        answer = Answer(
            text=text if text is not None else "\n".join(refusals),
            finish_reason=ended_by or state,
            usage=_usage(body.get("usage")),
            model=word_of(body.get("model")),
            status=status,
            logprobs=_logprobs(texts),
            reasoning=_reasoning(output),
        )
        return complete(
            answer,
            written=text is not None,
            refused=bool(refusals),
            broken=break_in(body),
            accept_no_reason=accept_no_reason,
        )


def _items(output: Iterable[Any], kind: str) -> Iterator[JSON]:
    return (item for item in output if isinstance(item, dict) and item.get("type") == kind)


def _parts(output: Iterable[Any], kind: str, key: str = "content") -> Iterator[JSON]:
    for item in _items(output, kind):
        parts = item.get(key)
        yield from (p for p in parts if isinstance(p, dict)) if isinstance(parts, list) else ()


def _reasoning(output: list[Any]) -> str:
    """Join the visible reasoning: the reasoning itself, or else its summary."""
    for key in ("content", "summary"):
        texts = [word_of(part.get("text")) for part in _parts(output, "reasoning", key)]
        if any(texts):
            return "\n\n".join(texts)
    return ""


def _logprobs(texts: Iterable[JSON]) -> JSON | None:
    """Return log probabilities in the form of chat completions. None if there are none."""
    lists = [part.get("logprobs") for part in texts]
    tokens = [token for tokens in lists if isinstance(tokens, list) for token in tokens]
    return {"content": tokens} if tokens else None


def _usage(usage: Any) -> JSON:
    if not isinstance(usage, dict):
        return {}
    cached, reasoned = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    return reported_usage(
        prompt=usage.get("input_tokens"),
        completion=usage.get("output_tokens"),
        cached=cached.get("cached_tokens") if isinstance(cached, dict) else None,
        reasoning=reasoned.get("reasoning_tokens") if isinstance(reasoned, dict) else None,
    )
