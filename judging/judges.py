"""Defining a judge: its parameters are checked once, and it never changes afterwards."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.models import Rater
from annotation.protocols import PROTOCOLS
from audit.recording import record
from judging.backends.base import SetupError
from judging.backends.vllm_server import PARAM_FLAGS
from judging.lanes import backend_of
from judging.models import Judge
from judging.prompts.template import PromptError, read_prompt, sha256_of
from judging.servers import GUARDED

KEY_VARIABLE = "OPENAI_API_KEY"
LONGEST_PROMPT = 1_000_000
LONGEST = {"model": 200, "base_url": 500, "api_key_env": 100}
ON_ONE_LINE = ("name", "model", "base_url")
OF_THE_ENGINE = ("concurrency", "timeout")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
COMPARED = (
    "backend",
    "model",
    "base_url",
    "api_key_env",
    "prompt",
    "granularity",
    "params",
)


class JudgeError(ValueError):
    """A judge that cannot be made: what is wrong, and what to do."""


@dataclass(frozen=True)
class Definition:
    """A judge as somebody wrote it down. `prompt` is a file, or the name of a protocol.

    In its stead `text` is a checked prompt itself. Only where the params say `guarded` is a judge
    without a key meant to have none.
    """

    name: str
    backend: str
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    prompt: str = ""
    granularity: str = "item"
    params: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


def define(wanted: Definition) -> tuple[Judge, bool]:
    """The judge, and whether it was made now; the same definition again makes nothing.

    Raises JudgeError where the definition cannot work, or its name is taken.
    """
    judge = _judge(wanted)
    try:
        backend_of(judge)
    except SetupError as error:
        raise JudgeError(str(error)) from error
    with transaction.atomic():
        rater = Rater.objects.filter(name=wanted.name).first()
        if rater is None:
            judge.rater = Rater.objects.create(name=wanted.name, kind=Rater.Kind.JUDGE)
            judge.save()
            _tell(judge)
            return judge, True
        return _same(rater, judge), False


def _tell(judge: Judge) -> None:
    """Judges never change, nor does the name of the variable that their key is in."""
    definition = {name: getattr(judge, name) for name in COMPARED}
    record("judge.made", of=judge, after=definition, backend=judge.backend)


def _check(wanted: Definition) -> None:
    if not wanted.name.strip() or len(wanted.name) > 150:
        raise JudgeError("a judge's name has 1 to 150 characters; choose another")
    for name in ON_ONE_LINE:
        if has_controls(getattr(wanted, name)):
            what = name.replace("_", " ")
            raise JudgeError(
                f"the {what} holds a line break or another control character; take it out"
            )
    for name, longest in LONGEST.items():
        if len(getattr(wanted, name)) > longest:
            what = name.replace("_", " ")
            raise JudgeError(f"the {what} has over {longest} characters; shorten it")
    # Its value is not repeated, as somebody may have given the key itself.
    if wanted.api_key_env and not ENVIRONMENT_NAME.fullmatch(wanted.api_key_env):
        raise JudgeError("--api-key-env names an environment variable; give its name, not the key")
    if wanted.backend == "lexical":
        _check_unused(wanted)
    own = [name for name in wanted.params if name in PARAM_FLAGS]
    if own and wanted.backend == "openai":
        raise JudgeError(f"--param {own[0]} is for the vllm backend; leave it out")


def has_controls(text: str) -> bool:
    """Whether a text that stands on one line holds a line break, or what else steers a screen."""
    return any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in text)


def _check_unused(wanted: Definition) -> None:
    sampling = [name for name in wanted.params if name not in OF_THE_ENGINE]
    given = {
        "--model": wanted.model,
        "--base-url": wanted.base_url,
        "--prompt": wanted.prompt,
        "--api-key-env": wanted.api_key_env,
        f"--param {', '.join(sampling)}": sampling,
    }
    unused = [option for option, value in given.items() if value]
    if unused:
        raise JudgeError(f"the lexical judge uses no {unused[0]}; leave it out")


def _judge(wanted: Definition) -> Judge:
    _check(wanted)
    text = wanted.text or (_prompt(wanted.prompt) if wanted.prompt else "")
    key = wanted.api_key_env or ("" if wanted.params.get(GUARDED) else KEY_VARIABLE)
    networked = wanted.backend == "openai"
    return Judge(
        backend=wanted.backend,
        model=wanted.model,
        base_url=wanted.base_url,
        api_key_env=key if networked else wanted.api_key_env,
        prompt=text,
        prompt_name=Path(wanted.prompt).name[:200] if wanted.prompt else "",
        prompt_sha256=sha256_of(text) if text else "",
        granularity=wanted.granularity,
        params=dict(wanted.params),
    )


def _prompt(source: str) -> str:
    if has_controls(source):
        raise JudgeError(
            "--prompt takes a file or the name of a protocol, and this is a text of several lines; "
            "save it in a file and name that"
        )
    path = Path(source)
    if not path.is_file() and source in PROTOCOLS:
        return PROTOCOLS[source].prompt
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise JudgeError(f"{source}: cannot be read ({error.strerror}); mend the path") from error
    except UnicodeDecodeError as error:
        raise JudgeError(f"{source}: is not UTF-8; save it as UTF-8") from error
    if "\0" in text or len(text) > LONGEST_PROMPT:
        raise JudgeError(f"{source}: is no prompt; give a text file")
    try:
        read_prompt(text)
    except PromptError as error:
        raise JudgeError(f"{source}: {error}") from error
    return text


def _same(rater: Rater, wanted: Judge) -> Judge:
    there = Judge.objects.filter(rater=rater).first()
    if there is None:
        kind = "a person" if rater.kind == Rater.Kind.HUMAN else f"a {rater.kind} from a file"
        raise JudgeError(f"the name {rater.name!r} belongs to {kind}; choose another")
    different = [name for name in COMPARED if getattr(there, name) != getattr(wanted, name)]
    if different:
        what = different[0].replace("_", " ")
        raise JudgeError(
            f"a judge {rater.name!r} is there with another {what}, and judges never change; "
            "choose a new name"
        )
    return there


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
