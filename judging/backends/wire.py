"""The backend for any server, and `Wire`: how one protocol writes requests and reads replies.

Session, guard, limits and redaction are the same for all protocols. Each protocol is a module with
a `Wire` of its own: `openai`, `responses`, `anthropic`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import aiohttp
from multidict import CIMultiDict

from judging.backends.addresses import Secrets, join_path, parse_base_url
from judging.backends.base import (
    ANY_FORM,
    JSON,
    Answer,
    BackendError,
    Facts,
    FatalError,
    FinalError,
    Findings,
    Message,
    Request,
    Setup,
    SetupError,
    UnassignedReply,
    note_reply,
)
from judging.backends.bodies import Bodies
from judging.backends.capabilities import call_slots, fetch_identity, probe, short_answers
from judging.backends.completeness import (
    MAX_CHARACTERS_PER_TOKEN,
    accepts_no_reason,
    with_whole_prompt,
)
from judging.backends.contents import HEADERS, check_once, sorted_object
from judging.backends.encodings import to_utf8
from judging.backends.ssrf_guard import guard_for
from judging.backends.transport import (
    CONNECT_SECONDS,
    read_body,
    read_reply,
    redact_error,
    redact_secrets,
    transport_failure,
)

DEFAULT_TIMEOUT = 600.0
FETCH_SECONDS = 10.0
# A short question has its own limits and sampling parameters.
SHORT_PARAMS: JSON = {"temperature": 0.0, "seed": 0}
KEPT_PARAMS = ("reasoning_effort", "chat_template_kwargs", "extra_body")
_NOTHING = Facts("", (), (), unit_by_unit=True)


class Wire(ABC):
    """A protocol, without state.

    `path` is where requests go, under the base URL, and `models` is where the models are listed.
    `listed` is the body's key for the messages, except those of the roles in `apart`. `defaults`
    are the params that are sent unless a judge sets or omits them. `keys` maps each optional param
    to its keys in the body. `unknown` are params that the protocol does not have, and that are not
    sent. `batch_url` is empty if there are no batch files of this protocol.
    """

    path: ClassVar[str]
    models: ClassVar[str] = "models"
    listed: ClassVar[str] = "messages"
    apart: ClassVar[frozenset[str]] = frozenset()
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 0.0}
    keys: ClassVar[Mapping[str, tuple[str, ...]]]
    unknown: ClassVar[frozenset[str]] = frozenset({"seed"})
    batch_url: ClassVar[str] = ""

    def check(self, params: Mapping[str, Any]) -> None:
        """Check the params of a judge. Raises SetupError."""
        check_once(params, self.keys)

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers of a request. The key may be empty."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    @abstractmethod
    def body(self, model: str, request: Request, params: Mapping[str, Any]) -> JSON:
        """Return the JSON of a request, with the messages directly after the model."""

    @abstractmethod
    def read(self, body: JSON, status: int, accept_no_reason: bool = False) -> Answer:
        """Read the JSON of a response with a good status. Raises BackendError.

        `accept_no_reason` accepts an answer without a finish reason.
        """


def reported_usage(prompt: Any, completion: Any, cached: Any, reasoning: Any) -> JSON:
    """Return the known token counts under the names used by chat completions."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    found: JSON = {name: count for name, count in usage.items() if isinstance(count, int)}
    if isinstance(cached, int):
        found["prompt_tokens_details"] = {"cached_tokens": cached}
    if isinstance(reasoning, int):
        found["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return found


class WireBackend:
    """One session with one server, without redirects and without proxies from the environment."""

    forkable = True

    def __init__(self, setup: Setup, wire: Wire, public_url: str) -> None:
        if not setup.model:
            raise SetupError("a judge on a server needs a model; give --model")
        wire.check(setup.params)
        self.wire, self.model, self.api_key_env = wire, setup.model, setup.api_key_env
        self.base_url = self.endpoint = parse_base_url(setup.base_url, public_url)
        self._identity_url, self._listed_hosts = self.base_url, setup.listed_hosts
        self.headers: Mapping[str, str] = sorted_object(setup.params.get(HEADERS, {}))
        self._secrets = Secrets(setup.api_key_env, self.headers, self.base_url)
        self.guard = guard_for(self.base_url, self._listed_hosts)
        self._extra: JSON = sorted_object(setup.params.get("extra_body", {}))
        self._omitted: tuple[str, ...] = tuple(setup.params.get("omit", ()))
        self.params: Mapping[str, Any] = self._sent(dict(wire.defaults) | dict(setup.params))
        self.timeout = float(self.params.get("timeout", DEFAULT_TIMEOUT))
        self.batch_url = wire.batch_url
        self._read = partial(wire.read, accept_no_reason=accepts_no_reason(self.params))
        self.context: int | None = None
        self._bodies = Bodies(self.body, wire.listed, wire.apart)
        self._session: aiohttp.ClientSession | None = None
        self.unassigned: list[UnassignedReply] = []

    def at(self, base_url: str) -> Self:
        """Return a backend that asks the same at another address. Raises SetupError.

        The requests of both are the same ones: they have one identity and are encoded once. The
        replies without an assignment are in one list.
        """
        other = copy(self)
        other.base_url = other.endpoint = parse_base_url(base_url, "")
        other._secrets = Secrets(self.api_key_env, self.headers, other.base_url)
        other.guard = guard_for(other.base_url, self._listed_hosts)
        other._session = None
        return other

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=self.guard.connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A small compressed body could expand beyond the size limit.
            headers={"Accept-Encoding": "identity"},
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._session is not None:
            await self._session.close()

    @property
    def written_key(self) -> object:
        """The key in `Request.written` of the bytes that are sent to all addresses."""
        return self._bodies

    def identity(self, request: Request) -> JSON:
        """Return the address and a digest of the exact bytes that are sent to it."""
        request.written[self._bodies], sent = self._bodies.encode(request)
        found: JSON = {"endpoint": self._identity_url, "sent": sent}
        if self.headers:
            found[HEADERS] = self.headers
        # Without a seed, repetitions are equal bytes, although each is a separate sample.
        if request.sample and "seed" not in self.params:
            found["sample"] = request.sample
        return found

    def encode(self, request: Request) -> bytes:
        """Return the body as it is sent, encoded once for each request."""
        if self._bodies not in request.written:
            request.written[self._bodies], _ = self._bodies.encode(request)
        return request.written[self._bodies]

    def body(self, request: Request) -> JSON:
        """Return the JSON that is sent."""
        return self._completed_body(request, self.params)

    def short_body(self, question: str, tokens: int) -> JSON:
        """Return the JSON of a short question, with equal sampling for all judges of a model."""
        params = self._sent({**self.wire.defaults, **SHORT_PARAMS})
        params |= {name: self.params[name] for name in KEPT_PARAMS if name in self.params}
        whole = "max_completion_tokens" in self.params and "max_tokens" not in self.params
        params["max_completion_tokens" if whole else "max_tokens"] = tokens
        request = Request((Message("user", question),), ANY_FORM, _NOTHING)
        return self._completed_body(request, params)

    def without(self, body: Mapping[str, Any], names: Iterable[str]) -> JSON:
        """Return a body without the keys that these params have in it."""
        keys = {key for name in names for key in self.wire.keys.get(name, (name,))}
        keys |= set(self._extra) if "extra_body" in names else set()
        return {key: value for key, value in body.items() if key not in keys}

    async def ask(self, request: Request) -> Answer:
        self._check_length(request)
        answer, _ = await self._completed(self.encode(request))
        return with_whole_prompt(request, answer)

    async def probe(self) -> Findings:
        findings = await probe(self)
        self.recall(findings.facts)
        return findings

    def recall(self, facts: Mapping[str, Any]) -> None:
        """Apply the facts of an earlier probe, made here or in another process."""
        self.context = facts.get("max_model_len")

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        """Return which model and version answers. `answers` adds hashes of five completions."""
        found = await fetch_identity(self)
        if answers and (hashes := await short_answers(self, call_slots(self))):
            found["answers"] = hashes
        return found

    async def complete(self, body: JSON) -> tuple[Answer, JSON]:
        """Return the answer to any body, and the whole response. Raises BackendError."""
        with note_reply(self.unassigned) as note:
            found = await self._completed(json.dumps(body, ensure_ascii=False).encode())
            note(found[0])
            return found

    async def exchange(self, body: JSON) -> tuple[int, Mapping[str, str], bytes]:
        """Send any body and return status, headers and the body of the response, not yet read.

        Raises BackendError.
        """
        data = json.dumps(body, ensure_ascii=False).encode()
        return await self._exchange("POST", self.wire.path, data, self.timeout)

    async def list_models(self) -> str | None:
        return await self.fetch(self.wire.models)

    async def fetch(self, path: str) -> str | None:
        """Read a path next to the completions, or under the root if it begins with a slash."""
        try:
            seconds = min(self.timeout, FETCH_SECONDS)
            status, _, raw = await self._exchange("GET", path, None, seconds)
        except BackendError as error:
            if isinstance(error, FatalError) or getattr(error, "unreachable", False):
                raise
            return None
        return raw.decode("utf-8", "replace") if status == 200 else None

    def read_reply(self, status: int, headers: Mapping[str, str], raw: bytes) -> Answer:
        """Read the answer in a response of this protocol. Raises BackendError."""
        return read_reply(status, headers, raw, self._read)

    def _sent(self, params: JSON) -> JSON:
        unsent = self.wire.unknown.union(self._omitted)
        return {name: value for name, value in params.items() if name not in unsent}

    def _completed_body(self, request: Request, params: Mapping[str, Any]) -> JSON:
        """Return a body without the omitted keys and with the additional ones."""
        body = self.wire.body(self.model, request, params)
        return self.without(body, self._omitted) | self._extra if self._changes else body

    @property
    def _changes(self) -> bool:
        return bool(self._omitted or self._extra)

    def _check_length(self, request: Request) -> None:
        """Reject a prompt that is too long for any tokenizer. The server checks shorter ones."""
        length = request.length
        if self.context is not None and length > self.context * MAX_CHARACTERS_PER_TOKEN:
            limit = f"the model takes {self.context:,} tokens"
            raise FinalError("too-long", f"the prompt has {length:,} characters, {limit}")

    async def _completed(self, data: bytes) -> tuple[Answer, JSON]:
        """Return the answer, and the whole JSON that it was read from. Raises BackendError."""
        status, headers, raw = await self._exchange("POST", self.wire.path, data, self.timeout)
        try:
            return read_reply(
                status, headers, raw, lambda body, status: (self._read(body, status), body)
            )
        except BackendError as error:
            self._redact(error)
            raise

    async def _exchange(
        self, method: str, path: str, data: bytes | None, seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers (in any case) and body, as UTF-8. Raises BackendError."""
        if self._session is None:
            raise RuntimeError("ask inside the backend's async with block")
        headers = CIMultiDict({"Content-Type": "application/json"} if data else {})
        headers.update(self.wire.headers(self._secrets.key()))
        headers.update(self._secrets.headers())
        # An explicit payload class saves aiohttp a lookup by type.
        payload = aiohttp.BytesPayload(data) if data else None
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        try:
            url = self._secrets.fill(join_path(self.base_url, path))
            async with self._session.request(
                method, url, data=payload, headers=headers, allow_redirects=False, timeout=timeout
            ) as response:
                plain = to_utf8(response.status, response.headers, await read_body(response))
                return response.status, response.headers, redact_secrets(self._hidden, plain)
        except BackendError as error:
            self._redact(error)
            raise
        except (aiohttp.ClientError, OSError) as error:
            failure = transport_failure(error, seconds)
            self._redact(failure)
            raise failure from error

    @property
    def _hidden(self) -> list[str]:
        return self._secrets.hidden()

    def _redact(self, error: BackendError) -> None:
        """Remove secrets from a failure: its own, and a guarded server's text."""
        redact_error(self._hidden, error)
        self.guard.redact(error)
