"""Written answers: how alike they are, and how many first answers a second person kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.blocks.resampling import JSON
from analysis.statistics import SHARE, Floats, mean_by_cluster
from analysis.statistics.rouge import rouge_l


@dataclass(frozen=True)
class Rounds:
    """First and second answers: `pairs` has both texts by question; some were skipped."""

    pairs: Mapping[str, tuple[str, str]]
    skipped: int


@dataclass(frozen=True)
class WrittenAnswers:
    """The usable answers of people: `texts` by question, and how many answers were not usable."""

    texts: Mapping[str, Sequence[str]]
    unusable: int
    rounds: Rounds | None = None


def written(answers: WrittenAnswers) -> JSON:
    """The report's block on written answers.

    Two identical answers count 1, or, under `differing`, not at all: the second reading is that of
    CLAPnq (Rosenthal and others 2025), whose release lists identical answers once. A second person
    who saw the first answer does not agree independently, so neither is agreement beyond chance.
    """
    several = {query: texts for query, texts in answers.texts.items() if len(texts) > 1}
    block: JSON = {
        "answers": sum(map(len, answers.texts.values())),
        "unusable": answers.unusable,
    }
    if answers.rounds is not None:
        block["rounds"] = _rounds(answers.rounds)
    if several:
        block["between_raters"] = _between(several)
    return block


def _rounds(rounds: Rounds) -> JSON:
    kept = {query: float(one == other) for query, (one, other) in rounds.pairs.items()}
    return {
        "questions": len(kept),
        "kept": int(sum(kept.values())),
        "modified": int(len(kept) - sum(kept.values())),
        "skipped": rounds.skipped,
        "keep_rate": _mean(kept, "share of second answers that are the first one"),
        **_similarity({query: [pair] for query, pair in rounds.pairs.items()}, "a question's pair"),
    }


def _between(texts: Mapping[str, Sequence[str]]) -> JSON:
    pairs = {query: list(combinations(of, 2)) for query, of in texts.items()}
    return {"questions": len(texts), **_similarity(pairs, "a question's mean over pairs")}


def _similarity(pairs: Mapping[str, Iterable[tuple[str, str]]], of: str) -> JSON:
    """The mean ROUGE-L F1 over questions, of pairs that differ and of all."""
    every: dict[str, float] = {}
    differing: dict[str, float] = {}
    for query, texts in pairs.items():
        scores = [(one == other, rouge_l(one, other).f1) for one, other in texts]
        every[query] = float(np.mean([1.0 if same else f1 for same, f1 in scores]))
        if apart := [f1 for same, f1 in scores if not same]:
            differing[query] = float(np.mean(apart))
    return {
        "rouge_l_differing": _mean(differing, f"mean ROUGE-L F1, {of}, differing answers"),
        "rouge_l_all": _mean(every, f"mean ROUGE-L F1, {of}, identical answers as 1"),
    }


def _mean(values: Mapping[str, float], method: str) -> JSON:
    found: Floats = np.array(list(values.values()), dtype=float)
    return mean_by_cluster(found, np.arange(len(found)), method).within(*SHARE).as_json()
