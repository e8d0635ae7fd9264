"""Which codes a judge could have given, and how likely each was, from log probabilities.

A server that gives log probabilities lists, for each token it wrote, the likeliest tokens in its
place. The code that was written is followed token by token. At each one the listed tokens are
alternatives: those that continue another code give that code's probability, which is the product
along the way. Blanks, quotation marks and case do not make another word of a token.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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


MASKED = -1000.0
ROUNDING = 1e-6
_BEFORE = " \t\r\n\"':,{"
_AFTER = " \t\r\n,}]"


@dataclass(frozen=True)
class Likelihoods:
    """The probability of each code, before renormalising. They need not sum to 1.

    A code in `bounded` was not listed; what stands for it is the most that it can have had. Codes
    in `joint` begin alike where the answer went another way: only the sum of their probabilities
    is known. `masked` where the server had removed every token that is no code's, so that the
    probability of all codes together tells nothing.
    """

    codes: Mapping[str, float]
    bounded: frozenset[str] = frozenset()
    joint: Mapping[frozenset[str], float] | None = None
    masked: bool = False

    @property
    def mass(self) -> float:
        """How likely it was that any of the codes is given, of what is known."""
        known = sum(p for code, p in self.codes.items() if code not in self.bounded)
        return min(1.0, known + sum((self.joint or {}).values()))


def likelihoods_at(
    text: str, tokens: Sequence[Placed], span: tuple[int, int], codes: Sequence[str]
) -> Likelihoods:
    """The probabilities of the codes for the one that stands at `span`, in characters of the text.

    Raises NoLikelihoodError.
    """
    return _likelihoods(text, iter(tokens[_first(text, tokens, span) :]), span, codes)


def tokens_at(
    text: str, tokens: Sequence[Placed], span: tuple[int, int], codes: Sequence[str]
) -> list[Placed]:
    """The tokens that decide what `likelihoods_at` says, be it that it cannot say anything."""
    looked_at: list[Placed] = []

    def noted() -> Iterator[Placed]:
        for token in tokens[_first(text, tokens, span) :]:
            looked_at.append(token)
            yield token

    with suppress(NoLikelihoodError):
        _likelihoods(text, noted(), span, codes)
    return looked_at


def _first(text: str, tokens: Sequence[Placed], span: tuple[int, int]) -> int:
    """The number of the first token that reaches into the span."""
    at = len(in_bytes(text[: span[0]]))
    return bisect_right(tokens, at, key=lambda token: token[0] + len(token[1]))


def _likelihoods(
    text: str, tokens: Iterator[Placed], span: tuple[int, int], codes: Sequence[str]
) -> Likelihoods:
    chosen, before = text[slice(*span)], text[: span[0]]
    if chosen not in codes:
        raise NoLikelihoodError("the code is written in another spelling")
    at = len(in_bytes(before))
    from_there = ((token_of(raw, entry), max(0, at - start)) for start, raw, entry in tokens)
    return _Walk(chosen, codes, before.endswith('"')).through(from_there)


class _Walk:
    """Follows the chosen code; what is still open are the codes that begin as it does so far."""

    def __init__(self, chosen: str, codes: Sequence[str], quoted: bool) -> None:
        self.chosen, self.quoted = chosen, quoted
        self.open = set(codes)
        self.found: dict[str, float] = {}
        self.bounded: dict[str, float] = {}
        self.joint: dict[frozenset[str], float] = {}
        self.masked = False

    def through(self, tokens: Iterator[tuple[Token, int]]) -> Likelihoods:
        so_far, path = "", 1.0
        for token, before in tokens:
            if math.isnan(token.logprob):
                raise NoLikelihoodError("the server's log probability of the code is no number")
            still = self._at(token, so_far, path, _written(token, before), opened=before > 0)
            path *= math.exp(token.logprob)
            if still == {self.chosen}:
                return self._all()
            self.open, so_far = still, so_far + _written(token, before)
        raise NoLikelihoodError("the server's tokens end inside the code")

    def _at(self, token: Token, so_far: str, path: float, written: str, opened: bool) -> set[str]:
        """Shares the probability out at one token; the codes that are open after it."""
        still = self._meant(so_far, written, opened)
        seen, told = set(still), 0.0
        for word, logprob in token.listed:
            if math.isnan(logprob):
                continue
            self.masked |= logprob <= MASKED
            meant = still if word == token.word else self._meant(so_far, word, opened)
            told += math.exp(logprob) if meant else 0.0
            seen |= meant
            # The probability of the way itself is shared out at the next token.
            if word != token.word or still == {self.chosen}:
                self._give(meant, path * math.exp(logprob))
        self.masked |= not so_far and len(token.listed) > 1 and told >= 1 - ROUNDING
        self.bounded |= dict.fromkeys(self.open - seen, path * _bound(token))
        return still

    def _give(self, meant: set[str], share: float) -> None:
        if len(meant) == 1:
            (code,) = meant
            self.found[code] = self.found.get(code, 0.0) + share
        elif meant:
            together = frozenset(meant)
            self.joint[together] = self.joint.get(together, 0.0) + share

    def _meant(self, so_far: str, word: str, opened: bool) -> set[str]:
        """The open codes that go on, or end, with this token.

        `opened` where the first token brought the quotation mark along: a mark alone is then the
        beginning of every code.
        """
        piece, ends = self._cut(word if so_far else word.lstrip(_BEFORE))
        begun = so_far + piece
        whole = {code for code in self.open if code.casefold() == begun.casefold()}
        if ends:
            return whole
        if not begun:
            return set(self.open) if opened and word.strip() else set()
        # A capital I begins many answers, and none of them is "invalid".
        return whole | {code for code in self.open if code.startswith(begun)}

    def _cut(self, word: str) -> tuple[str, bool]:
        """A token up to the end of the code, and whether that is in it."""
        ends = '"' if self.quoted else _AFTER
        at = next((n for n, letter in enumerate(word) if letter in ends), None)
        return (word, False) if at is None else (word[:at], True)

    def _all(self) -> Likelihoods:
        missing = {c: p for c, p in self.bounded.items() if c not in self.found}
        return Likelihoods(self.found | missing, frozenset(missing), self.joint, self.masked)


def _written(token: Token, before: int) -> str:
    try:
        return token.raw[before:].decode("utf-8")
    except UnicodeDecodeError as error:
        raise NoLikelihoodError("a token ends inside a character of the code") from error


def _bound(token: Token) -> float:
    """The most that a token which is not listed can have: as much as the last that is, or less."""
    shares = [math.exp(logprob) for _, logprob in token.listed if not math.isnan(logprob)]
    return max(0.0, min(min(shares), 1.0 - sum(shares)))
