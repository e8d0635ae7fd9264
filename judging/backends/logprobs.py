"""The probability of each code that a judge could have given, from log probabilities.

A server that gives log probabilities lists, for each token of the answer, the likeliest tokens at
that position. The written code is followed token by token. Listed tokens that continue another code
give that code's probability, which is the product along its tokens. Blanks, quotation marks and
case do not distinguish tokens.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

REPLACEMENT_CHARACTER = "\ufffd"
LOWEST_LOGPROB = -1e9
STORED_KEY = "label_tokens"
MASKED = -1000.0
ROUNDING = 1e-6
_BEFORE = " \t\r\n\"':,{"
_AFTER = " \t\r\n,}]"


class NoLikelihoodError(ValueError):
    """The probabilities of the codes cannot be determined, for the given reason."""


@dataclass(frozen=True)
class Token:
    """A token of the answer: its bytes, and the log probability of each listed token.

    A log probability that is not a number is NaN.
    """

    word: str
    raw: bytes
    logprob: float
    listed: tuple[tuple[str, float], ...]


LocatedToken = tuple[int, bytes, Mapping[str, Any]]
"""A token's byte offset in the answer, its bytes, and the server's entry for it."""


def locate_tokens(text: str, logprobs: Any) -> list[LocatedToken]:
    """Locate the tokens in the `logprobs` of a choice. Raises NoLikelihoodError.

    Tokens may precede the text, such as reasoning that the server removed, and an end token may
    follow. The output of `tokens_as_json` is accepted, too.
    """
    if is_stored(logprobs):
        return _located_as_stored(logprobs)
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not content:
        raise NoLikelihoodError("the server gave no log probabilities")
    raws = [_raw(entry) for entry in content]
    offset = b"".join(raws).rfind(to_bytes(text))
    if offset < 0:
        return list(_located_by_words(text, content))
    starts = accumulate((len(raw) for raw in raws), initial=-offset)
    return [(start, raw, entry) for start, raw, entry in zip(starts, raws, content, strict=False)]


def tokens_as_json(tokens: Sequence[LocatedToken]) -> dict[str, Any]:
    """Convert tokens of an answer to JSON that any database stores and `locate_tokens` reads."""
    return {
        STORED_KEY: [
            {"start": start, **_storable_entry(entry)}
            | ({} if raw == entry["token"].encode("utf-8", "replace") else {"bytes": list(raw)})
            for start, raw, entry in tokens
        ]
    }


def unplaced_as_json(why: NoLikelihoodError) -> dict[str, Any]:
    """Convert an error from `locate_tokens` to JSON, from which `locate_tokens` raises it again."""
    return {STORED_KEY: [], "unplaced": str(why)}


def is_stored(logprobs: Any) -> bool:
    return isinstance(logprobs, dict) and STORED_KEY in logprobs


def _located_as_stored(logprobs: Mapping[str, Any]) -> list[LocatedToken]:
    if why := logprobs.get("unplaced"):
        raise NoLikelihoodError(why)
    return [(entry["start"], _raw(entry), entry) for entry in logprobs[STORED_KEY]]


def _storable_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a token's word and the log probabilities of all listed tokens, and nothing else."""
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
    return None if math.isnan(number) else max(number, LOWEST_LOGPROB)


def _located_by_words(text: str, content: Sequence[Mapping[str, Any]]) -> Iterator[LocatedToken]:
    """Locate the tokens from a server that replaces partial characters by U+FFFD.

    The next token may start at most one character later for each such token.
    """
    at = start = broken = 0
    for entry in content:
        word = entry["token"]
        if at == len(text):
            return
        if not word or REPLACEMENT_CHARACTER in word:
            broken += 1
            continue
        found = text.find(word, at, at + broken + len(word))
        if found < 0:
            raise NoLikelihoodError("the server's tokens do not make up the answer")
        start += len(to_bytes(text[at:found]))
        yield start, to_bytes(word), entry
        at, start, broken = found + len(word), start + len(to_bytes(word)), 0


def _raw(entry: Any) -> bytes:
    if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
        raise NoLikelihoodError("the server's tokens cannot be read")
    raw = entry.get("bytes")
    try:
        return bytes(raw) if isinstance(raw, list) else to_bytes(entry["token"])
    except (TypeError, ValueError):
        return to_bytes(entry["token"])


def to_bytes(text: str) -> bytes:
    """Encode any text as UTF-8, even with lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def parse_token(raw: bytes, entry: Mapping[str, Any]) -> Token:
    """Read a token and its listed alternatives from the server's entry."""
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
        # The number must come first, since min(0.0, nan) would be 0.0, which is certainty.
        return min(float(logprob), 0.0) if isinstance(logprob, int | float) else math.nan
    except OverflowError:
        return math.nan


@dataclass(frozen=True)
class Likelihoods:
    """The probability of each code, before renormalising. They need not sum to 1.

    A code in `bounded` was not listed, and its value is an upper bound. The codes in a set of
    `joint` begin with the same tokens, so only the sum of their probabilities is known. `masked` is
    true if the server removed all tokens that belong to no code, so that the codes' total
    probability means nothing.
    """

    codes: Mapping[str, float]
    bounded: frozenset[str] = frozenset()
    joint: Mapping[frozenset[str], float] | None = None
    masked: bool = False

    @property
    def mass(self) -> float:
        """The known total probability of the codes."""
        known = sum(p for code, p in self.codes.items() if code not in self.bounded)
        return min(1.0, known + sum((self.joint or {}).values()))


def likelihoods_at(
    text: str, tokens: Sequence[LocatedToken], span: tuple[int, int], codes: Sequence[str]
) -> Likelihoods:
    """Return the probabilities of the codes at `span`, which is in characters of the text.

    Raises NoLikelihoodError.
    """
    return _likelihoods(text, iter(tokens[_first_token(text, tokens, span) :]), span, codes)


def tokens_at(
    text: str, tokens: Sequence[LocatedToken], span: tuple[int, int], codes: Sequence[str]
) -> list[LocatedToken]:
    """Return the tokens that decide the result of `likelihoods_at`, or its error."""
    used: list[LocatedToken] = []

    def recorded() -> Iterator[LocatedToken]:
        for token in tokens[_first_token(text, tokens, span) :]:
            used.append(token)
            yield token

    with suppress(NoLikelihoodError):
        _likelihoods(text, recorded(), span, codes)
    return used


def _first_token(text: str, tokens: Sequence[LocatedToken], span: tuple[int, int]) -> int:
    """Return the index of the first token that overlaps the span."""
    at = len(to_bytes(text[: span[0]]))
    return bisect_right(tokens, at, key=lambda token: token[0] + len(token[1]))


def _likelihoods(
    text: str, tokens: Iterator[LocatedToken], span: tuple[int, int], codes: Sequence[str]
) -> Likelihoods:
    chosen, before = text[slice(*span)], text[: span[0]]
    if chosen not in codes:
        raise NoLikelihoodError("the code is written in another spelling")
    at = len(to_bytes(before))
    from_there = ((parse_token(raw, entry), max(0, at - start)) for start, raw, entry in tokens)
    return _Walk(chosen, codes, before.endswith('"')).follow(from_there)


class _Walk:
    """Follows the chosen code token by token. The open codes have the same beginning so far."""

    def __init__(self, chosen: str, codes: Sequence[str], quoted: bool) -> None:
        self.chosen, self.quoted = chosen, quoted
        self.open = set(codes)
        self.found: dict[str, float] = {}
        self.bounded: dict[str, float] = {}
        self.joint: dict[frozenset[str], float] = {}
        self.masked = False

    def follow(self, tokens: Iterator[tuple[Token, int]]) -> Likelihoods:
        so_far, path = "", 1.0
        for token, before in tokens:
            if math.isnan(token.logprob):
                raise NoLikelihoodError("the server's log probability of the code is not a number")
            still = self._share_out(token, so_far, path, _decode(token, before), opened=before > 0)
            path *= math.exp(token.logprob)
            if still == {self.chosen}:
                return self._result()
            self.open, so_far = still, so_far + _decode(token, before)
        raise NoLikelihoodError("the server's tokens end inside the code")

    def _share_out(
        self, token: Token, so_far: str, path: float, written: str, opened: bool
    ) -> set[str]:
        """Share out the probability at one token, and return the codes still open after it."""
        still = self._matching_codes(so_far, written, opened)
        listed, total = set(still), 0.0
        for word, logprob in token.listed:
            if math.isnan(logprob):
                continue
            self.masked |= logprob <= MASKED
            meant = still if word == token.word else self._matching_codes(so_far, word, opened)
            total += math.exp(logprob) if meant else 0.0
            listed |= meant
            # The chosen path's own probability is shared out at the next token.
            if word != token.word or still == {self.chosen}:
                self._credit(meant, path * math.exp(logprob))
        self.masked |= not so_far and len(token.listed) > 1 and total >= 1 - ROUNDING
        self.bounded |= dict.fromkeys(self.open - listed, path * _upper_bound(token))
        return still

    def _credit(self, meant: set[str], share: float) -> None:
        if len(meant) == 1:
            (code,) = meant
            self.found[code] = self.found.get(code, 0.0) + share
        elif meant:
            together = frozenset(meant)
            self.joint[together] = self.joint.get(together, 0.0) + share

    def _matching_codes(self, so_far: str, word: str, opened: bool) -> set[str]:
        """Return the open codes that continue or end with this token.

        `opened` is true if the first token included the quotation mark. A quotation mark alone
        then begins every code.
        """
        piece, ends = self._cut(word if so_far else word.lstrip(_BEFORE))
        begun = so_far + piece
        whole = {code for code in self.open if code.casefold() == begun.casefold()}
        if ends:
            return whole
        if not begun:
            return set(self.open) if opened and word.strip() else set()
        # A capital I begins many answers, but not the code "invalid".
        return whole | {code for code in self.open if code.startswith(begun)}

    def _cut(self, word: str) -> tuple[str, bool]:
        """Cut a token at the end of the code, and tell whether it contains that end."""
        ends = '"' if self.quoted else _AFTER
        at = next((n for n, letter in enumerate(word) if letter in ends), None)
        return (word, False) if at is None else (word[:at], True)

    def _result(self) -> Likelihoods:
        missing = {c: p for c, p in self.bounded.items() if c not in self.found}
        return Likelihoods(self.found | missing, frozenset(missing), self.joint, self.masked)


def _decode(token: Token, before: int) -> str:
    try:
        return token.raw[before:].decode("utf-8")
    except UnicodeDecodeError as error:
        raise NoLikelihoodError("a token ends inside a character of the code") from error


def _upper_bound(token: Token) -> float:
    """Return the highest probability that an unlisted token can have."""
    shares = [math.exp(logprob) for _, logprob in token.listed if not math.isnan(logprob)]
    return max(0.0, min(min(shares), 1.0 - sum(shares)))
