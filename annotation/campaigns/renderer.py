"""Render Markdown that other people wrote, in a process with limits of time and memory.

A few thousand brackets, or one wide table, take a renderer seconds and gigabytes. The process
`python -m annotation.campaigns.renderer` reads one text a line, as JSON, and answers each with a
line; one that spends its memory ends, and the next text gets a new process.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Self

from annotation.campaigns.markdown import is_markdown, render
from datasets.priority import limit_memory

SECONDS = 5.0
"""The processor time that rendering one text may take."""
PATIENCE = 60.0
MEMORY_MB = 512
LONGEST_HTML = 2_000_000  # characters
FOLDER = Path(__file__).parents[2]
CHUNK = 1024 * 1024
PLAIN = "plain"
"""Why a text without any signs of Markdown is not rendered."""
SLOW, LARGE = "slow", "large"


class NotRenderedError(Exception):
    """A text is shown as it was written. The message is one of `PLAIN`, `SLOW` and `LARGE`."""


class Renderer:
    """Renders texts in another process, which is started for the first one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def render(self, text: str) -> str:
        """Return a text as HTML. Raises NotRenderedError."""
        process = self._process or self._start()
        assert process.stdin
        try:
            process.stdin.write(json.dumps(text).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(self._line(process))
        except (OSError, ValueError) as error:
            self._end()
            raise NotRenderedError(SLOW if isinstance(error, TimeoutError) else LARGE) from error
        if "html" not in answer:
            raise NotRenderedError(answer["reason"])
        return str(answer["html"])

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "annotation.campaigns.renderer"],
            cwd=FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        """Return the next line, empty if the process has ended. Raises TimeoutError."""
        assert process.stdout
        found, until = bytearray(), time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while not found.endswith(b"\n"):
                if not ready.select(until - time.monotonic()):
                    raise TimeoutError
                piece = os.read(process.stdout.fileno(), CHUNK)
                if not piece:
                    return b""
                found += piece
        return bytes(found)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            # What the process never read cannot be flushed.
            with suppress(OSError):
                if pipe:
                    pipe.close()


def _answer(text: str) -> dict[str, str]:
    if not is_markdown(text):
        return {"reason": PLAIN}
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        html = render(text)
    except (TimeoutError, RecursionError):
        return {"reason": SLOW}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"html": html} if len(html) <= LONGEST_HTML else {"reason": LARGE}


def _stop(*_: object) -> NoReturn:
    raise TimeoutError


def main() -> None:
    limit_memory(MEMORY_MB)
    signal.signal(signal.SIGPROF, _stop)
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
