"""The statistics, from their registry and docstrings."""

from __future__ import annotations

import inspect

import analysis.statistics as library
from analysis.blocks import coverage
from analysis.measures import MEASURES
from analysis.measures.base import Measure
from analysis.statistics import STATISTICS, Statistic
from docs._reference.words import page, plain

OPENING = """\
For researchers who want to know what a number in a report is: every statistic with its formula and
its source, as it is written down beside the code that computes it.

U stands for units, R for raters, K for categories, B for resamples. A statistic that is undefined
on the labels at hand has no value in the report but a reason, never 0 and never NaN. Intervals
resample whole queries, or are t intervals on query means; each estimate names its method. Those of
resampled queries are BCa below thirty queries and percentile from there on. Below ten queries there
is no interval. [Reading a report](../tutorials/researcher.md) shows the
numbers at work.
"""


def write() -> str:
    measured = f"## Measures\n\n### coverage\n\n{plain(coverage.__doc__)}\n\n"
    measured += plain(coverage.coverage.__doc__)
    sections = [*map(_section, STATISTICS.values()), measured, *map(_measure, MEASURES.values())]
    return page("Statistics", OPENING, *sections)


def _measure(measure: Measure) -> str:
    """A measure: its line, how it is computed, what may be chosen, where it comes from."""
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
