"""A judge's parameters: names, permitted values, and the parser of `K=V`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from judging.backends.completeness import ACCEPT
from judging.backends.contents import (
    ADDRESSES,
    COMMON,
    HEADERS,
    LIMIT,
    MAX_ADDRESS_LENGTH,
    MAX_ADDRESSES,
    MAX_OBJECT_LENGTH,
    OMITTED,
    ContentsError,
    check_omitted,
    read_addresses,
    read_extra,
    read_headers,
    read_object,
    read_omitted,
)
from judging.backends.decision_forms import FORMS
from judging.judge_file.document import ISOLATION
from tandem.options import Option, declared, split_pairs
from tandem.similar import did_you_mean, most_similar

LONG = 2000
MOST_WORKERS = 64
Value = int | float | str | list[str] | dict[str, Any]


class ParamError(ValueError):
    """A parameter is invalid. The message says what is wrong and what to do."""


def _word(pattern: str) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError
        return text

    return read


def _zero_or_one(text: str) -> Value:
    if (number := int(text)) not in (0, 1):
        raise ValueError
    return number


def _logprobs(text: str) -> Value:
    """Read how many alternatives per token to ask for. True means the maximum."""
    number = int({"true": "20", "false": "0"}.get(text.lower(), text))
    if not 0 <= number <= 20:
        raise ValueError
    return number


ANSWERS, REASONING, ASKS, READS, SERVER, VLLM = (
    "How it answers",
    "Reasoning",
    "What a request asks",
    "How its answer is read",
    "Server and speed",
    "",
)
"""The parts of a page with parameters; those of vLLM are for commands and judge files alone."""
PARAMS: dict[str, Option] = {
    param.name: param
    for param in (
        declared(
            "temperature", float, "a number from 0 to 2", least=0, most=2, group=ANSWERS,
            hint="0 to 2. At 0, the default, a model mostly repeats itself.",
        ),
        declared(
            "top_p", float, "a number above 0 and up to 1", least=0.001, most=1, group=ANSWERS,
            label="Top p", hint="Above 0 and up to 1. Leave it empty unless you know why.",
        ),
        declared(
            "seed", int, "a whole number of 32 bits", least=-(2**31), most=2**31 - 1,
            group=ANSWERS, hint="A whole number, 0 by default. Not every server uses it.",
        ),
        declared(
            "samples", int, "a whole number from 1 to 20", least=1, most=20, group=ANSWERS,
            hint="How often the same request is asked, 1 to 20. Above 1, set a temperature above "
            "0.",
        ),
        declared(
            "max_tokens", int, "a whole number above 0", least=1, most=1_000_000, group=ANSWERS,
            label="Longest answer", hint="In tokens. Empty: as long as the server allows.",
        ),
        declared(
            "reasoning_effort", str, "a word such as low, that the server knows",
            read=_word("[a-z]{1,20}"), group=REASONING,
            hint="A word that the server knows, such as low. Empty: the model’s own.",
        ),
        declared(
            "max_completion_tokens", int, "a whole number above 0, with the reasoning", least=1,
            most=1_000_000, group=REASONING, label="Longest answer with reasoning",
            hint="In tokens, for models that reject the one above.",
        ),
        declared(
            "chat_template_kwargs", str, "for openai: a JSON object", read=read_object,
            lines=2, longest=MAX_OBJECT_LENGTH, group=REASONING, label="For the chat template",
            hint='A JSON object for vLLM and similar servers, such as {"enable_thinking": false}.',
        ),
        declared(
            "isolate", str, f"one of {', '.join(ISOLATION)}", group=ASKS,
            values={
                "unit": "The one text", "response": "One answer", "item": "All that people see",
                **dict.fromkeys(set(ISOLATION) - {"unit", "response", "item"}, ""),
            },
            unset="As the protocol says", label="One request shows",
            hint="The text that a unit is about, or one answer, without the others. A judge file "
            "sets this itself.",
        ),
        declared(
            "form", str, f"for decisions: {', '.join(FORMS)}", group=ASKS,
            values={name: name for name in FORMS}, unset="The first that the server has",
            label="Form of questions", hint="Of a decision model. Empty: a probe finds it.",
        ),
        declared(
            "two_codes", str, "for decisions: noul or choice, for yes and no", group=ASKS,
            values={"noul": "As a predicate", "choice": "As a choice"}, empty="noul",
            label="Yes and no", hint="How a decision model is asked. Empty: as a predicate.",
        ),
        declared(
            "repair", str, "0 or 1", values={"0": "No", "1": "Once"}, empty="0", read=_zero_or_one,
            group=READS, hint="Ask once more for an unreadable answer, at a cost.",
        ),
        declared(
            ACCEPT, str, "0 or 1", values={"0": "No", "1": "Yes"}, empty="0", read=_zero_or_one,
            group=READS, label="Accept answers without a reason",
            hint="For a server that never says why an answer ended. Answers that were cut off then "
            "count too.",
        ),
        declared(
            "logprobs", int, "a whole number from 0 to 20, or true", read=_logprobs, group=READS,
            label="Log probabilities",
            hint="Alternatives per token, 0 to 20. Scores are computed from them.",
        ),
        declared(
            "mass_floor", float, "for decisions: the least mass on the labels, from 0 to 1",
            least=0, most=1, group=READS, label="Least mass",
            hint="Of a decision model, 0 to 1. Labels with less probability on the codes are "
            "missing.",
        ),
        declared(
            "concurrency", int, "a whole number from 1 to 1024", least=1, most=1024, group=SERVER,
            label="Requests at once", hint="16 by default.",
        ),
        declared(
            "workers", int, f"a whole number from 1 to {MOST_WORKERS}", least=1, most=MOST_WORKERS,
            group=SERVER, label="Workers at once",
            hint="How many worker processes a run may use, on any machines. 1 by default.",
        ),
        declared(
            LIMIT, str, "common, if all models of the server share one limit",
            values={COMMON: "One for all its models"}, unset="One for each model", group=SERVER,
            label="Limit of the server",
            hint="Whether the server bears a number of requests at once for each model, or for all "
            "together.",
        ),
        declared(
            "timeout", float, "seconds from 0.1 to 3600", least=0.1, most=3600, group=SERVER,
            label="Time limit",
            hint="Seconds until a request times out. Empty: depends on the server’s latency, 30 to "
            "600.",
        ),
        declared(
            "api", str, "for openai: chat or responses", group=SERVER, empty="chat",
            values={"chat": "Chat completions", "responses": "Responses"}, label="API",
            hint="Of servers that speak OpenAI’s protocol.",
        ),
        declared(
            ADDRESSES, str, "further base URLs of the same model, separated by commas",
            read=read_addresses, lines=2, longest=MAX_ADDRESSES * (MAX_ADDRESS_LENGTH + 1),
            group=SERVER, label="Further addresses",
            hint="Where the same model is served as well, one base URL a line, with the same key. "
            "Requests are spread over all addresses, each with its own requests at once.",
        ),
        declared(
            HEADERS, str, "headers as NAME=VARIABLE, separated by commas", read=read_headers,
            longest=LONG, group=SERVER,
            hint="Of a gateway, as NAME=VARIABLE, such as api-key=TANDEM_KEY_AZURE, separated by "
            "commas: the names of environment variables, never the values.",
        ),
        declared(
            "omit", str, f"what is not sent, any of {', '.join(OMITTED)}", read=read_omitted,
            longest=LONG, group=SERVER, label="Not sent",
            hint="Such as seed, temperature or response_format, separated by commas.",
        ),
        declared(
            "extra_body", str, "a JSON object, whose keys are sent as they are", read=read_extra,
            lines=2, longest=MAX_OBJECT_LENGTH, group=SERVER, label="Sent in addition",
            hint='A JSON object, such as {"top_k": 20}.',
        ),
        declared(
            "max_model_len", int, "for vllm: tokens, a whole number from 256", least=256,
            most=10_000_000, group=VLLM,
        ),
        declared(
            "tensor_parallel", int, "for vllm: GPUs to spread over, from 1 to 64", least=1,
            most=64, group=VLLM,
        ),
        declared(
            "gpu_memory", float, "for vllm: the share of each GPU, from 0.05 to 1", least=0.05,
            most=1, group=VLLM,
        ),
        declared(
            "quantization", str, "for vllm: a method, such as awq or fp8",
            read=_word(r"\w[\w-]{0,39}"), group=VLLM,
        ),
        declared(
            "dtype", str, "for vllm: auto, bfloat16, float16, float32", group=VLLM,
            values=dict.fromkeys(("auto", "bfloat16", "float16", "float32"), ""),
        ),
        declared(
            "revision", str, "for vllm: the commit or tag of the model",
            read=_word(r"\w[\w./-]{0,99}"), group=VLLM,
        ),
    )
}  # fmt: skip
"""The parameters, declared once for commands, judge files, the page and the API."""
ON_PAGES = {name: param for name, param in PARAMS.items() if param.group}


def read_params(pairs: Iterable[str]) -> dict[str, Value]:
    """Read parameters of the form `K=V`; `K=null` omits one from requests. Raises ParamError."""
    params: dict[str, Value] = {}
    omitted: list[str] = []
    for name, text in split_pairs(pairs, _unknown):
        if text.strip() == "null":
            omitted += _value("omit", name)
            continue
        if name not in PARAMS:
            raise _unknown(f"{name}={text}")
        if name in params:
            raise ParamError(f"param {name} is given twice; give it once")
        params[name] = _value(name, text)
    return add_omitted(params, omitted)


def _unknown(pair: str) -> ParamError:
    name, equals, _ = pair.partition("=")
    if equals and most_similar(name, PARAMS):
        return ParamError(f"{name!r} is not a param; {did_you_mean(name, PARAMS, '')}")
    return ParamError(f"param {pair!r} is not K=V with K one of {', '.join(PARAMS)}; correct it")


def check_params(given: Mapping[str, Any]) -> dict[str, Value]:
    """Check parameters with values of any type, such as those of a file. Raises ParamError."""
    pairs = (f"{name}={param_text(value)}" for name, value in given.items())
    return read_params(pairs)


def param_text(value: Any) -> str:
    """Format a parameter's value as written after `K=`."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def add_omitted(params: dict[str, Value], omitted: list[str]) -> dict[str, Value]:
    """Add the names of omitted keys to the parameters."""
    if omitted:
        before = params.get("omit", [])
        assert isinstance(before, list)
        params["omit"] = check_omitted([*before, *omitted])
    return params


def _value(name: str, text: str) -> Any:
    try:
        return PARAMS[name].read(text.strip())
    except ContentsError as error:
        raise ParamError(f"param {name} {error}") from error
    except ValueError as error:
        raise ParamError(f"param {name} is {text!r}; give {PARAMS[name].help}") from error
