"""The command and the environment of a vLLM server, from a judge's parameters and the machine's."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judging.backends.base import SetupError

PROGRAM, EXTRA = "TANDEM_VLLM", "TANDEM_VLLM_ARGS"
PARAM_FLAGS = {
    "max_model_len": "--max-model-len",
    "tensor_parallel": "--tensor-parallel-size",
    "gpu_memory": "--gpu-memory-utilization",
    "quantization": "--quantization",
    "dtype": "--dtype",
    "revision": "--revision",
}
# Where a server's weights lie is nothing that its answers are meant to hang on.
PLACING = ("tensor_parallel", "gpu_memory")
# Without the first a model can spend its whole answer on blanks inside the JSON; the second tells
# what the prefix cache served. The log would otherwise grow by a line for each call.
ALWAYS = (
    "--structured-outputs-config",
    json.dumps({"backend": "xgrammar", "disable_any_whitespace": True}),
    "--enable-prompt-tokens-details",
    "--enable-prefix-caching",
    "--seed=0",
    "--uvicorn-log-level=warning",
)
# A server that runs a model has no use for our secrets, and our packages would hide its own.
KEPT_BACK = (
    "SECRET_KEY",
    "DATABASE_URL",
    "CELERY_BROKER_URL",
    "CELERY_RESULT_BACKEND",
    "DJANGO_SETTINGS_MODULE",
    "PYTHONPATH",
    "PYTHONHOME",
)
JUDGES_KEYS = ("OPENAI_API_KEY", "TANDEM_KEY_")
# Flags stand in manifests, and every user of the machine may read them.
SECRET_FLAGS = ("--api-key", "--hf-token")


@dataclass(frozen=True)
class Settings:
    """What makes two judges share a server: the program, the model, and all flags but the port."""

    program: str
    model: str
    flags: tuple[str, ...]

    def command(self, port: int) -> list[str]:
        """A model in a folder is found from anywhere, under the name that the judge has for it."""
        path = Path(self.model)
        model = str(path.resolve()) if path.is_dir() else self.model
        where = ("--host=127.0.0.1", f"--port={port}", f"--served-model-name={self.model}")
        return [self.program, "serve", model, *where, *self.flags]


def settings_of(model: str, params: Mapping[str, Any]) -> Settings:
    """Raises SetupError."""
    if not model:
        raise SetupError("the vllm backend needs a model; give --model")
    if model.startswith("-"):
        raise SetupError(f"model {model!r} begins with a dash; give a model's name or its folder")
    given = [f"{flag}={params[name]}" for name, flag in PARAM_FLAGS.items() if name in params]
    return Settings(_program(), model, (*ALWAYS, *given, *extra_flags()))


def _program() -> str:
    """A path is made whole, as the server starts in another folder; a name is looked up there."""
    given = os.environ.get(PROGRAM, "").strip() or "vllm"
    return str(Path(given).absolute()) if "/" in given else given


def extra_flags() -> tuple[str, ...]:
    """The operator's own, which come last and so win. Raises SetupError."""
    try:
        flags = tuple(shlex.split(os.environ.get(EXTRA, "")))
    except ValueError as error:
        raise SetupError(f"{EXTRA} cannot be read ({error}); mend its quotes") from error
    for flag in (each.partition("=")[0].replace("_", "-") for each in flags):
        if flag in SECRET_FLAGS:
            raise SetupError(
                f"{EXTRA} has a secret behind {flag}; give a model hub's token as HF_TOKEN, and no "
                "key, for the server has one of its own"
            )
    return flags


def environment(key: str) -> dict[str, str]:
    """The server's environment. The key is not in its command, which every user may read."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in KEPT_BACK and not name.startswith(JUDGES_KEYS)
    }
    return kept | {"VLLM_API_KEY": key, "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
