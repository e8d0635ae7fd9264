"""Answers by their words: Rouge-L, recall, copying from the passage, length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.measures.base import AMOUNT, Measure
from analysis.measures.options import Options
from analysis.statistics import Bools, Floats, rouge_l
from analysis.statistics.rouge import words


@dataclass(frozen=True)
class Texts:
    """N answers, the references of each, and its passages as one text, None = there is none.

    `answerable` (N,) says of which questions; only these are scored by their words. `systems` name
    those that wrote the answers, where there is more than one way to refuse.
    """

    answers: Sequence[str]
    references: Sequence[Sequence[str]]
    passages: Sequence[str | None]
    answerable: Bools
    systems: Sequence[str] = ()


def rouge_1_recall(answer: str, reference: str) -> float:
    """Words of the reference that the answer has too, each as often as it has it / its words.

    0 where the reference has no word (Lin 2004).
    """
    wanted, given = Counter(words(reference)), Counter(words(answer))
    return (wanted & given).total() / max(1, wanted.total())


def _against_references(of: Texts, options: Options, score: Callable[[str, str], float]) -> Floats:
    made = np.full(len(of.answers), np.nan)
    together = max if options.references == "best" else np.mean
    for row, (answer, references) in enumerate(zip(of.answers, of.references, strict=True)):
        if of.answerable[row] and references:
            made[row] = together([score(answer, reference) for reference in references])
    return made


def rouge_l_of(of: Texts, options: Options) -> Floats:
    """ROUGE-L F1 against the references, the best or the mean of them, (N,) (Lin 2004)."""
    return _against_references(of, options, lambda answer, wanted: rouge_l(answer, wanted).f1)


def recall_of(of: Texts, options: Options) -> Floats:
    """ROUGE-1 recall against the references, the best or the mean of them, (N,) (Lin 2004)."""
    return _against_references(of, options, rouge_1_recall)


def rouge_l_to_passage(of: Texts, options: Options) -> Floats:
    """ROUGE-L F1 of the answer and the passage, (N,): how much is copied."""
    rows = zip(of.answers, of.passages, of.answerable, strict=True)
    values = [rouge_l(answer, text).f1 if text and ok else np.nan for answer, text, ok in rows]
    return np.array(values, float)


def length(of: Texts, options: Options) -> Floats:
    """Unicode code points of the answer, (N,)."""
    rows = zip(of.answers, of.answerable, strict=True)
    return np.array([len(answer) if ok else np.nan for answer, ok in rows], float)


CITATION = "Rosenthal and others, CLAPnq, 2025"
NO_REFERENCE = "no answerable question has a reference"
TEXT_MEASURES = (
    Measure("RougeL", "texts", "Longest common subsequence of words with the reference, F1.",
            CITATION, rouge_l_of, NO_REFERENCE, ("references",)),
    Measure("Recall-R1", "texts", "Share of the reference's words that the answer has.",
            CITATION, recall_of, NO_REFERENCE, ("references",)),
    Measure("RougeLp", "texts", "Rouge-L with the passage: how much the answer copies.",
            CITATION, rouge_l_to_passage, "no answerable question has a passage"),
    Measure("Length", "texts", "Characters of the answer.",
            CITATION, length, "no question is answerable", bounds=AMOUNT),
)  # fmt: skip
