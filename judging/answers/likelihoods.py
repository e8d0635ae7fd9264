"""Which code a judge could have given at a place of its answer, and how likely each was.

A server that gives log probabilities lists, for each token it wrote, the likeliest tokens that
could have stood there. The code that was written is followed token by token. At each one the
tokens listed are alternatives: those with which another code goes on give that code's probability,
which is the product along the way. Blanks, quotation marks and case make no other word of a token.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from judging.answers.tokens import NoLikelihoodError, Placed, Token, in_bytes, token_of

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
