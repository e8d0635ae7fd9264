"""A sentence of the verdict: its parts, the bands of its first words, and its number formats.

The bands are those of Landis and Koch (Biometrics 33, 1977) for kappas and alphas (`BANDS`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..document import DASH, rounded
from ..measures.base import percent
from ..types import JSON

Path = tuple[str, ...]
Tone = Literal["good", "fair", "poor", "open"]
"""Whether an answer is good or bad news; `open` if the labels do not decide it."""

BANDS: tuple[tuple[float, str, Tone], ...] = (
    (0.8, "Almost perfectly", "good"),
    (0.6, "Substantially", "good"),
    (0.4, "Moderately", "fair"),
    (0.2, "Only fairly", "poor"),
    (0.0, "Only slightly", "poor"),
)
BELOW_CHANCE = "Less than by chance"
ERROR_BANDS: tuple[tuple[float, str, Tone], ...] = (
    (0.5, "Largely", "poor"),
    (0.2, "Partly", "fair"),
)
NO_ERRORS = "Hardly"
DIGITS = 2
CHANCE, FAR_BEHIND = 0.5, 0.1
"""The share of pairs that a coin orders as people do, and a gap to people that counts as large."""


@dataclass(frozen=True)
class Part:
    """Part of a sentence.

    `key` is the path of its figure in the report. `cells` identifies its units, as pairs of
    people's code and the judge's; alternatively, `show` names a list of disagreements.
    """

    text: str
    key: Path = ()
    cells: tuple[tuple[str, str], ...] = ()
    show: str = ""

    def as_json(self) -> JSON:
        cells = {"cells": [list(cell) for cell in self.cells]} if self.cells else {}
        show = {"show": self.show} if self.show else {}
        return {"text": self.text, **({"key": list(self.key)} if self.key else {}), **cells, **show}


@dataclass(frozen=True)
class Sentence:
    """An answer to a question: its first words, its tone, and the parts that follow.

    `bands` names the bands behind its first words (`HINTS`).
    """

    question: str
    answer: str
    tone: Tone
    parts: Sequence[Part] = field(default_factory=tuple)
    bands: str = ""

    def as_json(self) -> JSON:
        rest = "".join(part.text for part in self.parts)
        return {
            "question": self.question,
            "answer": self.answer,
            "tone": self.tone,
            **({"bands": self.bands} if self.bands else {}),
            "text": f"{self.answer}: {rest}" if rest else self.answer,
            "parts": [part.as_json() for part in self.parts],
        }


def _of_bands(
    bands: Sequence[tuple[float, str, Tone]], below: str, sign: str
) -> list[tuple[str, str]]:
    rows = [(words, f"{sign} from {least:g}") for least, words, _ in bands]
    return [*rows, (below, f"{sign} below {bands[-1][0]:g}")]


AGREEMENT, RANKS, GAP, TEST, ERRORS, ALIKE, BEST = (
    "agreement", "ranks", "gap", "replacement", "errors", "alike", "best",
)  # fmt: skip
HINTS: Mapping[str, Sequence[tuple[str, str]]] = {
    AGREEMENT: _of_bands(BANDS, BELOW_CHANCE, "κ or α"),
    RANKS: [
        ("Yes", "its share is above chance, and the interval of its gap to people is above −0.10"),
        ("Nearly", "the interval of the gap lies between −0.10 and 0"),
        ("No difference from people can be shown", "it holds 0, and reaches below −0.10"),
        ("Less well than people do", "it is below 0, and reaches below −0.10"),
        ("Not for every pair of systems", "people and judge tell a pair apart in opposite ways"),
        ("Not shown to be better than chance", "the interval of its share holds 0.50"),
        ("No", "its whole interval is below 0.50, or the judge ties every pair"),
        ("By the value alone", "with so few queries there is no interval"),
        ("Several judges", "whether one differs from people or from chance is decided after Holm"),
    ],
    GAP: [
        ("More than people do", "the whole interval of the gap is above 0"),
        ("No difference from people can be shown", "the interval holds 0"),
        ("Less than people do", "the whole interval is below 0"),
    ],
    TEST: [
        ("Yes", "the judge wins against at least half of the people"),
        ("No", "it does not"),
        ("Cannot be decided", "with so few queries no judge could win"),
        ("Cannot be said", "comparing words would pass, too"),
        ("ε", "how far a judge may be behind a person and still win, since it costs less"),
    ],
    ERRORS: [
        ("Too strict", "it misses people’s yes more often than it adds one, by over 10 points"),
        ("Too lenient", "it adds more often than it misses, by over 10 points"),
        ("Misses and adds alike", "the two shares differ by 10 points at most"),
        ("Mostly too high or too low", "one side exceeds the other by over 10 points"),
    ],
    ALIKE: _of_bands(ERROR_BANDS, NO_ERRORS, "mean correlation of errors"),
    BEST: [
        ("Clearly", "p of its difference from the second is below 0.05, after Holm"),
        ("Not clearly", "it is not: the second may be as good"),
    ],
}
"""The meaning of a sentence's first words: each with its condition, by name of the bands."""


def band(value: float, bands: Sequence[tuple[float, str, Tone]], below: str) -> tuple[str, Tone]:
    """Return the words and the tone of a value's band."""
    return next(((words, tone) for least, words, tone in bands if value >= least), (below, "poor"))


def number(estimate: JSON) -> str:
    """Format an estimate with its interval."""
    if estimate["value"] is None:
        return DASH
    if estimate["low"] is None:
        return _shown(estimate["value"])
    return f"{_shown(estimate['value'])} [{_shown(estimate['low'])}, {_shown(estimate['high'])}]"


def short(estimate: JSON) -> str:
    """Format an estimate without its interval."""
    return DASH if estimate["value"] is None else _shown(estimate["value"])


def _shown(value: float) -> str:
    return rounded(value, DIGITS).replace("-", "−")


def share(n: int, whole: int) -> str:
    """Format a share in percent."""
    return percent(n / whole) if whole else DASH
