"""A judge's parameters as they are given, K=V, checked and typed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

Value = int | float | str


class ParamError(ValueError):
    """A parameter that cannot be: what is wrong, and what to do."""


def _number(low: float, high: float) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        value = float(text)
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError
        return value

    return read


def _whole(low: int, high: int) -> Callable[[str], Value]:
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
    """How many alternatives a token; true stands for as many as servers give."""
    return _whole(0, 20)({"true": "20", "false": "0"}.get(text.lower(), text))


PARAMS: dict[str, tuple[Callable[[str], Value], str]] = {
    "temperature": (_number(0, 2), "a number from 0 to 2"),
    "top_p": (_number(0.001, 1), "a number above 0 and up to 1"),
    "seed": (_whole(-(2**31), 2**31 - 1), "a whole number of 32 bits"),
    "max_tokens": (_whole(1, 1_000_000), "a whole number above 0"),
    "logprobs": (_logprobs, "a whole number from 0 to 20, or true"),
    "repair": (_whole(0, 1), "0 or 1"),
    "samples": (_whole(1, 20), "a whole number from 1 to 20"),
    "concurrency": (_whole(1, 1024), "a whole number from 1 to 1024"),
    "timeout": (_number(0.1, 3600), "seconds from 0.1 to 3600"),
    "max_model_len": (_whole(256, 10_000_000), "for vllm: tokens, a whole number from 256"),
    "tensor_parallel": (_whole(1, 64), "for vllm: GPUs to spread over, from 1 to 64"),
    "gpu_memory": (_number(0.05, 1), "for vllm: the share of each GPU, from 0.05 to 1"),
    "quantization": (_word(r"\w[\w-]{0,39}"), "for vllm: a method, such as awq or fp8"),
    "dtype": (_word("auto|bfloat16|float16|float32"), "for vllm: auto, bfloat16, float16, float32"),
    "revision": (_word(r"\w[\w./-]{0,99}"), "for vllm: the commit or tag of the model"),
}


def read_params(given: Iterable[str]) -> dict[str, Value]:
    """The parameters by name. Raises ParamError."""
    params: dict[str, Value] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals or name not in PARAMS:
            known = ", ".join(PARAMS)
            raise ParamError(f"param {pair!r} is not K=V with K one of {known}; mend it")
        if name in params:
            raise ParamError(f"param {name} is given twice; give it once")
        params[name] = _value(name, text)
    return params


def _value(name: str, text: str) -> Value:
    read, wanted = PARAMS[name]
    try:
        return read(text.strip())
    except ValueError as error:
        raise ParamError(f"param {name} is {text!r}; give {wanted}") from error
