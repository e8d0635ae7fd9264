"""The backend for any server with OpenAI's chat completions API, hosted or local."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import aiohttp
from cachetools import FIFOCache

from judging.backends.base import (
    JSON,
    Answer,
    BackendError,
    FatalError,
    FinalError,
    Findings,
    Message,
    Request,
    Setup,
    SetupError,
)
from judging.backends.capabilities import call_slots, fetch_identity, probe, short_answers
from judging.backends.openai_transport import (
    CONNECT_SECONDS,
    read_body,
    read_reply,
    redact_error,
    redact_key,
    transport_failure,
)
from judging.backends.ssrf_guard import guard_for

if TYPE_CHECKING:
    from hashlib import _Hash as Digest

PUBLIC_URL = "https://api.openai.com/v1"
DEFAULT_TIMEOUT = 600.0
FETCH_SECONDS = 10.0
# No tokenizer comes close to packing prose this tightly.
MAX_CHARACTERS_PER_TOKEN = 16
SENT_PARAMS = ("temperature", "top_p", "seed", "max_tokens")
CACHE_SIZE = 64
_VERSION = re.compile(r"/v\d[^/]*(/.*)?$")
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_MESSAGES = '"messages": []'
Frame = tuple[JSON, str, str]


class Bodies:
    """Encodes the bodies of one server's requests, and caches the parts that recur.

    `body` returns the JSON of a request. The bytes equal those of `json.dumps` with
    `ensure_ascii=False`.
    """

    def __init__(self, body: Callable[[Request], JSON]) -> None:
        self._body = body
        self._frames: FIFOCache[tuple[int, int], Frame] = FIFOCache(CACHE_SIZE)
        self._heads: FIFOCache[tuple[str, ...], tuple[bytes, Digest]] = FIFOCache(CACHE_SIZE)

    def encode(self, request: Request) -> tuple[bytes, str]:
        """Return a request's body and its SHA-256 in hexadecimal."""
        before, after = self._frame(request)
        *earlier, last = request.messages
        head, begun = self._head(before, earlier, last)
        # The head already contains the opening quotation mark.
        own = encode_basestring(last.content[last.shared :])[1:]
        tail = f"{own}}}]{after}".encode()
        digest = begun.copy()
        digest.update(tail)
        return head + tail, digest.hexdigest()

    def _frame(self, request: Request) -> tuple[str, str]:
        """Return the JSON before and after the messages."""
        key = id(request.schema), request.sample
        frame = self._frames.get(key)
        if frame is None or frame[0] is not request.schema:
            bare = Request((), request.schema, request.facts, request.sample)
            # Quotation marks inside strings are escaped, so only the key itself can match.
            before, _, after = _ENCODER.encode(self._body(bare)).partition(_MESSAGES)
            frame = self._frames[key] = request.schema, before, after
        return frame[1], frame[2]

    def _head(self, before: str, earlier: list[Message], last: Message) -> tuple[bytes, Digest]:
        """Return the bytes up to the last message's own part, and their digest."""
        shared = last.content[: last.shared]
        key = before, last.role, shared, *(text for m in earlier for text in (m.role, m.content))
        head = self._heads.get(key)
        if head is None:
            messages = "".join(
                f'{{"role": "{m.role}", "content": {encode_basestring(m.content)}}}, '
                for m in earlier
            )
            open_end = encode_basestring(shared)[:-1]
            last_start = f'{{"role": "{last.role}", "content": {open_end}'
            data = f'{before}"messages": [{messages}{last_start}'.encode()
            head = self._heads[key] = data, hashlib.sha256(data)
        return head


def parse_base_url(text: str) -> str:
    """Check a base URL and add a version if its path has none. Raises SetupError."""
    url = (text or PUBLIC_URL).strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading the port validates it
    except ValueError as error:
        raise SetupError(f"base URL {text!r} cannot be read; {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SetupError(
            f"base URL {text!r} is not of the form http://HOST or https://HOST; correct it"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise SetupError(
            "the base URL contains a user, a query or a fragment; remove it, and name the "
            "environment variable that holds the key"
        )
    versioned = any(re.match(r"v\d", segment) for segment in parts.path.split("/"))
    return url if versioned else f"{url}/v1"


class OpenAICompatible:
    """One session with one server, without redirects and without proxies from the environment."""

    def __init__(self, setup: Setup) -> None:
        if not setup.model:
            raise SetupError("the openai backend needs a model; give --model")
        self.base_url = self.endpoint = parse_base_url(setup.base_url)
        self.guard = guard_for(self.base_url, setup.listed_hosts)
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
            # A small compressed body could expand past the limit on what is read.
            headers={"Accept-Encoding": "identity"},
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._session is not None:
            await self._session.close()

    def identity(self, request: Request) -> JSON:
        """Return the address and a digest of the exact bytes that are sent to it."""
        request.written[self], sent = self._bodies.encode(request)
        return {"endpoint": self.base_url, "sent": sent}

    def encode(self, request: Request) -> bytes:
        """Return the body as it is sent, encoded once for each request."""
        if self not in request.written:
            request.written[self], _ = self._bodies.encode(request)
        return request.written[self]

    def body(self, request: Request) -> JSON:
        """Return the JSON that is sent."""
        body: JSON = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        }
        if request.schema:
            form = {"name": "answer", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        body |= {name: self.params[name] for name in SENT_PARAMS if name in self.params}
        body["seed"] += request.sample
        if top := self.params.get("logprobs"):
            body |= {"logprobs": True, "top_logprobs": top}
        return body

    async def ask(self, request: Request) -> Answer:
        self._check_length(request)
        return (await self._completed(self.encode(request)))[0]

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
        answer, raw = await self._completed(json.dumps(body, ensure_ascii=False).encode())
        return answer, json.loads(raw)

    async def fetch(self, path: str) -> str | None:
        """Read a path next to the completions, or under the root if it begins with a slash."""
        root = _VERSION.sub("", self.base_url) if path.startswith("/") else f"{self.base_url}/"
        try:
            seconds = min(self.timeout, FETCH_SECONDS)
            status, _, raw = await self._exchange("GET", f"{root}{path}", None, seconds)
        except BackendError as error:
            if isinstance(error, FatalError) or getattr(error, "unreachable", False):
                raise
            return None
        return raw.decode("utf-8", "replace") if status == 200 else None

    def _check_length(self, request: Request) -> None:
        """Reject a prompt that cannot fit with any tokenizer. The server checks the others."""
        length = sum(len(message.content) for message in request.messages)
        if self.context is not None and length > self.context * MAX_CHARACTERS_PER_TOKEN:
            limit = f"the model takes {self.context:,} tokens"
            raise FinalError("too-long", f"the prompt has {length:,} characters, {limit}")

    async def _completed(self, data: bytes) -> tuple[Answer, bytes]:
        url = f"{self.base_url}/chat/completions"
        status, headers, raw = await self._exchange("POST", url, data, self.timeout)
        try:
            return read_reply(status, headers, raw), raw
        except BackendError as error:
            self._redact(error)
            raise

    async def _exchange(
        self, method: str, url: str, data: bytes | None, seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers (in any case) and body. Raises BackendError."""
        if self._session is None:
            raise RuntimeError("ask inside the backend's async with block")
        key = self._key()
        headers = {"Content-Type": "application/json"} if data else {}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        # Naming the payload's kind saves aiohttp the search by the type of the data.
        payload = aiohttp.BytesPayload(data) if data else None
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        try:
            async with self._session.request(
                method, url, data=payload, headers=headers, allow_redirects=False, timeout=timeout
            ) as response:
                raw = redact_key(key, await read_body(response))
                return response.status, response.headers, raw
        except BackendError as error:
            self._redact(error)
            raise
        except (aiohttp.ClientError, OSError) as error:
            failure = transport_failure(error, seconds)
            self._redact(failure)
            raise failure from error

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        if not key.isprintable():
            message = f"the key in {self.api_key_env} contains a line break; write it on one line"
            raise FatalError("key", message)
        return key

    def _redact(self, error: BackendError) -> None:
        """Remove from a failure what must stay secret: the key, and a guarded server's text."""
        redact_error(self._key(), error)
        self.guard.redact(error)
