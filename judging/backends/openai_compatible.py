"""Any server that speaks OpenAI's chat completions: hosted, or vLLM and its like next door."""

from __future__ import annotations

import json
import os
from typing import Self

import aiohttp

from judging.backends.addresses import base_of
from judging.backends.base import (
    JSON,
    Answer,
    BackendError,
    FatalError,
    Findings,
    RejectedError,
    Request,
    Setup,
    SetupError,
    TransientError,
)
from judging.backends.openai_replies import read_reply

MAX_BODY = 4 * 1024 * 1024
LEAST_SECRET = 12
CHUNK = 64 * 1024
CONNECT_SECONDS = 5.0
DEFAULT_TIMEOUT = 120.0
SENT = ("temperature", "top_p", "seed", "max_tokens")


class OpenAICompatible:
    """One session with one server. No redirects are followed, and no proxy is guessed."""

    def __init__(self, setup: Setup) -> None:
        if not setup.model:
            raise SetupError("the openai backend needs a model; give --model")
        self.base_url = self.endpoint = base_of(setup.base_url)
        self.model = setup.model
        self.api_key_env = setup.api_key_env
        self.params = {"temperature": 0.0, "seed": 0} | dict(setup.params)
        self.timeout = float(self.params.get("timeout", DEFAULT_TIMEOUT))
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=self.timeout, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._session is not None:
            await self._session.close()

    def identity(self, request: Request) -> JSON:
        return {"endpoint": self.base_url, "body": self.body(request)}

    def body(self, request: Request) -> JSON:
        """The JSON that is sent."""
        body: JSON = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": request.schema},
            },
        }
        body |= {name: self.params[name] for name in SENT if name in self.params}
        if top := self.params.get("logprobs"):
            body |= {"logprobs": True, "top_logprobs": top}
        return body

    async def ask(self, request: Request) -> Answer:
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        try:
            return await self._post(request, key)
        except BackendError as error:
            _cut_out(key, error)
            raise

    async def probe(self) -> Findings:
        return Findings()

    async def _post(self, request: Request, key: str) -> Answer:
        if self._session is None:
            raise RuntimeError("ask inside the backend's async with block")
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        try:
            async with self._session.post(
                f"{self.base_url}/chat/completions",
                data=json.dumps(self.body(request), ensure_ascii=False).encode(),
                headers=headers,
                allow_redirects=False,
            ) as response:
                raw = _without(key, await _read(response))
                lowered = {name.lower(): value for name, value in response.headers.items()}
                return read_reply(response.status, lowered, raw)
        except (aiohttp.ClientError, OSError) as error:
            raise _transport(error, self.timeout) from error


async def _read(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK):
        raw += chunk
        if len(raw) > MAX_BODY:
            response.close()
            beginning = bytes(raw[:CHUNK]).decode("utf-8", "replace")
            message = f"the server's body is larger than {MAX_BODY // 1024**2} MB"
            raise RejectedError("too-large", message, status=response.status, body=beginning)
    return bytes(raw)


def _without(key: str, raw: bytes) -> bytes:
    """A body without the key, for servers that repeat it; a word such as `EMPTY` is no secret."""
    return raw.replace(key.encode(), b"[key]") if len(key) >= LEAST_SECRET else raw


def _transport(error: Exception, timeout: float) -> BackendError:
    """The failure behind an exception of the network; the most particular ones stand first."""
    said = " ".join(str(error).split())[:200]
    match error:
        case aiohttp.ConnectionTimeoutError():
            message = f"no connection within {CONNECT_SECONDS:g} s"
            return TransientError("connect-timeout", message, unreachable=True)
        case TimeoutError():
            return TransientError("deadline", f"no answer within {timeout:g} s")
        case aiohttp.InvalidURL():
            return FatalError("bad-address", f"the address cannot be used: {said}")
        case aiohttp.ClientConnectorCertificateError():
            return FatalError("certificate", f"the server's certificate does not hold: {said}")
        case aiohttp.ClientConnectorDNSError():
            return TransientError("dns", f"the host name is not known: {said}", unreachable=True)
        case aiohttp.ClientSSLError():
            return TransientError("tls", f"no secure connection: {said}", unreachable=True)
        case aiohttp.ClientConnectorError():
            return TransientError("refused-connection", said, unreachable=True)
        case aiohttp.ClientPayloadError():
            return TransientError("broken-body", "the body broke off")
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | OSError():
            return TransientError("reset", "the connection broke off")
        case _:
            return TransientError("bad-http", f"the answer is not HTTP: {said}")


def _cut_out(key: str, error: BackendError) -> None:
    """Takes the key out of a failure, for servers that repeat it."""
    if key:
        error.message = error.message.replace(key, "[key]")
        error.body = error.body.replace(key, "[key]")
        error.args = (error.message,)
