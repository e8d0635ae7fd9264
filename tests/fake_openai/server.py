"""The server: chat completions, models, and two doors of its own, `/stats` and `/control`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fake_openai.answering import Rule, answer_to
from tests.fake_openai.faults import FAULTS, Case

MODEL = "fake-judge"


@dataclass
class Behaviour:
    """How the server behaves from now on.

    `latency` and `spread` are seconds (uniform from `latency` to their sum). `faults` are shares
    by name; `script` comes first, one entry a request. `capacity` is the number of calls at once
    above which it answers 429. `key`, if set, must be sent.
    """

    latency: float = 0.0
    spread: float = 0.0
    rule: Rule = field(default_factory=Rule)
    faults: Mapping[str, float] = field(default_factory=dict)
    script: Sequence[str] = ()
    retry_after: str | None = None
    capacity: int | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        for name in (*self.faults, *(n for n in self.script if n != "ok")):
            if name not in FAULTS:
                raise ValueError(f"{name!r} is no fault; the faults are {', '.join(FAULTS)}")


class FakeOpenAI:
    """The state of one server: its behaviour, and what it has seen."""

    def __init__(self, behaviour: Behaviour, seed: int = 0) -> None:
        self.seed = seed
        self.behave(behaviour)
        self.forget()

    def behave(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.script = list(behaviour.script)
        self.random = random.Random(self.seed)

    def forget(self) -> None:
        self.calls = self.under_way = self.most = 0
        self.prompts: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.usage: Counter[str] = Counter()
        self.last: dict[str, Any] = {}

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/v1/chat/completions", self.complete)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/stats", self.stats)
        app.router.add_post("/control", self.control)
        return app

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def stats(self, request: web.Request) -> web.Response:
        """Counts since the start or the last reset. `by_prompt` is by SHA-256 of the messages."""
        return web.json_response(
            {
                "calls": self.calls,
                "under_way": self.under_way,
                "most": self.most,
                "by_prompt": self.prompts,
                "by_outcome": self.outcomes,
                "usage": self.usage,
                "last": self.last,
            }
        )

    async def control(self, request: web.Request) -> web.Response:
        """Takes the fields of Behaviour (the rule as `answer` and `fixed`), and `reset`."""
        wanted = await request.json()
        if wanted.pop("reset", False):
            self.forget()
        rule = Rule(wanted.pop("answer", "yes"), wanted.pop("fixed", {}))
        try:
            self.behave(Behaviour(rule=rule, **wanted))
        except (TypeError, ValueError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"ok": True})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.calls += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.last = body
        try:
            return await self._answer(request, body)
        finally:
            self.under_way -= 1

    async def _answer(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        prompt = "\n".join(message["content"] for message in body["messages"])
        self.prompts[hashlib.sha256(prompt.encode()).hexdigest()] += 1
        outcome = self._outcome(request)
        if outcome != "429":
            await asyncio.sleep(self._seconds())
        self.outcomes[outcome] += 1
        good = self._good(body, prompt)
        if outcome != "ok":
            return await FAULTS[outcome](request, Case(good, self.behaviour.retry_after))
        self.usage.update(good["usage"])
        return web.json_response(good)

    def _outcome(self, request: web.Request) -> str:
        sent = request.headers.get("Authorization")
        if self.behaviour.key is not None and sent != f"Bearer {self.behaviour.key}":
            return "401"
        if self.behaviour.capacity is not None and self.under_way > self.behaviour.capacity:
            return "429"
        if self.script:
            return self.script.pop(0)
        drawn = self.random.random()
        for name, share in self.behaviour.faults.items():
            drawn -= share
            if drawn < 0:
                return name
        return "ok"

    def _seconds(self) -> float:
        return self.behaviour.latency + self.behaviour.spread * self.random.random()

    def _good(self, body: dict[str, Any], prompt: str) -> dict[str, Any]:
        form = body.get("response_format") or {}
        schema = form.get("json_schema", {}).get("schema", {"type": "string"})
        content = json.dumps(
            answer_to(schema, body["messages"][-1]["content"], self.behaviour.rule)
        )
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(content) // 4}
        usage["total_tokens"] = sum(usage.values())
        message = {"role": "assistant", "content": content, "refusal": None}
        return {
            "id": f"chatcmpl-{self.calls}",
            "object": "chat.completion",
            "model": body.get("model", MODEL),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }
