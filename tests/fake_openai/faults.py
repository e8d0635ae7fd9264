"""The ways in which the server misbehaves: functions of the request, by their names in `FAULTS`.

Tests ask for a fault as `NAME` or `NAME:SHARE`, where a seed decides which requests get it. A
`script` lists the faults request by request instead, with `ok` for a good answer.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fake_openai.streaming import events_of
from tests.fake_openai.wires import CHAT, Wire

Fault = Callable[[web.Request, "Case"], Awaitable[web.StreamResponse]]
HANG_SECONDS = 3600.0
HUGE = 6 * 1024 * 1024


@dataclass(frozen=True)
class Case:
    """What a fault may use: the good answer, the text of Retry-After, if any, and the protocol.

    The answer has the form of chat completions; the protocol translates it.
    """

    good: dict[str, Any]
    retry_after: str | None = None
    wire: Wire = CHAT

    @property
    def answered(self) -> Any:
        return self.wire.answered(self.good)

    def error(
        self, code: int, message: str, error_code: str | None, headers: dict[str, str]
    ) -> web.Response:
        error = self.wire.error(code, message, error_code)
        return web.json_response(error, status=code, headers=headers)


async def too_many(request: web.Request, case: Case) -> web.StreamResponse:
    headers = {} if case.retry_after is None else {"Retry-After": case.retry_after}
    return case.error(429, "Rate limit reached", "rate_limit_exceeded", headers)


async def hang(request: web.Request, case: Case) -> web.StreamResponse:
    await asyncio.sleep(HANG_SECONDS)
    return web.json_response(case.answered)


async def trickle(request: web.Request, case: Case) -> web.StreamResponse:
    """Send one byte at a time, for longer than any deadline."""
    response = web.StreamResponse()
    await response.prepare(request)
    for byte in json.dumps(case.answered).encode():
        await response.write(bytes([byte]))
        await asyncio.sleep(0.2)
    return response


async def reset(request: web.Request, case: Case) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def half_body(request: web.Request, case: Case) -> web.StreamResponse:
    """Announce more bytes than are sent, and hang up."""
    raw = json.dumps(case.answered).encode()
    response = web.StreamResponse(headers={"Content-Length": str(len(raw) + 100)})
    await response.prepare(request)
    await response.write(raw)
    if request.transport is not None:
        request.transport.close()
    return response


async def huge(request: web.Request, case: Case) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(HUGE // 65536):
        await response.write(b" " * 65536)
    return response


async def packed(request: web.Request, case: Case) -> web.StreamResponse:
    """Send a small compressed body that unpacks to a large one, though the client accepts none."""
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return web.Response(body=gzip.compress(b" " * HUGE), headers=headers)


def status(code: int, message: str, error_code: str | None = None) -> Fault:
    async def answer(request: web.Request, case: Case) -> web.StreamResponse:
        return case.error(code, message, error_code, {})

    return answer


def body(raw: bytes, kind: str = "application/json") -> Fault:
    async def answer(request: web.Request, case: Case) -> web.StreamResponse:
        return web.Response(body=raw, content_type=kind)

    return answer


def changed(change: Callable[[dict[str, Any]], Any]) -> Fault:
    """Return a fault that changes the good answer."""

    async def answer(request: web.Request, case: Case) -> web.StreamResponse:
        good = json.loads(json.dumps(case.good))
        return web.json_response(case.wire.answered(change(good)))

    return answer


async def truncated_json(request: web.Request, case: Case) -> web.StreamResponse:
    raw = json.dumps(case.answered).encode()
    return web.Response(body=raw[: len(raw) // 2], content_type="application/json")


async def redirect(request: web.Request, case: Case) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": "http://127.0.0.1:9/"})


async def says_the_key(request: web.Request, case: Case) -> web.StreamResponse:
    said = request.headers.get("Authorization") or request.headers.get("x-api-key", "none")
    return case.error(401, f"Incorrect API key provided: {said}", "invalid_api_key", {})


def _message(**values: Any) -> Callable[[dict[str, Any]], Any]:
    def change(good: dict[str, Any]) -> Any:
        good["choices"][0]["message"].update(values)
        return good

    return change


def _finish(reason: str | None, keep: int | None = None) -> Callable[[dict[str, Any]], Any]:
    def change(good: dict[str, Any]) -> Any:
        choice = good["choices"][0]
        choice["finish_reason"] = reason
        choice["message"]["content"] = choice["message"]["content"][:keep]
        return good

    return change


def _break_off(good: dict[str, Any]) -> Any:
    good["choices"][0]["error"] = {"code": 502, "message": "Upstream idle timeout"}
    return good


def _cut_prompt(good: dict[str, Any]) -> Any:
    good["usage"] |= {"prompt_tokens": 1, "total_tokens": 1 + good["usage"]["completion_tokens"]}
    return good


def _with_logprobs(number: str) -> Fault:
    choice = f'{{"message": {{"content": "{{}}"}}, "logprobs": {{"x": {number}}}, '
    return body(f'{{"choices": [{choice}"finish_reason": "stop"}}]}}'.encode())


def _parts(good: dict[str, Any]) -> Any:
    content = good["choices"][0]["message"]["content"]
    half = len(content) // 2
    parts = [{"type": "text", "text": text} for text in (content[:half], content[half:])]
    good["choices"][0]["message"]["content"] = parts
    return good


def encoded(encoding: str, pack: Callable[[bytes], bytes]) -> Fault:
    """Return a fault that compresses the good answer, though the client accepts none."""

    async def answer(request: web.Request, case: Case) -> web.StreamResponse:
        raw = pack(json.dumps(case.answered).encode())
        headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
        return web.Response(body=raw, headers=headers)

    return answer


def written_in(charset: str, declared: str | None = None) -> Fault:
    """Return a fault that writes the good answer, with a letter beyond ASCII, in a charset."""

    async def answer(request: web.Request, case: Case) -> web.StreamResponse:
        raw = json.dumps({"note": "café", **case.answered}, ensure_ascii=False).encode(charset)
        kind = "application/json" + (f"; charset={declared}" if declared else "")
        return web.Response(body=raw, headers={"Content-Type": kind})

    return answer


def within(code: Any) -> Fault:
    """Return a fault that sends an error with a code under the status 200."""

    async def answer(request: web.Request, case: Case) -> web.StreamResponse:
        return web.json_response({"error": {"code": code, "message": "as the inner code says"}})

    return answer


async def stream(request: web.Request, case: Case) -> web.StreamResponse:
    """Send the good answer in events, though the client did not ask for them."""
    raw = "".join(events_of(case.answered))
    return web.Response(text=raw, content_type="text/event-stream")


async def cut_stream(request: web.Request, case: Case) -> web.StreamResponse:
    events = events_of(case.answered)
    return web.Response(text="".join(events[:2]), content_type="text/event-stream")


FAULTS: dict[str, Fault] = {
    "429": too_many,
    "quota": status(429, "You exceeded your quota", "insufficient_quota"),
    **{str(code): status(code, f"status {code}") for code in (500, 502, 503, 504, 529, 408)},
    "400": status(400, "temperature is not supported"),
    "too-long": status(400, "This model's maximum context length is 4096 tokens", "context_length"),
    "401": says_the_key,
    "402": status(402, "pay first"),
    "403": status(403, "not for you"),
    "404": status(404, "the model does not exist", "model_not_found"),
    "hang": hang,
    "trickle": trickle,
    "reset": reset,
    "half-body": half_body,
    "empty": body(b""),
    "html": body(b"<html><body>Bad gateway</body></html>", "text/html"),
    "bad-utf8": body(b'{"choices": "\xff"}'),
    "truncated-json": truncated_json,
    "string": body(b'"ok"'),
    "nan": _with_logprobs("NaN"),
    "infinite": _with_logprobs("1e999"),
    "null-choice": body(b'{"choices": [null]}'),
    "packed": packed,
    "huge": huge,
    "redirect": redirect,
    "no-choices": changed(lambda good: {k: v for k, v in good.items() if k != "choices"}),
    "empty-choices": changed(lambda good: good | {"choices": []}),
    "null-content": changed(_message(content=None)),
    "parts": changed(_parts),
    "no-usage": changed(lambda good: {k: v for k, v in good.items() if k != "usage"}),
    "other-model": changed(lambda good: good | {"model": "another-model"}),
    "length": changed(_finish("length", 10)),
    "abort": changed(_finish("abort")),
    "no-reason": changed(_finish(None)),
    "broken-off": changed(_break_off),
    "cut-prompt": changed(_cut_prompt),
    "filtered": changed(_finish("content_filter", 0)),
    "refusal": changed(_message(content=None, refusal="I cannot help with that.")),
    "prose": changed(_message(content="Yes, the report answers it.")),
    "other-json": changed(_message(content='{"verdict": "yes"}')),
    "deep-json": changed(_message(content="[" * 100_000)),
    "gzip": encoded("gzip", gzip.compress),
    "deflate": encoded("deflate", zlib.compress),
    "brotli": encoded("br", lambda raw: b"\x0b" + raw[::-1]),
    "latin-1": written_in("latin-1", "ISO-8859-1"),
    "latin-1-unnamed": written_in("latin-1"),
    "utf-16": written_in("utf-16"),
    "bom": written_in("utf-8-sig"),
    "stream": stream,
    "cut-stream": cut_stream,
    **{f"within-{code}": within(code) for code in (400, 401, 402, 403, 404, 429, 502)},
    "within-words-429": within("429"),
}
