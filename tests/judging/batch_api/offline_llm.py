"""The part of vLLM that the runner uses, with answers by rule in place of a model.

OFFLINE_LLM in the environment changes its behaviour, as JSON: it dies by SIGKILL after `dies_after`
calls, fails with an error of the engine after `breaks_after` calls, answers `says` if no schema is
given, and ends answers with the reason `ends`. It appends its arguments to the file `notes`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.fake_openai.answering import Rule, answer_to, free_text
from tests.fake_openai.probabilities import Probabilities, tokens

__version__ = "0.32.0+standin"
CONTEXT = 8192
LETTERS = 4
Message = dict[str, str]


class VLLMClientError(Exception):
    """As in vLLM, this is not a ValueError."""


class VLLMValidationError(VLLMClientError):
    pass


@dataclass(kw_only=True)
class StructuredOutputsParams:
    json: str | dict[str, Any] | None = None
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None
    structural_tag: str | None = None


@dataclass(kw_only=True)
class SamplingParams:
    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    bad_words: list[str] | None = None
    structured_outputs: StructuredOutputsParams | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise VLLMValidationError(f"max_tokens must be at least 1, got {self.max_tokens}.")


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: list[int]
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str | None


@dataclass
class RequestOutput:
    request_id: str
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    num_cached_tokens: int | None = None


@dataclass
class Vocabulary:
    words: list[str] = field(default_factory=list)

    def number(self, word: str) -> int:
        if word not in self.words:
            self.words.append(word)
        return self.words.index(word)

    def decode(self, numbers: list[int]) -> str:
        return "".join(self.words[number] for number in numbers)


class LLM:
    def __init__(
        self,
        model: str,
        *,
        tensor_parallel_size: int = 1,
        dtype: str = "auto",
        quantization: str | None = None,
        revision: str | None = None,
        seed: int = 0,
        gpu_memory_utilization: float = 0.92,
        enforce_eager: bool = False,
        structured_outputs_config: dict[str, Any] | None = None,
        **others: Any,
    ) -> None:
        self.options = json.loads(os.environ.get("OFFLINE_LLM", "{}"))
        self.vocabulary, self.calls, self.asked = Vocabulary(), 0, 0
        self.context = others.get("max_model_len", CONTEXT)
        self._note(
            {
                "model": model,
                "tensor_parallel_size": tensor_parallel_size,
                "dtype": dtype,
                "revision": revision,
                "max_model_len": self.context,
                "structure": structured_outputs_config,
            }
        )

    def get_default_sampling_params(self) -> SamplingParams:
        """A model whose settings are not those of vLLM."""
        return SamplingParams(temperature=0.7, top_k=20)

    def get_tokenizer(self) -> Vocabulary:
        return self.vocabulary

    def chat(
        self,
        messages: Sequence[list[Message]],
        sampling_params: Sequence[SamplingParams],
        use_tqdm: bool = True,
        lora_request: Any = None,
        priority: Any = None,
        chat_template: str | None = None,
        chat_template_content_format: str = "auto",
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        tools: Any = None,
        chat_template_kwargs: dict[str, Any] | None = None,
    ) -> list[RequestOutput]:
        assert len(messages) == len(sampling_params)
        if self.calls == self.options.get("dies_after"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.calls == self.options.get("breaks_after"):
            raise RuntimeError("the engine is dead")
        params = [asdict(each) for each in sampling_params]
        self._note({"requests": len(messages), "template": chat_template_kwargs, "params": params})
        prompts = ["\n".join(each["content"] for each in chat) for chat in messages]
        for prompt in prompts:
            if (length := len(prompt) // LETTERS) > self.context:
                raise VLLMValidationError(
                    f"This model's maximum context length is {self.context} tokens. However, your "
                    f"prompt contains at least {length} input tokens."
                )
        self.calls += 1
        return [self._answer(*each) for each in zip(prompts, sampling_params, strict=True)]

    def _answer(self, prompt: str, params: SamplingParams) -> RequestOutput:
        self.asked += 1
        form = params.structured_outputs and params.structured_outputs.json
        text, logprobs = self.options.get("says") or free_text(prompt, ""), None
        if isinstance(form, dict):
            value = answer_to(form, prompt, Rule("mixed"))
            text = json.dumps(value, ensure_ascii=False)
            if params.logprobs:
                content = Probabilities().of(form, value, params.logprobs)["content"]
                logprobs = [self._step(entry) for entry in content]
        words = re.findall(r"\s*\S+|\s+", text) if logprobs is None else tokens(text)
        kept = words[: params.max_tokens]
        reason = self.options.get("ends") or ("stop" if kept == words else "length")
        steps = logprobs[: len(kept)] if logprobs else None
        numbers = [next(iter(each)) for each in steps] if steps else self._numbers(kept)
        output = CompletionOutput(0, "".join(kept), numbers, steps, reason)
        return RequestOutput(str(self.asked), [0] * (len(prompt) // LETTERS), [output], 16)

    def _numbers(self, words: list[str]) -> list[int]:
        return [self.vocabulary.number(word) for word in words]

    def _step(self, entry: dict[str, Any]) -> dict[int, Logprob]:
        """List the sampled token first, as vLLM does."""
        listed = [entry, *entry["top_logprobs"]]
        return {
            self.vocabulary.number(each["token"]): Logprob(each["logprob"], None, each["token"])
            for each in listed
        }

    def _note(self, note: dict[str, Any]) -> None:
        if path := self.options.get("notes"):
            with Path(path).open("a") as file:
                file.write(json.dumps(note) + "\n")
