"""Backends: the ways to ask a judge, with one module for each kind and this registry by name.

`base` defines what a backend is: `Backend`, its `Request` and `Answer`, and the errors of a call.
`wire` is the backend for any server, behind `ssrf_guard` and over the HTTP of `transport`; the
protocols are `openai` (chat completions), `responses` and `anthropic`. `contents` is what a person
may leave out of a body and add to it, and `bodies` writes bodies fast. `vllm` starts a server
(`vllm_server`, under `vllm_watchdog`) and asks it through `openai`. `lexical` compares words and
needs no model. `scripted` replays the answers of a file, and serves tests and benchmarks.
`capabilities` probes a server before a run, `replicas` compares those of a judge with several
addresses, and `logprobs` reads the probability of each code.
`decisions` asks a decision model: what it is asked is in `decision_questions`, in which form in
`decision_forms`, and how the form is found in `decision_probe`.

To add a backend, add a module here and a line to `BACKENDS`. A backend that asks a server of a
person's choice has a line in `HOSTED`, too. To add a protocol, write a `Wire`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from judging.backends import anthropic, openai
from judging.backends.anthropic import Anthropic
from judging.backends.base import Backend, Setup
from judging.backends.decisions import DecisionModel
from judging.backends.lexical import Lexical
from judging.backends.openai import OpenAICompatible
from judging.backends.scripted import Replay
from judging.backends.vllm import VLLM

BACKENDS: dict[str, Callable[[Setup], Backend]] = {
    "openai": OpenAICompatible,
    "anthropic": Anthropic,
    "decisions": DecisionModel,
    "lexical": Lexical,
    "vllm": VLLM,
    "scripted": Replay,
}


@dataclass(frozen=True)
class Hosted:
    """The public server of a backend, and the environment variable that holds its key."""

    public_url: str
    key_variable: str


HOSTED: Mapping[str, Hosted] = {
    "openai": Hosted(openai.PUBLIC_URL, openai.KEY_VARIABLE),
    "anthropic": Hosted(anthropic.PUBLIC_URL, anthropic.KEY_VARIABLE),
    "decisions": Hosted(openai.PUBLIC_URL, openai.KEY_VARIABLE),
}
