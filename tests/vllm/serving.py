"""The vLLM that runs beside a test: its process, its counters and its tokenizer."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from judging.backends.vllm_server import KEY_VARIABLE, SERVERS, ServerProcess
from judging.judge_backends import build_backend
from judging.judges import Definition, define
from judging.models import Judge
from judging.params import read_params
from tests.patience import PATIENCE

PARAMS = ("max_model_len=16384", "dtype=float32", "gpu_memory=0.3", "max_tokens=800")


def judge(name: str, model: str, *params: str, granularity: str = "item") -> Judge:
    """A judge over the tiny model. All of them share one server."""
    given = read_params([*PARAMS, *params])
    return define(Definition(name, "vllm", model, granularity=granularity, params=given))[0]


def start(rater: Judge) -> None:
    """Sees to it that the judge's server is up, and asks it nothing."""
    backend = build_backend(rater)

    async def inside() -> None:
        async with backend:
            pass

    asyncio.run(inside())


def started() -> ServerProcess:
    (server,) = SERVERS._servers.values()
    return server.current()


def kill() -> None:
    """The server and all that it started, without a chance to tidy up."""
    watchdog = started().watchdog
    children = Path(f"/proc/{watchdog.pid}/task/{watchdog.pid}/children").read_text("utf-8").split()
    os.killpg(int(children[0]), signal.SIGKILL)
    watchdog.wait(PATIENCE)


def counter(name: str) -> float:
    """The sum of one of the server's counters over its labels."""
    with urllib.request.urlopen(f"{started().url}/metrics", timeout=10) as response:
        text = response.read().decode()
    found = re.findall(rf"^vllm:{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    return sum(map(float, found))


def block_size() -> int:
    """How many tokens the prefix cache takes together."""
    with urllib.request.urlopen(f"{started().url}/metrics", timeout=10) as response:
        found = re.search(
            r'vllm:cache_config_info{[^}]*block_size="(\d+)"', response.read().decode()
        )
    assert found is not None
    return int(found[1])


def tokens(messages: Sequence[dict[str, Any]], model: str) -> list[int]:
    body = json.dumps({"model": model, "messages": messages}).encode()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ[KEY_VARIABLE]}",
    }
    request = urllib.request.Request(f"{started().url}/tokenize", body, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return list(json.load(response)["tokens"])
