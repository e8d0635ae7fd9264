"""A backend that gives prepared answers, so that every path can run offline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from judging.backends.base import JSON, Answer, Findings, Request

Line = str | Answer | BaseException
Script = Callable[[Request], Line] | Mapping[str, Line] | Iterable[Line]


class Scripted:
    """Answers from a function of the request, by unit name, or from a list in order.

    A line that is an exception is raised. `asked` holds the requests in order. `most` is the
    largest number of requests in flight at once.
    """

    def __init__(self, script: Script, seconds: float = 0.0) -> None:
        self._line = _reader(script)
        self.seconds = seconds
        self.asked: list[Request] = []
        self.under_way = self.most = 0
        self.endpoint = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    def identity(self, request: Request) -> JSON:
        messages = [[m.role, m.content] for m in request.messages]
        asked = {"messages": messages, "schema": request.schema, "sample": request.sample}
        return {"backend": "scripted", **asked}

    async def ask(self, request: Request) -> Answer:
        self.asked.append(request)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
            line = self._line(request)
        finally:
            self.under_way -= 1
        if isinstance(line, BaseException):
            raise line
        return line if isinstance(line, Answer) else Answer(line, model="scripted")

    async def probe(self) -> Findings:
        return Findings()


def _reader(script: Script) -> Callable[[Request], Line]:
    if callable(script):
        return script
    if isinstance(script, Mapping):
        lines: Mapping[str, Any] = script
        return lambda request: lines[request.facts.units[0].name]
    rest = iter(script)
    return lambda request: next(rest)
