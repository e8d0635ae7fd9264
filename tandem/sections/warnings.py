"""Warnings that a reader should know before believing a number."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from ..document import PLAIN, Section
from ..document import count as counted
from ..labels.facts import Evidence
from ..labels.frame import Frame, VariableFrame, Warning
from ..labels.reference import JOINT_LABEL_NAMES, reference
from ..statistics import ALPHA, FLEISS, KAPPA, Bools, confirm_far_off
from ..types import JSON
from .alt_test import FLOORS
from .base import SectionPart

FEWEST_QUERIES = 10
PREVALENT = 0.9
FAR_OFF = 0.2
MOST_MISSING = 0.02
SURE = 0.01
LEAST_EXPECTED = 1.0
"""With fewer expected failures in a cell chi-square is not reliable (Cochran 1954)."""


def warnings(frame: Frame, variables: JSON) -> list[JSON]:
    """Return the warnings about the labels and the report's `variables`, those on reading first."""
    found = [each for each in frame.warnings if each.variable in (None, *variables)]
    for name, block in variables.items():
        labels, units = frame.variables[name], block.get("noun", PLAIN)[1]
        found += [*_few_queries(labels), *_prevalence(labels), *_below_zero(name, block)]
        found += _far_off(name, block["agreement"], units)
        found += _floor(name, block)
        found += _misfits(name, frame.evidence)
        for column in labels.columns("judge"):
            found += [*_missing(labels, column, units)]
            found += _fails_by_system(labels, column, units)
            found += _without_evidence(labels, column, frame.evidence)
    return [warning._asdict() for warning in found]


def _misfits(name: str, evidence: Evidence) -> Iterator[Warning]:
    """Warn of highlights whose offsets do not count code points."""
    for (variable, rater), count in sorted(evidence.misfits.items()):
        if variable == name:
            verb = "highlight is" if count == 1 else "highlights are"
            text = (
                f"{count} {verb} longer or shorter than the quoted words, counted in code points. "
                "If the offsets count UTF-16 units or bytes, the overlap of highlights is wrong: "
                "import the file into a campaign, which recognises these."
            )
            yield Warning("offsets", name, rater, text)


def _few_queries(labels: VariableFrame) -> Iterator[Warning]:
    queries = len(np.unique(labels.units.query))
    if queries < FEWEST_QUERIES:
        noun = "query" if queries == 1 else "queries"
        text = f"It rests on only {queries} {noun}. Below {FEWEST_QUERIES} there is no interval."
        yield Warning("few_queries", labels.name, None, text)


def _prevalence(labels: VariableFrame) -> Iterator[Warning]:
    codes = labels.codes_of("human")
    given = codes[codes >= 0]
    if not len(given):
        return
    counts = np.bincount(given, minlength=len(labels.scale.categories))
    share = counts.max() / len(given)
    if share > PREVALENT:
        category = labels.scale.categories[int(counts.argmax())]
        text = (
            f"{share:.0%} of people's labels are `{category}`. Kappa and alpha are low on such "
            "labels even if people agree. Read them beside percent agreement and Gwet's AC."
        )
        yield Warning("prevalence", labels.name, None, text)


def _below_zero(name: str, block: JSON) -> Iterator[Warning]:
    people = [block["agreement"][key] for key in (FLEISS.key, ALPHA.key)]
    if any(_is_below_zero(estimate) for estimate in people):
        text = "People agree less than chance would (kappa or alpha below zero)."
        yield Warning("kappa_below_zero", name, None, f"{text} Check the guideline and the codes.")
    for judge, of in block["judges"].items():
        kappa = of["agreement"][KAPPA.key]
        if _is_below_zero(kappa):
            whom = JOINT_LABEL_NAMES[of["reference"]]
            text = f"It agrees with {whom} less than chance would (kappa {kappa['value']:.2f})."
            yield Warning("kappa_below_zero", name, judge, text)


def _is_below_zero(estimate: JSON) -> bool:
    """Return whether the whole interval is below zero, or the value if there is no interval."""
    end = estimate["value"] if estimate["high"] is None else estimate["high"]
    return end is not None and end < 0


def _floor(name: str, block: JSON) -> Iterator[Warning]:
    for judge, of in block["judges"].items():
        floor, epsilon = of["floor"], of["alt_test"]["epsilon"]
        if of["alt_test"]["verdict"] == "floor-passes":
            passing = FLOORS[of["alt_test"]["answer"]["set_by"]]
            text = (
                f"It passes the alternative annotator test at epsilon {epsilon:g}, but so does a "
                f"floor that does not read the texts: {passing}. The test says nothing at this "
                "epsilon."
            )
            yield Warning("floor_passes", name, judge, text)
        less = floor["judge_minus_floor"]
        if less["high"] is not None and less["high"] < 0:
            text = (
                "It agrees with people less than the lexical rule does, which only compares words "
                f"(mean kappa with each person {less['value']:.2f}, interval "
                f"{less['low']:.2f} to {less['high']:.2f})."
            )
            yield Warning("below_floor", name, judge, text)


def _far_off(name: str, agreement: JSON, units: str) -> Iterator[Warning]:
    if "pairs_distribution" in agreement:
        for each in agreement["pairs_distribution"]["stand_out"]:
            own = each[KAPPA.key]
            own_text = "is not defined" if own is None else f"is {own:.2f}"
            text = (
                f"Cohen's kappa with the others {own_text} over {each['units']} {units}. The "
                f"others have {each['others']:.2f} with each other."
            )
            yield Warning("rater_far_off", name, each["name"], text)
        return
    yield from _far_off_in(name, agreement["pairs"])


def _far_off_in(name: str, pairs: Sequence[JSON]) -> Iterator[Warning]:
    known = [(p["a"], p["b"], p[KAPPA.key]["value"]) for p in pairs]
    figures = _mean_kappas(known)
    for rater in sorted(confirm_far_off(figures, lambda out: _mean_kappas(known, out))):
        own, rest = figures[rater]
        text = (
            f"Cohen's kappa with the others is {own:.2f} on average. The others have "
            f"{rest:.2f} with each other."
        )
        yield Warning("rater_far_off", name, rater, text)


def _mean_kappas(
    pairs: Sequence[tuple[str, str, float | None]], out: Collection[str] = ()
) -> dict[str, tuple[float, float]]:
    """Return, for each rater who is far off, the mean kappa with the others, and the others' own.

    Raters in `out` are compared, but are not among the others.
    """
    found = {}
    for rater in {each for a, b, _ in pairs for each in (a, b)}:
        there = [
            (rater in (a, b), kappa)
            for a, b, kappa in pairs
            if kappa is not None and not {a, b} - {rater} & set(out)
        ]
        own, rest = ([kappa for mine, kappa in there if mine is it] for it in (True, False))
        if own and rest and np.mean(rest) - np.mean(own) > FAR_OFF:
            found[rater] = float(np.mean(own)), float(np.mean(rest))
    return found


def _missing(labels: VariableFrame, column: int, units: str) -> Iterator[Warning]:
    lost, asked = _failures(labels, column)
    if not asked.any() or lost.sum() / asked.sum() <= MOST_MISSING:
        return
    share = lost.sum() / asked.sum()
    said = reference(labels)
    people, codes = said.codes, labels.codes[:, column]
    held, away = (people >= 0) & (codes >= 0), (people >= 0) & lost
    agreed, whole = int((people == codes)[held].sum()), int(held.sum() + away.sum())
    bounds = ""
    if whole:
        low, high = agreed / whole, (agreed + int(away.sum())) / whole
        bounds = (
            f" Its agreement with {JOINT_LABEL_NAMES[said.rule]} is between {low:.3f} and "
            f"{high:.3f}, depending on whether missing labels count as wrong or right."
        )
    text = (
        f"It has no label on {int(lost.sum())} of {int(asked.sum())} {units} ({share:.1%}). Above "
        f"{MOST_MISSING:.0%} do not quote its figures as results.{bounds}"
    )
    yield Warning("judge_missing", labels.name, labels.raters[column].name, text)


def _fails_by_system(labels: VariableFrame, column: int, units: str) -> Iterator[Warning]:
    lost, asked = _failures(labels, column)
    systems = np.array([system or "" for system in labels.units.system])
    names = [name for name in sorted(set(systems[asked])) if name]
    if len(names) < 2 or not lost.any():
        return
    table = np.array(
        [[(lost & (systems == n)).sum(), (asked & ~lost & (systems == n)).sum()] for n in names]
    )
    if not table.sum(axis=0).all():
        return
    from scipy import stats

    test = stats.chi2_contingency(table, correction=False)
    if test.expected_freq.min() < LEAST_EXPECTED or test.pvalue >= SURE:
        return
    shares = table[:, 0] / table.sum(axis=1)
    worst, best = int(shares.argmax()), int(shares.argmin())
    text = (
        f"It fails more on some systems: {shares[worst]:.1%} of {units} are missing for "
        f"{names[worst]}, {shares[best]:.1%} for {names[best]} (chi-square "
        f"{test.statistic:.1f}, {len(names) - 1} df, p = {test.pvalue:.2g}; {units} count as "
        "independent). Its scores of systems then rest on different parts of the data."
    )
    yield Warning("judge_fails_by_system", labels.name, labels.raters[column].name, text)


def _without_evidence(labels: VariableFrame, column: int, evidence: Evidence) -> Iterator[Warning]:
    """Warn about a judge that never quotes the evidence that the protocol asks for."""
    owing, rater = evidence.owed.get(labels.name, ()), labels.raters[column].name
    places = [n for n, code in enumerate(labels.scale.categories) if code in owing]
    count = int(np.isin(labels.codes[:, column], places).sum())
    quoted = any((each.rater, each.variable) == (rater, labels.name) for each in evidence.spans)
    if count and not quoted:
        noun = "label" if count == 1 else "labels"
        code = "` or `".join(labels.scale.categories[n] for n in places)
        text = (
            f"It quotes no evidence for its {count} {noun} `{code}`, which the protocol asks for. "
            "Nothing shows what they rest on, and agreement on evidence leaves it out."
        )
        yield Warning("judge_without_evidence", labels.name, rater, text)


def _failures(labels: VariableFrame, column: int) -> tuple[Bools, Bools]:
    """Return two masks: where a rater's label is missing, and where one was requested."""
    lost = np.zeros(len(labels.codes), dtype=bool)
    asked = labels.codes[:, column] >= 0
    for aside in labels.asides:
        if aside.rater == labels.raters[column].name:
            asked[aside.unit] = True
            lost[aside.unit] = aside.is_missing
    return lost, asked


def warnings_section(report: JSON) -> list[Section]:
    points = tuple(
        f"{', '.join(who)}: {each['text']}" if who else each["text"]
        for each in report.get("warnings", ())
        for who in [tuple(filter(None, (each["variable"], each["rater"])))]
    )
    return (
        [Section(counted(len(points), "warning"), (), points=points, name="warnings")]
        if points
        else []
    )


PART = SectionPart(section=warnings_section)
