"""Sections: soft labels (Dawid and Skene), and written answers with a second round of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    SHARE,
    Floats,
    Ints,
    SoftLabels,
    dawid_skene,
    majority,
    mean_by_cluster,
    pair_estimates,
    undefined,
)
from ..statistics.coefficients import EQUAL, KAPPA
from ..statistics.rouge import rouge_l
from ..types import JSON

FEWEST = 3
TOO_FEW = f"fewer than {FEWEST} people labelled, so their errors cannot be estimated"
NOT_SETTLED = "people's error rates and the labels did not settle within {:,} steps"
FIXED = "soft labels taken as given"
EXPECTED = f"mean probability of the judge's label, {FIXED}"


def soft_labels(sample: Sample) -> JSON:
    """Return the key `soft_labels`: differences from the majority, errors, and each judge."""
    frame = sample.frame
    codes, own = frame.codes_of("human"), frame.scale.own()
    people = int((codes >= 0).any(axis=0).sum())
    reason = TOO_FEW if people < FEWEST else TOO_MANY if sample.is_continuous else None
    if reason or own.sum() < 2:
        return {"units": 0, "reason": reason or "there is only one category"}
    soft = dawid_skene(codes, sample.k)
    if not soft.converged:
        settled = {"iterations": soft.iterations, "converged": False}
        return {"units": 0, **settled, "reason": NOT_SETTLED.format(soft.iterations)}
    reference, ties = majority(codes)
    labels = np.where((codes >= 0).sum(axis=1) > 0, soft.labels, -1)
    held = (reference >= 0) & (labels >= 0)
    return {
        "units": int((labels >= 0).sum()),
        "differ": int((reference != labels)[held].sum()),
        "ties": int(ties.sum()),
        "iterations": soft.iterations,
        "converged": soft.converged,
        "raters": _raters(sample, soft),
        "judges": {
            frame.raters[n].name: _judge(sample, soft, labels, frame.codes[:, n])
            for n in frame.columns("judge")
        },
    }


def _raters(sample: Sample, soft: SoftLabels) -> JSON:
    """Return each rater's error rate, over categories with their estimated frequencies."""
    frame = sample.frame
    right = np.diagonal(soft.raters, axis1=1, axis2=2)
    return {
        frame.raters[column].name: {
            "labels": int((frame.codes[:, column] >= 0).sum()),
            "error_rate": float(np.clip(1 - right[n] @ soft.prevalence, 0, 1)),
        }
        for n, column in enumerate(frame.columns("human"))
        if (frame.codes[:, column] >= 0).any()
    }


def _judge(sample: Sample, soft: SoftLabels, labels: Ints, codes: Ints) -> JSON:
    both = (labels >= 0) & (codes >= 0)
    units = np.arange(len(codes))
    chance = np.where(both, soft.shares[units, np.maximum(codes, 0)], np.nan)
    expected = (
        mean_by_cluster(chance, sample.clusters, EXPECTED, SHARE)
        if both.any()
        else undefined("the judge has no label on such a unit", 0, EXPECTED)
    )
    pair = pair_estimates(labels, codes, sample.clusters, sample.k, **sample.resampling_arguments)
    return {
        EQUAL.key: pair[EQUAL.key].as_json(),
        KAPPA.key: pair[KAPPA.key].as_json(),
        "expected_accuracy": expected.as_json(),
    }


@dataclass(frozen=True)
class Rounds:
    """First and second answers: `pairs` has both texts by question; `skipped` counts the others."""

    pairs: Mapping[str, tuple[str, str]]
    skipped: int


@dataclass(frozen=True)
class WrittenAnswers:
    """The usable answers of people: `texts` by question, and the number of unusable answers."""

    texts: Mapping[str, Sequence[str]]
    unusable: int
    rounds: Rounds | None = None


def written(answers: WrittenAnswers) -> JSON:
    """Return the report's block on written answers.

    Agreement is computed twice: over all pairs, where two identical answers count as 1, and under
    `differing` without identical answers. CLAPnq does the latter (Rosenthal and others 2025), since
    its release lists identical answers once. A second person who saw the first answer does not
    agree independently, so neither figure is corrected for chance.
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
    """Return the mean ROUGE-L F1 over questions, of differing pairs and of all pairs."""
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
    return mean_by_cluster(found, np.arange(len(found)), method, SHARE).as_json()
