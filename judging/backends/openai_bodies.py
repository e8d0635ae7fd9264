"""Bodies of requests as bytes: what many of them share is written and digested once."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from judging.backends.base import JSON, Message, Request

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
