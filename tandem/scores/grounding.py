"""GaRAGe's measures: eligibility, factuality, citations, and deflection without useful passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..statistics import Bools, Floats, Ints, Value
from ..statistics.estimate import ratio, unbatch
from .base import NO, YES, Measure, Pooled, both, every, known_labels
from .options import ZERO, Options

Cited = frozenset[str]
SHARED, OWN, PEOPLES = 0, 1, 2
WORDS = {
    "P": "Share of the cited passages that people cite, too",
    "R": "Share of people's cited passages that the response cites",
    "F1": "Harmonic mean of attribution precision and recall",
}
CITATION = "Sorodoc and others, GaRAGe, 2025"
NOBODY_CITES = "no query has both a response and a human answer with citations"
NO_SENTENCES = "no response has labels for all of its sentences"
NOT_BOTH = "no response has both eligibility and labels for all of its sentences"
NOTHING_RELEVANT = ", and a relevant passage to hold them to"
RELEVANT = "relevant-passages"


@dataclass(frozen=True)
class Citations:
    """The passages that N responses cite, None = unknown, and those of each human answer."""

    responses: Sequence[Cited | None]
    references: Sequence[Sequence[Cited]]


def overlaps(data: Citations, options: Options) -> Floats:
    """Count the passages cited by both, by the response, and by people, (N, 3).

    NaN if the response's citations are unknown or there is no human answer.
    """
    rows = [_overlap(*pair, options) for pair in zip(data.responses, data.references, strict=True)]
    return np.array(rows, float).reshape(-1, 3)


def _overlap(
    cited: Cited | None, references: Sequence[Cited], options: Options
) -> tuple[float, float, float]:
    if cited is None or not references:
        return (np.nan, np.nan, np.nan)
    union = [frozenset[str]().union(*references)]
    expected = references if options.cited_by == "best" else union
    found = [(float(len(cited & each)), float(len(cited)), float(len(each))) for each in expected]
    return max(found, key=_f1)


def _f1(sizes: tuple[float, float, float]) -> float:
    both, own, peoples = sizes
    return 2 * both / (own + peoples) if own + peoples else 0.0


def macro(data: Citations, options: Options, name: str) -> Floats:
    """Return P = shared / cited, R = shared / people's, F1 = 2 shared / (cited + people's), (N,).

    P is NaN if the response cites nothing (0 with `uncited = zero`). R is NaN if people cite
    nothing, and F1 is NaN if neither cites anything.
    """
    sizes = overlaps(data, options)
    values = _of(name, sizes)
    if name == "P" and options.uncited == ZERO:
        values = np.where((sizes[:, OWN] == 0) & (sizes[:, PEOPLES] > 0), 0.0, values)
    return values


def f1_of_means(data: Citations, options: Options) -> Pooled:
    """Return F1 = 2 P R / (P + R) of the mean precision and the mean recall over responses.

    In 10 of the 11 rows of Table 4 the printed F1 is that of the printed P and R, which no mean of
    the responses' F1 gives (Sorodoc and others 2025).
    """
    parts = np.column_stack([macro(data, options, name) for name in ("P", "R")])
    known = np.isfinite(parts)
    return Pooled(np.column_stack([np.where(known, parts, 0.0), known]), _f1_of_sums)


def _f1_of_sums(sums: Floats) -> Value:
    precision, recall = (ratio(sums[..., n], sums[..., n + 2]) for n in (0, 1))
    return unbatch(ratio(2 * precision * recall, precision + recall))


def micro(data: Citations, options: Options, name: str) -> Pooled:
    """Return P, R or F1 from sums over all responses, so that each citation weighs the same."""
    sums = np.nan_to_num(overlaps(data, options), nan=0.0)
    return Pooled(sums, partial(_pooled, name), sums[:, OWN] + sums[:, PEOPLES])


def _pooled(name: str, sums: Floats) -> Value:
    return unbatch(_of(name, sums))


def _of(name: str, sizes: Floats) -> Floats:
    both, own, peoples = (sizes[..., n] for n in (SHARED, OWN, PEOPLES))
    if name == "P":
        return ratio(both, own)
    return ratio(both, peoples) if name == "R" else ratio(2 * both, own + peoples)


ATTRIBUTION = (
    *(
        Measure(
            f"Attribution:{name}{suffix}",
            "citations",
            f"{words}, {how}.",
            "Sorodoc and others, GaRAGe, 2025, who do not say whether micro or macro",
            partial(function, name=name),
            NOBODY_CITES,
            ("uncited", "cited_by") if function is macro else ("cited_by",),
        )
        for function, suffix, how in (
            (macro, "", "averaged over responses"),
            (micro, "-micro", "over all citations"),
        )
        for name, words in WORDS.items()
    ),
    Measure(
        "Attribution:F1-of-means",
        "citations",
        "Harmonic mean of the mean attribution precision and recall, as in the paper's Table 4.",
        CITATION,
        f1_of_means,
        NOBODY_CITES,
        ("uncited", "cited_by"),
    ),
)


@dataclass(frozen=True)
class Deflections:
    """N responses: `deflected` and `deflecting` (N,) are 1, 0 or -1 = unknown.

    `deflected` says whether the response deflects, and `deflecting` whether people deflected the
    question. `applicable` (N,) marks the responses about which raters were asked.
    """

    deflected: Ints
    deflecting: Ints
    applicable: Bools


def deflection_rate(data: Deflections, options: Options, where: int) -> Floats:
    """Return 1 if a response deflects, else 0, (N,); NaN unless people did as `where` says.

    The mean is the true positive rate where people deflected (`where` = 1), and the false positive
    rate where they did not (Sorodoc and others 2025). With `missing` zero, a failed judgement is an
    attempt to answer. This lowers both rates, so the false positive rate looks too good.
    """
    values = known_labels(data.deflected, data.applicable, options.missing)
    return np.where(data.deflecting == where, values, np.nan)


DEFLECTION = (
    Measure(
        "Deflection:TP",
        "deflections",
        "Share of responses that decline if people found too little to answer.",
        CITATION,
        partial(deflection_rate, where=YES),
        "people deflected none of these questions",
        ("missing", "refusals"),
        variables=("abstains", "deflected"),
    ),
    Measure(
        "Deflection:FP",
        "deflections",
        "Share of responses that decline although people answered.",
        CITATION,
        partial(deflection_rate, where=NO),
        "people answered none of these questions",
        ("missing", "refusals"),
        variables=("abstains", "deflected"),
    ),
)


@dataclass(frozen=True)
class Responses:
    """N responses: `eligible` (N,) is 1 with no or minor issues, 0 with major ones, -1 if missing.

    `applicable` (N,) marks the responses about whose eligibility raters were asked. `supported`
    (U,) is 1 for a sentence that is supported or needs no evidence, 0 for an unsupported or
    contradictory one, and -1 = missing. `row` (U,) is the response of each sentence. If a judge
    split a response into other sentences, these are its own.
    """

    eligible: Ints
    applicable: Bools
    supported: Ints
    row: Ints

    @property
    def rows(self) -> int:
        return len(self.eligible)

    def only(self, held: Bools) -> Responses:
        """Return the sentences of only the responses `held` (N,)."""
        kept = held[self.row]
        return replace(self, supported=self.supported[kept], row=self.row[kept])


def eligibility(data: Responses, options: Options) -> Floats:
    """Return 1 if a response has no or minor issues, 0 if major, (N,) (Sorodoc and others 2025).

    NaN if no rater was asked, and, unless `missing` is zero, if the judgement failed. The paper
    says nothing about failures, and `zero` counts them as major issues.
    """
    return known_labels(data.eligible, data.applicable, options.missing)


ELIGIBILITY = Measure(
    "Eligibility",
    "responses",
    "Share of responses without major issues.",
    "Sorodoc and others, GaRAGe, 2025",
    eligibility,
    "no response was rated for eligibility",
    ("missing",),
    variables=("eligibility",),
)


def unadjusted_factuality(data: Responses, options: Options) -> Floats:
    """Return 1 if every sentence is supported or needs no evidence, else 0, (N,).

    After Sorodoc and others 2025. NaN for a response without sentences and, unless `missing` is
    zero, for one with an unlabelled sentence.
    """
    return every(data.supported, data.row, data.rows, options.missing)


def factuality(data: Responses, options: Options) -> Floats:
    """Return 1 if a response is eligible and every sentence is supported, else 0, (N,)."""
    return both(eligibility(data, options), unadjusted_factuality(data, options))


def _measure(name: str, family: str, adjusted: bool, passages: str) -> Measure:
    undefined = NOT_BOTH if adjusted else NO_SENTENCES
    words = "eligible responses" if adjusted else "responses"
    return Measure(
        name,
        family,
        f"Share of {words} whose every sentence {passages} support.",
        CITATION,
        factuality if adjusted else unadjusted_factuality,
        undefined + NOTHING_RELEVANT if family == RELEVANT else undefined,
        ("missing",),
        variables=("eligibility", "support") if adjusted else ("support",),
    )


FACTUALITY = (
    _measure("uFactuality", "all-passages", False, "the passages"),
    _measure("Factuality", "all-passages", True, "the passages"),
    _measure("uRAF", RELEVANT, False, "the relevant passages"),
    _measure("RAF", RELEVANT, True, "the relevant passages"),
)
