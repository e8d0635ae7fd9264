"""A program in place of vLLM for tests without a model: `serve MODEL --port=N …` only.

FAKE_VLLM in its environment changes its behaviour, as JSON. It takes `slow` seconds until it
answers, holds all calls after `holds_after`, `says` a text on standard error and `exits` with a
code instead of serving, with `once` (a file) only at its first start, and `dies` after this many
calls. It starts a process of its own, as vLLM does, and appends its process id to the file `notes`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiohttp import web


def main(arguments: list[str]) -> int:
    options: dict[str, Any] = json.loads(os.environ.get("FAKE_VLLM", "{}"))
    child = subprocess.Popen(["sleep", "600"])
    _note(options, arguments, child.pid)
    time.sleep(options.get("slow", 0))
    if "says" in options and _refuses(options):
        print(options["says"], file=sys.stderr, flush=True)
        return int(options.get("exits", 1))
    port = next(a.partition("=")[2] for a in arguments if a.startswith("--port="))
    asyncio.run(_serve(int(port), options))
    return 0


def _note(options: dict[str, Any], arguments: list[str], child: int) -> None:
    if "notes" in options:
        names = ("SECRET_KEY", "DATABASE_URL", "PYTHONPATH", "VLLM_API_KEY", "OPENAI_API_KEY",
                 "ANTHROPIC_API_KEY", "TANDEM_KEY_LAB")  # fmt: skip
        note = {
            "pid": os.getpid(),
            "child": child,
            "arguments": arguments,
            "cwd": str(Path.cwd()),
            "env": {name: os.environ[name] for name in names if name in os.environ},
        }
        with Path(options["notes"]).open("a") as file:
            file.write(json.dumps(note) + "\n")


def _refuses(options: dict[str, Any]) -> bool:
    """Whether to refuse to start: always, or only at the first start."""
    if "once" not in options:
        return True
    first = Path(options["once"])
    if first.exists():
        return False
    first.touch()
    return True


async def _serve(port: int, options: dict[str, Any]) -> None:
    """These imports take most of a start, and a program that refuses to start needs none."""
    from aiohttp import web

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.fake_openai.server import Behaviour, FakeOpenAI

    async def health(request: web.Request) -> web.Response:
        return web.Response()

    fake = FakeOpenAI(
        Behaviour(key=os.environ["VLLM_API_KEY"], holds_after=options.get("holds_after"))
    )
    app = fake.app()
    app.router.add_get("/health", health)
    if "dies" in options:
        app.middlewares.append(_mortal(int(options["dies"])))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


def _mortal(calls: int) -> Any:
    """End the process in the middle of a call, after this many calls."""
    from aiohttp import web

    seen = 0

    @web.middleware
    async def middleware(request: web.Request, handler: Any) -> Any:
        nonlocal seen
        seen += request.path.endswith("/chat/completions")
        if seen > calls:
            os.kill(os.getpid(), 9)
        return await handler(request)

    return middleware


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
