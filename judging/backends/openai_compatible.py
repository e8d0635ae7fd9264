"""Any server that speaks OpenAI's chat completions: hosted, or vLLM and its like next door."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, Self

import aiohttp

from judging.backends.addresses import base_of
from judging.backends.base import (
    JSON,
    Answer,
    BackendError,
    FatalError,
    FinalError,
    Findings,
    Request,
    Setup,
    SetupError,
)
from judging.backends.guard import guard_of
from judging.backends.identifying import identity_of, places_at, short_answers
from judging.backends.openai_bodies import Bodies
from judging.backends.openai_http import (
    CONNECT_SECONDS,
    cut_out,
    read_body,
    transport_failure,
    without,
)
from judging.backends.openai_replies import read_reply
from judging.backends.probing import probe

DEFAULT_TIMEOUT = 600.0
LOOK_SECONDS = 10.0
# No tokenizer packs prose tighter, by far.
MOST_LETTERS = 16
_VERSION = re.compile(r"/v\d[^/]*(/.*)?$")
SENT = ("temperature", "top_p", "seed", "max_tokens")


class OpenAICompatible:
    """One session with one server. No redirects are followed, and no proxy is guessed."""

    def __init__(self, setup: Setup) -> None:
        if not setup.model:
            raise SetupError("the openai backend needs a model; give --model")
        self.base_url = self.endpoint = base_of(setup.base_url)
        self.guard = guard_of(self.base_url, setup.listed_hosts)
        self.model = setup.model
        self.api_key_env = setup.api_key_env
        self.params: Mapping[str, Any] = {"temperature": 0.0, "seed": 0} | dict(setup.params)
        self.timeout = float(self.params.get("timeout", DEFAULT_TIMEOUT))
        self.context: int | None = None
        self._bodies = Bodies(self.body)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=self.guard.connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A small packed body may unfold to any size, past the cap on what is read.
            headers={"Accept-Encoding": "identity"},
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._session is not None:
            await self._session.close()

    def identity(self, request: Request) -> JSON:
        """The address, and a digest of the very bytes that are sent there."""
        request.written[self], sent = self._bodies.written(request)
        return {"endpoint": self.base_url, "sent": sent}

    def written(self, request: Request) -> bytes:
        """The body as it is sent, made once for each request."""
        if self not in request.written:
            request.written[self], _ = self._bodies.written(request)
        return request.written[self]

    def body(self, request: Request) -> JSON:
        """The JSON that is sent."""
        body: JSON = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        }
        if request.schema:
            form = {"name": "answer", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        body |= {name: self.params[name] for name in SENT if name in self.params}
        body["seed"] += request.sample
        if top := self.params.get("logprobs"):
            body |= {"logprobs": True, "top_logprobs": top}
        return body

    async def ask(self, request: Request) -> Answer:
        self._check_length(request)
        return (await self._completed(self.written(request)))[0]

    async def probe(self) -> Findings:
        findings = await probe(self)
        self.recall(findings.facts)
        return findings

    def recall(self, facts: Mapping[str, Any]) -> None:
        """Takes over what a probe found out before, here or in another process."""
        self.context = facts.get("max_model_len")

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        """Which model under which version answers; with `answers`, five completions tell more."""
        found = await identity_of(self)
        if answers and (said := await short_answers(self, places_at(self))):
            found["answers"] = said
        return found

    async def complete(self, body: JSON) -> tuple[Answer, JSON]:
        """The answer to any body, and the whole of what was sent. Raises BackendError."""
        answer, raw = await self._completed(json.dumps(body, ensure_ascii=False).encode())
        return answer, json.loads(raw)

    async def look(self, path: str) -> str | None:
        """What stands at a path beside the completions, or of the root with a slash in front."""
        root = _VERSION.sub("", self.base_url) if path.startswith("/") else f"{self.base_url}/"
        try:
            seconds = min(self.timeout, LOOK_SECONDS)
            status, _, raw = await self._exchange("GET", f"{root}{path}", None, seconds)
        except BackendError as error:
            if isinstance(error, FatalError) or getattr(error, "unreachable", False):
                raise
            return None
        return raw.decode("utf-8", "replace") if status == 200 else None

    def _check_length(self, request: Request) -> None:
        """Turns down what cannot fit in any tokenizer; the rest is for the server to say."""
        length = sum(len(message.content) for message in request.messages)
        if self.context is not None and length > self.context * MOST_LETTERS:
            takes = f"the model takes {self.context:,} tokens"
            raise FinalError("too-long", f"the prompt has {length:,} characters, {takes}")

    async def _completed(self, data: bytes) -> tuple[Answer, bytes]:
        url = f"{self.base_url}/chat/completions"
        status, headers, raw = await self._exchange("POST", url, data, self.timeout)
        try:
            return read_reply(status, headers, raw), raw
        except BackendError as error:
            self._silence(error)
            raise

    async def _exchange(
        self, method: str, url: str, data: bytes | None, seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers whatever their case, and body. Raises BackendError."""
        if self._session is None:
            raise RuntimeError("ask inside the backend's async with block")
        key = self._key()
        headers = {"Content-Type": "application/json"} if data else {}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        # As a payload of known kind: else one is looked for by the type of the data.
        payload = aiohttp.BytesPayload(data) if data else None
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        try:
            async with self._session.request(
                method, url, data=payload, headers=headers, allow_redirects=False, timeout=timeout
            ) as response:
                raw = without(key, await read_body(response))
                return response.status, response.headers, raw
        except BackendError as error:
            self._silence(error)
            raise
        except (aiohttp.ClientError, OSError) as error:
            failure = transport_failure(error, seconds)
            self._silence(failure)
            raise failure from error

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        if not key.isprintable():
            wrong = f"the key in {self.api_key_env} holds a line break; give it on one line"
            raise FatalError("key", wrong)
        return key

    def _silence(self, error: BackendError) -> None:
        """Takes out of a failure what nobody may read: the key, and a guarded server's words."""
        cut_out(self._key(), error)
        self.guard.mute(error)
