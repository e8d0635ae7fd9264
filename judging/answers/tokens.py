"""The tokens of an answer in their places, with their log probabilities: as a server sends them,
and as they are stored, which is those of its labels alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

BROKEN = "\ufffd"
LEAST = -1e9
KEPT = "label_tokens"


class NoLikelihoodError(ValueError):
    """The probabilities of the codes cannot be told, and why."""


@dataclass(frozen=True)
class Token:
    """A token that was written: its bytes, and the log probability of each that was listed.

    What is no number is NaN.
    """

    word: str
    raw: bytes
    logprob: float
    listed: tuple[tuple[str, float], ...]


Placed = tuple[int, bytes, Mapping[str, Any]]
"""Where a token begins in the bytes of its answer, its bytes, and its entry as it was sent."""


def place_tokens(text: str, logprobs: Any) -> list[Placed]:
    """The tokens in the `logprobs` of a choice, in their places. Raises NoLikelihoodError.

    Before the text may stand what the server took out of it, such as reasoning, and after it a
    token for the end. What `kept` has made of them is read, too.
    """
    if is_kept(logprobs):
        return _placed_as_kept(logprobs)
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not content:
        raise NoLikelihoodError("the server gave no log probabilities")
    raws = [_raw(entry) for entry in content]
    offset = b"".join(raws).rfind(in_bytes(text))
    if offset < 0:
        return list(_placed_by_words(text, content))
    starts = accumulate((len(raw) for raw in raws), initial=-offset)
    return [(start, raw, entry) for start, raw, entry in zip(starts, raws, content, strict=False)]


def kept(tokens: Sequence[Placed]) -> dict[str, Any]:
    """Some of the tokens of an answer, as JSON that any database takes; `place_tokens` reads it."""
    return {
        KEPT: [
            {"start": start, **_plain(entry)}
            | ({} if raw == entry["token"].encode("utf-8", "replace") else {"bytes": list(raw)})
            for start, raw, entry in tokens
        ]
    }


def unplaced(why: NoLikelihoodError) -> dict[str, Any]:
    """In the stead of tokens that `place_tokens` refuses: why, so that it says the same again."""
    return {KEPT: [], "unplaced": str(why)}


def is_kept(logprobs: Any) -> bool:
    return isinstance(logprobs, dict) and KEPT in logprobs


def _placed_as_kept(logprobs: Mapping[str, Any]) -> list[Placed]:
    if why := logprobs.get("unplaced"):
        raise NoLikelihoodError(why)
    return [(entry["start"], _raw(entry), entry) for entry in logprobs[KEPT]]


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The word of a token and the log probabilities of all that were listed, and nothing else."""
    tops = entry.get("top_logprobs")
    listed = [top for top in tops if _is_token(top)] if isinstance(tops, list) else []
    return {
        "token": entry["token"],
        "logprob": _finite(entry.get("logprob")),
        "top_logprobs": [
            {"token": top["token"], "logprob": _finite(top.get("logprob"))} for top in listed
        ],
    }


def _finite(logprob: Any) -> float | None:
    number = _number(logprob)
    return None if math.isnan(number) else max(number, LEAST)


def _placed_by_words(text: str, content: Sequence[Mapping[str, Any]]) -> Iterator[Placed]:
    """The same for servers that spell a part of a character as U+FFFD.

    What follows such tokens must stand at most as many characters later as there were of them.
    """
    at = start = broken = 0
    for entry in content:
        word = entry["token"]
        if at == len(text):
            return
        if not word or BROKEN in word:
            broken += 1
            continue
        found = text.find(word, at, at + broken + len(word))
        if found < 0:
            raise NoLikelihoodError("the server's tokens do not make up the answer")
        start += len(in_bytes(text[at:found]))
        yield start, in_bytes(word), entry
        at, start, broken = found + len(word), start + len(in_bytes(word)), 0


def _raw(entry: Any) -> bytes:
    if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
        raise NoLikelihoodError("the server's tokens cannot be read")
    raw = entry.get("bytes")
    try:
        return bytes(raw) if isinstance(raw, list) else in_bytes(entry["token"])
    except (TypeError, ValueError):
        return in_bytes(entry["token"])


def in_bytes(text: str) -> bytes:
    """UTF-8 of any text, halves of surrogate pairs among it."""
    return text.encode("utf-8", "surrogatepass")


def token_of(raw: bytes, entry: Mapping[str, Any]) -> Token:
    """A token with all that was listed in its place, from its entry as it was sent."""
    word, tops = entry["token"], entry.get("top_logprobs")
    every = {word: _number(entry.get("logprob"))}
    for top in tops if isinstance(tops, list) else ():
        if _is_token(top):
            every.setdefault(top["token"], _number(top.get("logprob")))
    return Token(word, raw, every[word], tuple(every.items()))


def _is_token(top: Any) -> bool:
    return isinstance(top, dict) and isinstance(top.get("token"), str)


def _number(logprob: Any) -> float:
    try:
        # The number comes first: min(0.0, nan) would be 0.0, which is certainty.
        return min(float(logprob), 0.0) if isinstance(logprob, int | float) else math.nan
    except OverflowError:
        return math.nan
