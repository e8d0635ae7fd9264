"""The backend for any server with OpenAI's chat completions or responses, hosted or local."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judging.backends.base import JSON, Answer, Request, Setup, SetupError, TransientError
from judging.backends.completeness import complete
from judging.backends.contents import STRUCTURE, sorted_object
from judging.backends.responses import Responses
from judging.backends.transport import break_in, error_in, text_of, word_of
from judging.backends.wire import Wire, WireBackend

PUBLIC_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
SENT_PARAMS = (
    "temperature",
    "top_p",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
)


class ChatCompletions(Wire):
    """`/v1/chat/completions`."""

    path = "chat/completions"
    batch_url = "/v1/chat/completions"
    defaults = {"temperature": 0.0, "seed": 0}
    unknown = frozenset()
    keys = {
        STRUCTURE: (STRUCTURE,),
        "logprobs": ("logprobs", "top_logprobs"),
        **{name: (name,) for name in SENT_PARAMS},
        "chat_template_kwargs": ("chat_template_kwargs",),
    }

    def body(self, model: str, request: Request, params: Mapping[str, Any]) -> JSON:
        body: JSON = {
            "model": model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        }
        if request.schema:
            form = {"name": "answer", "strict": True, "schema": request.schema}
            body[STRUCTURE] = {"type": "json_schema", "json_schema": form}
        body |= {name: params[name] for name in SENT_PARAMS if name in params}
        if "seed" in body:
            body["seed"] += request.sample
        if top := params.get("logprobs"):
            body |= {"logprobs": True, "top_logprobs": top}
        if template := params.get("chat_template_kwargs"):
            body["chat_template_kwargs"] = sorted_object(template)
        return body

    def read(self, body: JSON, status: int, accept_no_reason: bool = False) -> Answer:
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            words = f"the server sent no choices. {error_in(body)}".strip()
            raise TransientError("no-choices", words)
        choice = choices[0]
        message = choice.get("message")
        if not isinstance(message, dict):
            raise TransientError("no-message", "the server sent a choice without a message")
        text, refusal = text_of(message.get("content")), message.get("refusal")
        answer = Answer(
            text=text if text is not None else str(refusal or ""),
            finish_reason=word_of(choice.get("finish_reason")),
            usage=body["usage"] if isinstance(body.get("usage"), dict) else {},
            model=word_of(body.get("model")),
            status=status,
            logprobs=choice.get("logprobs"),
            reasoning=word_of(message.get("reasoning_content"))
            or word_of(message.get("reasoning")),
        )
        return complete(
            answer,
            written=text is not None,
            refused=bool(refusal),
            broken=break_in(choice) or break_in(body),
            accept_no_reason=accept_no_reason,
        )


APIS: Mapping[str, Wire] = {"chat": ChatCompletions(), "responses": Responses()}


class OpenAICompatible(WireBackend):
    """Asks a server through the API named by the param `api`, by default chat completions."""

    def __init__(self, setup: Setup) -> None:
        api = setup.params.get("api", "chat")
        if api not in APIS:
            raise SetupError(f"param api is {api!r}; give one of {', '.join(APIS)}")
        super().__init__(setup, APIS[api], PUBLIC_URL)
