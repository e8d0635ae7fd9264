"""Encode request bodies quickly: recurring parts are encoded once and cached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from cachetools import FIFOCache

from judging.backends.base import JSON, Message, Request

if TYPE_CHECKING:
    from hashlib import _Hash as Digest

CACHE_SIZE = 64
_ENCODER = json.JSONEncoder(ensure_ascii=False)
Frame = tuple[JSON, str, str]
FrameKey = tuple[int, int, tuple[Message, ...]]


class Bodies:
    """Encodes the bodies of one server's requests, and caches the parts that recur.

    `body` returns the JSON of a request, whose key `listed` holds its messages. Messages with a
    role in `apart` are elsewhere in the body. The bytes equal those of `json.dumps` with
    `ensure_ascii=False`.
    """

    def __init__(
        self,
        body: Callable[[Request], JSON],
        listed: str = "messages",
        apart: Collection[str] = (),
    ) -> None:
        self._body, self._listed, self._apart = body, listed, apart
        self._frames: FIFOCache[FrameKey, Frame] = FIFOCache(CACHE_SIZE)
        self._heads: FIFOCache[tuple[str, ...], tuple[bytes, Digest]] = FIFOCache(CACHE_SIZE)

    def encode(self, request: Request) -> tuple[bytes, str]:
        """Return a request's body and its SHA-256 in hexadecimal."""
        apart: tuple[Message, ...] = ()
        messages: Sequence[Message] = request.messages
        if self._apart:
            apart = tuple(m for m in messages if m.role in self._apart)
            messages = [m for m in messages if m.role not in self._apart]
        before, after = self._frame(request, apart)
        *earlier, last = messages
        head, begun = self._head(before, earlier, last)
        # The head already contains the opening quotation mark.
        own = encode_basestring(last.content[last.shared :])[1:]
        tail = f"{own}}}]{after}".encode()
        digest = begun.copy()
        digest.update(tail)
        return head + tail, digest.hexdigest()

    def _frame(self, request: Request, apart: tuple[Message, ...]) -> tuple[str, str]:
        """Return the JSON before and after the messages."""
        key = id(request.schema), request.sample, apart
        frame = self._frames.get(key)
        if frame is None or frame[0] is not request.schema:
            bare = Request(apart, request.schema, request.facts, request.sample)
            # Quotation marks inside strings are escaped, so only the key itself can match.
            before, _, after = _ENCODER.encode(self._body(bare)).partition(f'"{self._listed}": []')
            frame = self._frames[key] = request.schema, before, after
        return frame[1], frame[2]

    def _head(self, before: str, earlier: list[Message], last: Message) -> tuple[bytes, Digest]:
        """Return the bytes up to the shared beginning of the last message, and their digest."""
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
            data = f'{before}"{self._listed}": [{messages}{last_start}'.encode()
            head = self._heads[key] = data, hashlib.sha256(data)
        return head
