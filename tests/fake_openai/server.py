"""The server: three protocols, some of vLLM's other addresses, and `/stats` and `/control`."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Mapping
from itertools import cycle
from typing import Any

from aiohttp import web

from tests.fake_openai.answering import Rule, answer_to, free_text
from tests.fake_openai.behaviour import Behaviour as Behaviour
from tests.fake_openai.caching import LETTERS, PrefixCache
from tests.fake_openai.deciding import PATHS, Deciding
from tests.fake_openai.faults import FAULTS, Case
from tests.fake_openai.limiting import Bucket
from tests.fake_openai.probabilities import first_token
from tests.fake_openai.wires import wire_of, wrong_with

MODEL = "fake-judge"
JSON = dict[str, Any]


DEPLOYMENT = "/openai/deployments/judge"


class FakeOpenAI:
    """The state of one server: its behaviour, and what it has seen."""

    def __init__(self, behaviour: Behaviour, seed: int = 0) -> None:
        self.seed = seed
        self.changed = asyncio.Event()
        self.forgotten = self.held = 0
        self.cache = PrefixCache()
        self.behave(behaviour)
        self.forget()

    def behave(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.changed.set()
        self.changed = asyncio.Event()
        self.script = list(behaviour.script)
        self.around = cycle(behaviour.around)
        self.random = random.Random(self.seed)
        self.slots = asyncio.Semaphore(behaviour.slots) if behaviour.slots else None
        rate, tokens = behaviour.rate, behaviour.tokens_per_minute
        self.calls_bucket = Bucket(rate, behaviour.burst) if rate else None
        self.tokens_bucket = Bucket(tokens / 60, tokens) if tokens else None

    def forget(self) -> None:
        self.forgotten += 1
        self.calls = self.under_way = self.most = self.working = 0
        self.prompts: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.usage: Counter[str] = Counter()
        self.last: JSON = {}
        self.last_url = ""
        self.last_headers: Mapping[str, str] = {}
        self.restart()

    def restart(self) -> None:
        """Behave like a new process: nothing is cached."""
        self.cache = PrefixCache()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024**2)
        for path in ("chat/completions", "responses", "messages"):
            app.router.add_post(f"/v1/{path}", self.complete)
        for path in PATHS:
            app.router.add_post(path, self.complete)
        app.router.add_post(f"{DEPLOYMENT}/chat/completions", self.complete)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/version", self.version)
        app.router.add_get("/health", self.health)
        app.router.add_get("/metrics", self.metrics)
        app.router.add_post("/tokenize", self.tokenize)
        app.router.add_get("/stats", self.stats)
        app.router.add_post("/control", self.control)
        return app

    async def models(self, request: web.Request) -> web.Response:
        if not self._let_in(request):
            return web.json_response({"error": {"message": "who are you?"}}, status=401)
        model: JSON = {"id": self.behaviour.model or MODEL, "object": "model", "owned_by": "vllm"}
        if self.behaviour.context is not None:
            model["max_model_len"] = self.behaviour.context
        return web.json_response({"object": "list", "data": [model]})

    async def version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": self.behaviour.version})

    async def health(self, request: web.Request) -> web.Response:
        return web.Response()

    async def metrics(self, request: web.Request) -> web.Response:
        """Some of vLLM's metrics, in the text format of Prometheus."""
        values = {
            "num_requests_running": self.working,
            "num_requests_waiting": self.under_way - self.working,
            "prefix_cache_queries_total": self.cache.queries,
            "prefix_cache_hits_total": self.cache.hits,
        }
        label = f'{{model_name="{self.behaviour.model or MODEL}"}}'
        lines = [f"vllm:{name}{label} {float(value)}\n" for name, value in values.items()]
        caching = self.behaviour.prefix_cache is not None
        lines.append(f'vllm:cache_config_info{{enable_prefix_caching="{caching}"}} 1.0\n')
        return web.Response(text="".join(lines))

    async def tokenize(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        count = len(_prompt(body) if "messages" in body else body["prompt"]) // LETTERS
        reply = {"count": count, "max_model_len": self.behaviour.context}
        return web.json_response(reply | {"tokens": list(range(count))})

    async def stats(self, request: web.Request) -> web.Response:
        """Counts since the start or the last reset. `by_prompt` is by SHA-256 of the messages."""
        return web.json_response(
            {
                "calls": self.calls,
                "under_way": self.under_way,
                "held": self.held,
                "most": self.most,
                "by_prompt": self.prompts,
                "by_outcome": self.outcomes,
                "usage": self.usage,
                "last": self.last,
            }
        )

    async def control(self, request: web.Request) -> web.Response:
        """Take the fields of Behaviour (the rule as `answer`, `fixed`), `reset` and `restart`."""
        body = await request.json()
        if body.pop("reset", False):
            self.forget()
        if body.pop("restart", False):
            self.restart()
        rule = Rule(body.pop("answer", "yes"), body.pop("fixed", {}))
        try:
            decides = Deciding(**body.pop("decides", {}))
            self.behave(Behaviour(rule=rule, decides=decides, **body))
        except (TypeError, ValueError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"ok": True})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        absent = request.path in PATHS and self.behaviour.decides.is_absent(request.path)
        if absent:
            return web.json_response({"error": {"message": "no such path"}}, status=absent)
        self.calls += 1
        self.under_way += 1
        counted = self.forgotten
        self.most = max(self.most, self.under_way)
        self.last, self.last_url, self.last_headers = body, str(request.rel_url), request.headers
        try:
            return await self._answer(request, body)
        finally:
            if counted == self.forgotten:
                self.under_way -= 1

    async def _answer(self, request: web.Request, body: JSON) -> web.StreamResponse:
        wire = wire_of(request, body)
        if wrong := wrong_with(wire, request, body):
            self.outcomes["wrong"] += 1
            return web.json_response(wire.error(400, wrong, None), status=400)
        sent, body = body, wire.asked(body)
        prompt, changed, most = _prompt(body), self.changed, self.behaviour.holds_after
        if request.path in PATHS and (no := self.behaviour.decides.status(request.path, body)):
            return web.json_response({"error": {"message": no[1]}}, status=no[0])
        if most is not None and self.calls > most:
            self.held += 1
            await changed.wait()
            self.held -= 1
        self.prompts[hashlib.sha256(prompt.encode()).hexdigest()] += 1
        wait = self._limited(len(prompt) // LETTERS)
        outcome = self._outcome(request, sent, len(prompt) // LETTERS) if wait is None else "429"
        async with self.slots or contextlib.nullcontext():
            self.working += 1
            try:
                cached, blocks = self._look_up(prompt)
                if outcome not in ("429", "too-long"):
                    await asyncio.sleep(self.behaviour.seconds(self.random))
            finally:
                self.working -= 1
        self.outcomes[outcome] += 1
        good = self._good(request.path, body, prompt, cached)
        if outcome != "ok":
            return await FAULTS[outcome](
                request, Case(good, self.behaviour.retry_after or wait, wire)
            )
        self.cache.keep(blocks)
        self.usage.update({k: n for k, n in good["usage"].items() if isinstance(n, int)})
        return web.json_response(wire.answered(good))

    def _limited(self, tokens: int) -> str | None:
        """Return how long to wait if one of the buckets is empty."""
        now = time.monotonic()
        wait = self.calls_bucket.take(1, now) if self.calls_bucket else 0.0
        if not wait and self.tokens_bucket:
            wait = self.tokens_bucket.take(tokens, now)
        return f"{wait:.3f}" if wait else None

    def _look_up(self, prompt: str) -> tuple[int | None, list[int]]:
        block = self.behaviour.prefix_cache
        return self.cache.find(prompt, block) if block else (None, [])

    def _let_in(self, request: web.Request) -> bool:
        if self.behaviour.key is None:
            return True
        sent = request.headers.get("x-api-key"), request.headers.get("Authorization")
        return sent in ((self.behaviour.key, None), (None, f"Bearer {self.behaviour.key}"))

    def _outcome(self, request: web.Request, body: JSON, tokens: int) -> str:
        behaviour = self.behaviour
        if not self._let_in(request):
            return "401"
        if behaviour.model is not None and body.get("model") != behaviour.model:
            return "404"
        if behaviour.context is not None and tokens > behaviour.context:
            return "too-long"
        if any(key in body for key in behaviour.refused):
            return "400"
        if behaviour.capacity is not None and self.under_way > behaviour.capacity:
            return "429"
        if self.script:
            return self.script.pop(0)
        drawn = self.random.random()
        for name, share in behaviour.faults.items():
            drawn -= share
            if drawn < 0:
                return name
        return "ok"

    def _good(self, path: str, body: JSON, prompt: str, cached: int | None) -> JSON:
        if path in PATHS:
            return self.behaviour.decides.reply(path, body)
        content, logprobs = self._content(body)
        usage: JSON = {
            "prompt_tokens": len(prompt) // LETTERS,
            "completion_tokens": len(content) // LETTERS,
        }
        usage["total_tokens"] = sum(usage.values())
        if cached is not None and self.behaviour.cached_in_usage:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        message = {"role": "assistant", "content": content, "refusal": None}
        if self.behaviour.reasoning:
            message["reasoning_content"] = self.behaviour.reasoning
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": logprobs}
        return {
            "id": f"chatcmpl-{self.calls}",
            "object": "chat.completion",
            "model": body.get("model", MODEL),
            "system_fingerprint": self.behaviour.system_fingerprint,
            "choices": [choice],
            "usage": usage,
        }

    def _content(self, body: JSON) -> tuple[str, JSON | None]:
        asked, weights = body["messages"][-1]["content"], self.behaviour.weights
        form = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        decides = self.behaviour.decides
        replies = (each for key, each in self.behaviour.replies.items() if key in asked)
        if form is None and (reply := next(replies, None)) is not None:
            return (reply, None) if isinstance(reply, str) else first_token(reply)
        if form is None and body.get("logprobs") and "first-token" in decides.forms:
            return decides.first_token(asked, body["top_logprobs"])
        # If the prompt asks for JSON, the model writes it, constrained or not.
        if form is None or not (self.behaviour.constrained or "JSON" in asked):
            return free_text(asked, weights), None
        value = answer_to(form, asked, self.behaviour.rule, weights)
        content = json.dumps(value, ensure_ascii=False)
        if self.behaviour.around:
            return next(self.around).replace("ANSWER", content), None
        if not body.get("logprobs") or self.behaviour.logprobs == "none":
            return content, None
        return content, self.behaviour.probabilities.of(form, value, body.get("top_logprobs") or 0)


def _prompt(body: JSON) -> str:
    if "questions" in body:
        return json.dumps(body)
    return "\n".join(message["content"] for message in body["messages"])
