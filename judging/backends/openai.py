"""The backend for any server with OpenAI's chat completions, hosted or local."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import aiohttp

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
from judging.backends.capabilities import identity_of, places_at, probe, short_answers
from judging.backends.openai_transport import (
    CONNECT_SECONDS,
    cut_out,
    read_body,
    read_reply,
    transport_failure,
    without,
)
from judging.backends.ssrf_guard import guard_of

if TYPE_CHECKING:
    from hashlib import _Hash as Digest

KEPT = 64
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_MESSAGES = '"messages": []'
Frame = tuple[JSON, str, str]


class Bodies:
    """Writes the bodies of one server's requests; `body` gives the JSON of one.

    The bytes are those of `json.dumps` with `ensure_ascii=False`.
    """

    def __init__(self, body: Callable[[Request], JSON]) -> None:
        self._body = body
        self._frames: OrderedDict[tuple[int, int], Frame] = OrderedDict()
        self._heads: OrderedDict[tuple[str, ...], tuple[bytes, Digest]] = OrderedDict()

    def written(self, request: Request) -> tuple[bytes, str]:
        """A request's body, and its SHA-256 in hexadecimal."""
        before, after = self._frame(request)
        *earlier, last = request.messages
        head, begun = self._head(before, earlier, last)
        # The quotation marks of the part that is its own: the first is the head's.
        own = encode_basestring(last.content[last.shared :])[1:]
        tail = f"{own}}}]{after}".encode()
        digest = begun.copy()
        digest.update(tail)
        return head + tail, digest.hexdigest()

    def _frame(self, request: Request) -> tuple[str, str]:
        """What stands before and after the messages."""
        key = id(request.schema), request.sample
        frame = self._frames.get(key)
        if frame is None or frame[0] is not request.schema:
            bare = Request((), request.schema, request.facts, request.sample)
            # Quotation marks within a string are escaped, so nothing else can look like this key.
            before, _, after = _ENCODER.encode(self._body(bare)).partition(_MESSAGES)
            frame = self._frames[key] = request.schema, before, after
            _forget(self._frames)
        return frame[1], frame[2]

    def _head(self, before: str, earlier: list[Message], last: Message) -> tuple[bytes, Digest]:
        """The bytes up to the last message's own part, with what was digested of them."""
        shared = last.content[: last.shared]
        key = before, last.role, shared, *(text for m in earlier for text in (m.role, m.content))
        head = self._heads.get(key)
        if head is None:
            said = "".join(
                f'{{"role": "{m.role}", "content": {encode_basestring(m.content)}}}, '
                for m in earlier
            )
            open_end = encode_basestring(shared)[:-1]
            opening = f'{before}"messages": [{said}{{"role": "{last.role}", "content": {open_end}'
            written = opening.encode()
            head = self._heads[key] = written, hashlib.sha256(written)
            _forget(self._heads)
        return head


def _forget(kept: OrderedDict[Any, Any]) -> None:
    if len(kept) > KEPT:
        kept.popitem(last=False)


PUBLIC = "https://api.openai.com/v1"


def base_of(written: str) -> str:
    """The base URL with its version, added where the path names none. Raises SetupError."""
    url = (written or PUBLIC).strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError as error:
        raise SetupError(f"base URL {written!r} cannot be read; {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SetupError(f"base URL {written!r} is not http://HOST or https://HOST; mend it")
    if parts.username is not None or parts.query or parts.fragment:
        raise SetupError(
            "the base URL holds a user, a query or a fragment; leave it out and give the key by "
            "its environment variable"
        )
    versioned = any(re.match(r"v\d", segment) for segment in parts.path.split("/"))
    return url if versioned else f"{url}/v1"


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
