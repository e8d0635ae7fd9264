"""The registry of backends by name. A new one is one module here and one line below."""

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
