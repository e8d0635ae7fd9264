"""Backends: how a judge is asked, with one module for each kind and this registry by name.

`base` defines what a backend is: `Backend`, its `Request` and `Answer`, and the errors of a call.
`openai` speaks the chat completions protocol, over the HTTP of `openai_transport` and behind
`ssrf_guard`. `vllm` starts a server (`vllm_server`, under `vllm_watchdog`) and asks it through
`openai`. `lexical` compares words and needs no model. `scripted` serves tests and benchmarks.
`capabilities` probes a server before a run, and `logprobs` reads the probability of each code.

To add a backend, add a module here and a line to `BACKENDS`.
"""

from __future__ import annotations

from collections.abc import Callable

from judging.backends.base import Backend, Setup
from judging.backends.lexical import Lexical
from judging.backends.openai import OpenAICompatible
from judging.backends.vllm import VLLM

BACKENDS: dict[str, Callable[[Setup], Backend]] = {
    "openai": OpenAICompatible,
    "lexical": Lexical,
    "vllm": VLLM,
}
