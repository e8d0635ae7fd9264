"""A sentence of the verdict: its parts, the bands of its first words, and its number formats.

The bands are those of Landis and Koch (Biometrics 33, 1977) for kappas and alphas (`BANDS`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..document import DASH, count, rounded
from ..messages import percent
from ..types import JSON

Path = tuple[str, ...]
Tone = Literal["good", "fair", "poor", "open"]
"""Whether an answer is good or bad news; `open` if the labels do not decide it."""

TONES: tuple[Tone, ...] = ("good", "fair", "poor", "open")
"""The tones from the best to the worst news."""

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
    people's code and the judge's; alternatively, `show` names a list of disagreements. `more` is a
    number of queries to label, which would decide what the sentence leaves open.
    """

    text: str
    key: Path = ()
    cells: tuple[tuple[str, str], ...] = ()
    show: str = ""
    more: int = 0

    def as_json(self) -> JSON:
        cells = {"cells": [list(cell) for cell in self.cells]} if self.cells else {}
        show = {"show": self.show} if self.show else {}
        more = {"more": self.more} if self.more else {}
        key = {"key": list(self.key)} if self.key else {}
        return {"text": self.text, **key, **cells, **show, **more}


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


QUESTIONS: Mapping[str, tuple[str, str]] = {
    "agreement": ("Does {judge} agree with people?", "Do the judges agree with people?"),
    "replacement": ("Could {judge} replace a person?", "Could a judge replace a person?"),
    "errors": ("What does {judge} get wrong?", "What do the judges get wrong?"),
    "trust": (
        "How wrong is {judge} where it is surest?",
        "How wrong are the judges where they are surest?",
    ),
    "rankings": (
        "Does {judge} rank answers as people do?",
        "Do the judges rank answers as people do?",
    ),
}
"""What is asked of a judge, and above the answers of several."""


def question_of(what: str, judge: str) -> str:
    return QUESTIONS[what][0].format(judge=judge)


def _of_bands(
    bands: Sequence[tuple[float, str, Tone]], below: str, sign: str
) -> list[tuple[str, str]]:
    rows = [(words, f"{sign} from {least:g}") for least, words, _ in bands]
    both = ("… to …", "the ends of the interval lie in different bands")
    return [*rows, (below, f"{sign} below {bands[-1][0]:g}"), both]


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
        ("More than people do", "the gap is above 0, with p below 0.05 after Holm over the judges"),
        ("No difference from people can be shown", "p is not below 0.05"),
        ("Less than people do", "the gap is below 0, with p below 0.05 after Holm"),
        ("Equivalent", "two one-sided tests at 0.05: the 90 % interval lies within the margin"),
    ],
    TEST: [
        ("Shown", "the judge is at most ε behind at least half of the people"),
        (
            "Only if up to … points behind is good enough",
            "shown, but its gap lies below 0, or a judge 10 points worse would mostly be, too",
        ),
        ("Shown worse", "it is more than ε behind so many people that half cannot be reached"),
        ("Not shown", "neither: a judge as good as people may fail to be shown, too"),
        ("Queries needed", "with so many like these, four of five such studies are decided"),
        ("ε", "how far behind a person a judge may be, since it costs less: a share of units"),
        ("ε set by the floor", "the largest at which no rater passes that does not read the texts"),
    ],
    ERRORS: [
        ("Too strict", "it surely misses people’s yes more often than it adds one"),
        ("Too lenient", "it surely adds more often than it misses"),
        ("Misses and adds alike", "the shares surely differ by 10 points at most"),
        ("Mostly too high or too low", "one side surely exceeds the other"),
        ("Surely", "the whole interval of the difference lies there"),
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


def band_of(
    estimate: JSON, bands: Sequence[tuple[float, str, Tone]], below: str
) -> tuple[str, Tone]:
    """Return the words of the bands of an estimate's both ends, and the tone of the worse one.

    Without an interval the value alone has words, and the labels decide nothing.
    """
    if estimate["low"] is None:
        return f"{band(estimate['value'], bands, below)[0]}, by the value alone", "open"
    return words_between(estimate["low"], estimate["high"], bands, below)


def words_between(
    low: float, high: float, bands: Sequence[tuple[float, str, Tone]], below: str
) -> tuple[str, Tone]:
    """Return the words from one value's band to another's, and the tone of the worse one."""
    ends = [band(end, bands, below) for end in (low, high)]
    tone = max((tone for _, tone in ends), key=TONES.index)
    first, last = (words for words, _ in ends)
    return first if first == last else f"{first} to {last[0].lower()}{last[1:]}", tone


SURE = 0.05


def p_value(value: float) -> str:
    """Format a p-value."""
    return "< 0.01" if value < 0.01 else f"{value:.{DIGITS}f}"


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


def more_queries(
    queries: int, more: int, key: Path, *, at_least: bool = False, purpose: str = ""
) -> Part:
    """Return the part that says how many queries are needed, and how many more to label."""
    if at_least:
        text = f"at least {count(queries, 'query is', 'queries are')} needed{purpose}"
    else:
        like = count(queries, "query like these is", "queries like these are")
        text = f"about {like} needed{purpose}"
    return Part(f"; {text}: label {more:,} more", key, more=more)


def share(n: int, whole: int) -> str:
    """Format a share in percent."""
    return percent(n / whole) if whole else DASH
