"""Methods paragraph: how the intervals of a report were computed, and which numbers have none."""

from __future__ import annotations

import re

from ..statistics import expanded_level
from ..types import JSON
from .base import SectionPart, joined
from .citations import CITED, methods_of


def describe_intervals(report: JSON, every: list[str]) -> str:
    """Describe how the report's intervals were computed, from `every` estimate's method."""
    kinds = {_kind_of_interval(each) for each in every if each.startswith("95 %")}
    parts = []
    if kinds:
        parts.append(
            f"Intervals are 95 %: {joined(sorted(kinds))}. Seed {report['seed']}. Queries, not "
            "labels, are treated as independent."
        )
        parts.append(_describe_scope(report))
    if any(kind.startswith("Wilson interval") for kind in kinds):
        parts.append(
            f"Wilson's interval of a mean p {CITED['wilson1927']} has t as quantile and the size "
            f"p(1−p)/s² for the squared standard error s², at least the number of queries "
            f"{CITED['korn1998']}."
        )
    if any(kind.startswith("BCa") for kind in kinds):
        parts.append(_describe_level(every))
    if any(" differ on " in each for each in every):
        parts.append(
            "If the two sides of a difference or correction differ on fewer than 5 queries, there "
            "is none."
        )
    if any(each.endswith("from the rest, at least 5 must") for each in every):
        parts.append("If fewer than 5 queries differ from the rest in their labels, there is none.")
    if any(each.endswith("at least 5 are needed") for each in every):
        parts.append("If fewer than 5 queries are informative, there is none.")
    if any("at least 10 are needed" in each for each in every):
        parts.append("A number that rests on fewer than 10 queries has no interval.")
    strata = {name for v in report["variables"].values() for name in v["strata"]}
    if strata:
        parts.append(f"All of this was repeated within each {' and each '.join(sorted(strata))}.")
    return " ".join(parts)


def _describe_level(methods: list[str]) -> str:
    """Describe the level of the bootstrap's quantiles for the fewest and the most queries."""
    pattern = (
        r"95 % BCa bootstrap of (\d+) queries(?:, ([\d.]+) by their sizes)?"
        r"(?:, (\d+) of them informative)?"
    )
    found = [re.match(pattern, each) for each in methods]
    queries = sorted({min(float(n) for n in each.groups() if n) for each in found if each})
    ends = dict.fromkeys((queries[0], queries[-1]))
    levels = joined([f"{100 * expanded_level(n):.2f} % with {n:g}" for n in ends])
    return (
        f"The bootstrap is BCa {CITED['efron1987']} at the level 2Φ(√(n/(n−1)) t) − 1 for n "
        "informative queries, t being Student's with n−1 degrees of freedom at .975 "
        f"{CITED['hesterberg2015']}: {levels}. A query is informative if it holds enough "
        "of the rarer labels. Queries of sizes s count as no more than (Σs)²/Σs²."
    )


def _describe_scope(report: JSON) -> str:
    """Describe whether intervals hold for these raters only or also for others."""
    if report["choices"].get("bootstrap", "queries") == "two-way":
        return (
            "In the two-way bootstrap queries and raters were resampled, each with replacement "
            f"{CITED['owen2007']}, without pairs of one rater with itself, so that its intervals "
            "hold for other raters of this kind, too, if only roughly with few raters. All other "
            "intervals resample queries alone, and hold for these raters."
        )
    return (
        "Queries represent others of their kind, and people themselves: intervals hold for "
        "these raters."
    )


def _kind_of_interval(interval: str) -> str:
    """Return an interval's method without the details that differ between estimates."""
    details = r", \d+ of them informative|, [\d.]+ by their sizes|, effective size \d+"
    interval = re.sub(details + r"|, widened to [\d.]+ % by Holm's adjustment", "", interval)
    text = re.sub(r" (of|clustered by) \d+ (queries|query)", r" \1 whole queries", interval[5:])
    text = re.sub(r" and \d+ raters?", " and raters", text)
    text = re.sub(r", \d+ labelled quer(y|ies)", " on query means", text)
    return text.strip().rstrip(",")


PART = SectionPart(
    head="Intervals",
    methods=lambda report: [
        describe_intervals(report, [m.partition("; ")[2] for m in methods_of(report)])
    ],
)
CHECK = SectionPart(
    head="Check by other libraries",
    methods=lambda report: [report.get("check", {}).get("line", "")],
)
