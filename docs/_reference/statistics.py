"""Reference page of the statistics and measures, from their registries and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields

import tandem.statistics as library
from docs._reference.words import code, page, plain, table
from tandem.scores import MEASURES
from tandem.scores.base import Measure
from tandem.scores.options import PRESETS, Options
from tandem.sections import systems
from tandem.statistics import STATISTICS, Statistic
from tandem.trust.check import check
from tandem.trust.evidence import (
    evidence_by_size,
    evidence_of_cells,
    evidence_of_even,
    log_evidence,
    risk_bound,
)
from tandem.trust.floor import floor_of_truth, majority_error

OPENING = """\
For researchers who want to know what a number in a report is: every statistic with its formula and
its source, as documented in the code that computes it.

U stands for units, R for raters, K for categories, B for resamples. A statistic that is undefined
has no value in the report but a reason, never 0 and never NaN. Intervals resample whole queries, or
come from the variance of query means: Wilson's for bounded means such as shares, t for others; each
estimate names its method. Intervals of resampled queries are BCa at the level
2 Phi(root(n/(n-1)) t) - 1 for n queries, where t is Student's with n-1 degrees of freedom at .975
(`expanded_level`): 98.3 % with 10 queries, 96.8 % with 20 and 95.8 % with 50. There are 10,000
resamples below thirty queries and in snapshots, otherwise 2,000. n counts the informative queries,
which have enough of the rarer labels, and queries of different sizes s count as no more than
(sum s)^2 / sum s^2. There is no resampled interval below ten queries, if fewer than five of them
are informative or differ from the rest, or if all resamples agree. The value is then shown alone,
and its method says why.

The distance of two categories is the same in all coefficients: the difference of their numbers, if
all categories are numbers, and otherwise of their ranks on the declared scale. Without a declared
scale, ranks are those among the values that occur. The methods of a report say which it is.

[How far to trust an interval](../intervals.md) shows how often intervals contain the truth.
[From the demonstration to a report](../tutorials/researcher.md) explains the numbers of an example.
"""


TRUST = """\
## What a judge may decide

The functions behind bounds of a judge's errors: `check` for labels that exist, and the evidence on
which it and plans depend. G stands for queries, N for cells (units), t for draws.
"""
SHEKHAR = "Shekhar, Xu, Lipton, Liang and Ramdas (UAI 2023)"
BETTING = "Waudby-Smith and Ramdas (NeurIPS 2020; JRSS-B 2024)"
BOUNDS: tuple[tuple[Callable[..., object], str], ...] = (
    (check, f"{BETTING}; {SHEKHAR}"),
    (log_evidence, BETTING),
    (evidence_by_size, SHEKHAR),
    (evidence_of_cells, BETTING),
    (evidence_of_even, BETTING),
    (risk_bound, "Ville (1939)"),
    (floor_of_truth, "our own derivation"),
    (majority_error, "our own derivation"),
)
"""Functions of `tandem.trust`, each with its source."""


def write() -> str:
    measured = f"## Measures\n\n### coverage\n\n{plain(systems.__doc__)}\n\n"
    measured += plain(systems.coverage.__doc__)
    sections = [*map(_section, STATISTICS.values()), measured, *map(_measure, MEASURES.values())]
    return page("Statistics", OPENING, *sections, _options(), TRUST, *map(_of_trust, BOUNDS))


def _options() -> str:
    """Describe the options of measures, their defaults, and what each preset changes."""
    plainly = Options()
    rows = [
        (code(each.name), _shown(getattr(plainly, each.name)), plain(each.metadata["help"]))
        for each in fields(Options)
    ]
    changed = [
        f"{code(name)} has {', '.join(_changes(preset, plainly)) or 'the defaults'}"
        for name, preset in PRESETS.items()
    ]
    return "\n\n".join(
        [
            "### Options of the measures",
            table(("option", "default", "reason"), rows),
            f"Presets: {'; '.join(changed)}.",
        ]
    )


def _changes(preset: Options, plainly: Options) -> list[str]:
    names = [each.name for each in fields(Options)]
    return [
        code(f"{name}={_words(getattr(preset, name))}")
        for name in names
        if getattr(preset, name) != getattr(plainly, name)
    ]


def _shown(value: object) -> str:
    return code(_words(value))


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _measure(measure: Measure) -> str:
    """Describe a measure: one line, how it is computed, its options and its source."""
    function = getattr(measure.of, "func", measure.of)
    chosen = ", ".join(f"`{name}`" for name in measure.options) or "none"
    return "\n\n".join(
        [
            f"### {measure.name}",
            plain(measure.summary),
            plain(function.__doc__),
            f"No value where {plain(measure.undefined)}. Options: {chosen}.",
            f"Source: {plain(measure.citation)}.",
        ]
    )


def _of_trust(each: tuple[Callable[..., object], str]) -> str:
    function, citation = each
    return "\n\n".join(
        [
            f"### {function.__name__}",
            f"```\n{function.__name__}{_arguments(function)}\n```",
            plain(function.__doc__),
            f"Source: {citation}.",
        ]
    )


def _section(statistic: Statistic) -> str:
    function = getattr(library, statistic.name)
    signature = f"{statistic.name}{_arguments(function)}"
    return "\n\n".join(
        [
            f"## {statistic.name}",
            plain(statistic.summary),
            f"```\n{signature}\n```",
            plain(function.__doc__),
            f"Source: {plain(statistic.citation)}.",
        ]
    )


def _arguments(function: object) -> str:
    if not callable(function):
        return ""
    return f"({', '.join(inspect.signature(function).parameters)})"
