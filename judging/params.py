"""A judge's parameters: names, permitted values, and the parser of `K=V`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from judging.backends.completeness import ACCEPT
from judging.backends.contents import (
    HEADERS,
    OMITTED,
    ContentsError,
    check_omitted,
    read_extra,
    read_headers,
    read_object,
    read_omitted,
)
from judging.backends.decision_forms import FORMS
from judging.backends.decisions import TWO_CODES
from judging.judge_file.document import ISOLATION
from tandem.similar import did_you_mean, most_similar

Value = int | float | str | list[str] | dict[str, Any]


class ParamError(ValueError):
    """A parameter is invalid. The message says what is wrong and what to do."""


def _number(low: float, high: float) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        value = float(text)
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError
        return value

    return read


def _whole_number(low: int, high: int) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        value = int(text)
        if not low <= value <= high:
            raise ValueError
        return value

    return read


def _word(pattern: str) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError
        return text

    return read


def _logprobs(text: str) -> Value:
    """Read how many alternatives per token to ask for. True means the maximum."""
    return _whole_number(0, 20)({"true": "20", "false": "0"}.get(text.lower(), text))


PARAMS: dict[str, tuple[Callable[[str], Value], str]] = {
    "temperature": (_number(0, 2), "a number from 0 to 2"),
    "top_p": (_number(0.001, 1), "a number above 0 and up to 1"),
    "seed": (_whole_number(-(2**31), 2**31 - 1), "a whole number of 32 bits"),
    "max_tokens": (_whole_number(1, 1_000_000), "a whole number above 0"),
    "logprobs": (_logprobs, "a whole number from 0 to 20, or true"),
    "repair": (_whole_number(0, 1), "0 or 1"),
    ACCEPT: (_whole_number(0, 1), "0 or 1"),
    "isolate": (_word("|".join(ISOLATION)), f"one of {', '.join(ISOLATION)}"),
    "samples": (_whole_number(1, 20), "a whole number from 1 to 20"),
    "concurrency": (_whole_number(1, 1024), "a whole number from 1 to 1024"),
    "timeout": (_number(0.1, 3600), "seconds from 0.1 to 3600"),
    "max_model_len": (_whole_number(256, 10_000_000), "for vllm: tokens, a whole number from 256"),
    "tensor_parallel": (_whole_number(1, 64), "for vllm: GPUs to spread over, from 1 to 64"),
    "gpu_memory": (_number(0.05, 1), "for vllm: the share of each GPU, from 0.05 to 1"),
    "quantization": (_word(r"\w[\w-]{0,39}"), "for vllm: a method, such as awq or fp8"),
    "dtype": (_word("auto|bfloat16|float16|float32"), "for vllm: auto, bfloat16, float16, float32"),
    "revision": (_word(r"\w[\w./-]{0,99}"), "for vllm: the commit or tag of the model"),
    "max_completion_tokens": (
        _whole_number(1, 1_000_000),
        "a whole number above 0, with the reasoning",
    ),
    "reasoning_effort": (_word("[a-z]{1,20}"), "a word such as low, that the server knows"),
    "api": (_word("chat|responses"), "for openai: chat or responses"),
    "chat_template_kwargs": (read_object, "for openai: a JSON object"),
    "extra_body": (read_extra, "a JSON object, whose keys are sent as they are"),
    HEADERS: (read_headers, "headers as NAME=VARIABLE, separated by commas"),
    "omit": (read_omitted, f"what is not sent, any of {', '.join(OMITTED)}"),
    "form": (_word("|".join(FORMS)), f"for decisions: {', '.join(FORMS)}"),
    "two_codes": (_word("|".join(TWO_CODES)), "for decisions: noul or choice, for yes and no"),
    "mass_floor": (_number(0, 1), "for decisions: the least mass on the labels, from 0 to 1"),
}


def read_params(pairs: Iterable[str]) -> dict[str, Value]:
    """Read parameters of the form `K=V`; `K=null` omits one from requests. Raises ParamError."""
    params: dict[str, Value] = {}
    omitted: list[str] = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if equals and text.strip() == "null":
            omitted += _value("omit", name)
            continue
        if not equals or name not in PARAMS:
            if equals and most_similar(name, PARAMS):
                hint = did_you_mean(name, PARAMS, "")
                raise ParamError(f"{name!r} is not a param; {hint}")
            names = ", ".join(PARAMS)
            raise ParamError(f"param {pair!r} is not K=V with K one of {names}; correct it")
        if name in params:
            raise ParamError(f"param {name} is given twice; give it once")
        params[name] = _value(name, text)
    return add_omitted(params, omitted)


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
    read, expected = PARAMS[name]
    try:
        return read(text.strip())
    except ContentsError as error:
        raise ParamError(f"param {name} {error}") from error
    except ValueError as error:
        raise ParamError(f"param {name} is {text!r}; give {expected}") from error
