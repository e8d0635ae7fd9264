"""CLAPnq's measures: written answers compared by words, by people's grades and by preference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...statistics import Bools, Floats, Ints, Value, rouge_l
from ...statistics.estimate import ratio, unbatch
from ...statistics.rouge import words
from ..base import AMOUNT, Measure, MeasureValues, Pooled
from ..options import Options
from .refusals import refusal_list

CITATION = "Rosenthal and others, CLAPnq, 2025"
GRADES = (1.0, 4.0)
WORDS = {
    "faithful": "How well the passages support the answer, 1 to 4.",
    "appropriate": "How well the answer fits the question, 1 to 4.",
    "natural": "How naturally the answer reads, 1 to 4.",
}
NO_REFERENCE = "no answerable question has a reference"
FIRST, SECOND, TIE_GOOD, TIE_BAD, MISSING = 0, 1, 2, 3, -1
TOGETHER: Mapping[str, Callable[[Sequence[float]], Any]] = {
    "best": max,
    "mean": np.mean,
    "first": lambda scores: scores[0],
}
"""How the scores of an answer with several references become one."""
#: By rule for ties: the wins of the first and of the second answer for each verdict.
WINS = {
    "half": ((1, 0), (0, 1), (0.5, 0.5), (0.5, 0.5)),
    "good": ((1, 0), (0, 1), (1, 1), (0, 0)),
    "none": ((1, 0), (0, 1), (0, 0), (0, 0)),
}


@dataclass(frozen=True)
class Grades:
    """Grades 1 to 4 of N answers, (N,) each, NaN = none."""

    faithful: Floats
    appropriate: Floats
    natural: Floats


def grade(data: Grades, options: Options, name: str) -> Floats:
    """Return the grade of each answer unchanged, (N,)."""
    grades: Floats = getattr(data, name)
    return grades


def faithful_and_appropriate(data: Grades, options: Options) -> MeasureValues:
    """Return F+A = 2 F A / (F + A), for each answer (N,) or from the two mean grades.

    Rosenthal and others 2025 do not say which of the two they use. They print 3.0 for the means 3.0
    and 3.5. Only the average over answers can give this, and so it is the default: the harmonic
    mean of the two means is 3.23.
    """
    there = np.isfinite(data.faithful) & np.isfinite(data.appropriate)
    if options.harmonic == "item":
        values = harmonic(data.faithful, data.appropriate)
        return np.where(there, values, np.nan)
    sums = np.column_stack([data.faithful, data.appropriate, np.ones(len(there))])
    return Pooled(np.where(there[:, None], sums, 0.0), _of_means)


def harmonic(one: Floats, other: Floats) -> Floats:
    return ratio(2 * one * other, one + other)


def _of_means(sums: Floats) -> Value:
    faithful, appropriate = (ratio(sums[..., n], sums[..., 2]) for n in (0, 1))
    return unbatch(harmonic(faithful, appropriate))


GRADE_MEASURES = (
    *(
        Measure(name.capitalize(), "grades", words, CITATION, partial(grade, name=name),
                f"no answer was graded {name}", bounds=GRADES, variables=(name,))
        for name, words in WORDS.items()
    ),
    Measure("F+A", "grades", "Harmonic mean of faithful and appropriate.", CITATION,
            faithful_and_appropriate, "no answer has both grades", ("harmonic",), GRADES,
            variables=("faithful", "appropriate")),
)  # fmt: skip


@dataclass(frozen=True)
class Texts:
    """N answers, the references of each, and its passages as one text, None = without passages.

    `answerable` (N,) marks the answerable questions; only these are scored by words. `systems`
    names the systems that wrote the answers, if they have more than one way to refuse.
    """

    answers: Sequence[str]
    references: Sequence[Sequence[str]]
    passages: Sequence[str | None]
    answerable: Bools
    systems: Sequence[str] = ()


def rouge_1_recall(answer: str, reference: str) -> float:
    """Return the share of the reference's words that also occur in the answer (Lin 2004).

    A repeated word counts as often as it occurs in both texts. 0 if the reference has no word.
    """
    expected, given = Counter(words(reference)), Counter(words(answer))
    return (expected & given).total() / max(1, expected.total())


def _against_references(data: Texts, how: str, score: Callable[[str, str], float]) -> Floats:
    """Return each answer's score, (N,), by all of its references or by the first."""
    made = np.full(len(data.answers), np.nan)
    for row, (answer, references) in enumerate(zip(data.answers, data.references, strict=True)):
        if data.answerable[row] and references:
            made[row] = TOGETHER[how]([score(answer, reference) for reference in references])
    return made


def rouge_l_of(data: Texts, options: Options) -> Floats:
    """Return ROUGE-L F1 against the references, by the option `references`, (N,) (Lin 2004)."""
    return _against_references(
        data, options.references, lambda answer, reference: rouge_l(answer, reference).f1
    )


def rouge_l_of_answered(data: Texts, options: Options) -> Floats:
    """Return ROUGE-L F1 of the answers that do not refuse, (N,); NaN for the others.

    Rosenthal and others 2025 (section 4.3) give it beside that of all answers, in which a refusal
    counts as it reads.
    """
    return np.where(_refused(data, options), np.nan, rouge_l_of(data, options))


def recall_of(data: Texts, options: Options) -> Floats:
    """Return ROUGE-1 recall, by the option `recall_references`, (N,) (Lin 2004)."""
    return _against_references(data, options.recall_references, rouge_1_recall)


def rouge_l_to_passage(data: Texts, options: Options) -> Floats:
    """Return ROUGE-L F1 of the answer and the passage, (N,), which shows how much is copied."""
    rows = zip(data.answers, data.passages, data.answerable, strict=True)
    values = [rouge_l(answer, text).f1 if text and ok else np.nan for answer, text, ok in rows]
    return np.array(values, float)


def length(data: Texts, options: Options) -> Floats:
    """Return the number of Unicode code points of the answer, (N,)."""
    rows = zip(data.answers, data.answerable, strict=True)
    return np.array([len(answer) if ok else np.nan for answer, ok in rows], float)


TEXT_MEASURES = (
    Measure("RougeL", "texts", "Longest common subsequence of words with the reference, F1.",
            CITATION, rouge_l_of, NO_REFERENCE, ("references",)),
    Measure("Recall-R1", "texts", "Share of the reference's words that the answer has.",
            CITATION, recall_of, NO_REFERENCE, ("recall_references",)),
    Measure("RougeLp", "texts", "Rouge-L with the passage: how much the answer copies.",
            CITATION, rouge_l_to_passage, "no answerable question has a passage"),
    Measure("Length", "texts", "Characters of the answer.",
            CITATION, length, "no question is answerable", bounds=AMOUNT),
    Measure("RougeL-answered", "texts", "Rouge-L of the answers that do not refuse.",
            CITATION, rouge_l_of_answered, "no answer to an answerable question has a reference",
            ("references", "refusals")),
)  # fmt: skip


@dataclass(frozen=True)
class Preferences:
    """Verdicts on pairs of answers (V,): first, second, tie-good, tie-bad (0 to 3).

    -1 = missing. `first` and `second` are the pair's rows among N answers. Each rater's verdict is
    a row of its own.
    """

    first: Ints
    second: Ints
    verdict: Ints
    rows: int


def win_rate(data: Preferences, options: Options) -> Floats:
    """Return wins / verdicts on the answer, (N,); NaN for an answer without a verdict.

    Rosenthal and others 2025 divide a question's wins by (systems - 1) x annotators. If all pairs
    are judged, this is the number of verdicts; otherwise, only existing verdicts count. The option
    `ties` says how ties count, since no simple rule reproduces the paper's sums over systems. With
    `half`, the rates of S systems sum to S / 2 if all pairs are judged.
    """
    given = data.verdict != MISSING
    worth = np.array(WINS[options.ties], float)[np.maximum(data.verdict, 0)]
    wins, verdicts = np.zeros(data.rows), np.zeros(data.rows)
    for side, rows in enumerate((data.first, data.second)):
        np.add.at(wins, rows[given], worth[given, side])
        np.add.at(verdicts, rows[given], 1.0)
    return ratio(wins, verdicts)


WIN_RATE = Measure(
    "Win-rate",
    "preferences",
    "Share of its comparisons that the system's answer wins.",
    "Rosenthal and others, CLAPnq, 2025",
    win_rate,
    "no pair of answers was judged",
    ("ties",),
    variables=("preferred",),
)


def unanswerable_accuracy(data: Texts, options: Options) -> Floats:
    """Return 1 if the answer to an unanswerable question refuses, else 0, (N,); NaN if answerable.

    An answer refuses if it is empty or contains a phrase of the list. Rosenthal and others 2025
    keep a list for each model. The list is therefore an option, has a version, and may contain
    phrases for individual systems.
    """
    return np.where(data.answerable, np.nan, _refused(data, options).astype(float))


def _refused(data: Texts, options: Options) -> Bools:
    """Return whether each answer refuses, (N,)."""
    refuses = refusal_list(options.refusals).refuses
    systems = data.systems or [""] * len(data.answers)
    return np.array([refuses(*row) for row in zip(data.answers, systems, strict=True)], bool)


UNANSWERABLE = Measure(
    "Unanswerable",
    "texts",
    "Share of the unanswerable questions whose answer says that there is no answer.",
    "Rosenthal and others, CLAPnq, 2025",
    unanswerable_accuracy,
    "no question is unanswerable",
    ("refusals",),
)
