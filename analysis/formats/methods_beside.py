"""The methods paragraph's sentences on what stands beside the headlines of a report."""

from __future__ import annotations

from typing import Any

from analysis.formats.cited import CITED

JSON = dict[str, Any]


def beside(report: JSON) -> str:
    """References, evidence, soft labels and plans, each where the report has some."""
    parts = [_adjudicated(report), _evidence(report), _soft(report), _planning(report)]
    return " ".join(part for part in parts if part)


def other_rules(tests: list[JSON]) -> list[str]:
    """By which other rules the alternative annotator test was run, and its power."""
    defined = [test for test in tests if not test.get("reason")]
    used = {rule for test in defined for rule in test.get("sensitivity", ())}
    rules = {
        "multiplicative": "in its multiplicative form",
        "missing_dropped": "with unanswered items dropped",
        "wilcoxon": f"by exact signed ranks {CITED['wilcoxon1945']} where units are few",
    }
    words = [text for rule, text in rules.items() if rule in used]
    parts = [f"For comparison it was also run {'; '.join(words)}."] if words else []
    if any(test.get("power", {}).get("as_good") is not None for test in defined):
        parts.append(
            "Its power was simulated for equally frequent categories and as many independent items "
            f"as the design effect {CITED['kish1965']} leaves of those at hand."
        )
    return parts


def _evidence(report: JSON) -> str:
    of = {name: v["spans"] for name, v in report["variables"].items() if v.get("spans")}
    if not of:
        return ""
    blocks = [b for v in of.values() for b in (v["agreement"], *v["judges"].values())]
    chance = any(b["all"]["unitising_alpha"]["value"] is not None for b in blocks)
    corrected = (
        f", and by Krippendorff's alpha of words and for unitising {CITED['krippendorff1995']}"
    )
    return (
        f"The evidence marked for {', '.join(of)} was compared by F1 of exact and of overlapping "
        f"spans and of characters, averaged over pairs{corrected if chance else ''}; a judge is "
        "one more annotator."
    )


def _adjudicated(report: JSON) -> str:
    """What else judges were held against, and on how much of it they were."""
    if report["choices"].get("reference", "majority") != "adjudicated":
        return ""
    units = {
        name: max(
            (j["adjudicated"]["references"]["units"] for j in v["judges"].values()), default=0
        )
        for name, v in report["variables"].items()
    }
    told = ", ".join(f"{name} {number}" for name, number in units.items() if number)
    if not told:
        return "No label of a judge stands where an adjudicator decided."
    return (
        "Beside people's majority, judges were held against the labels that adjudicators decided "
        f"(units: {told}), alone and with people's majority on the units where none did; the "
        "References count in no agreement among people."
    )


def _soft(report: JSON) -> str:
    if not any(v.get("soft_labels", {}).get("raters") for v in report["variables"].values()):
        return ""
    return (
        "Beside the majority, soft labels and each person's errors were estimated "
        f"{CITED['dawid1979']} with people taken to err independently; intervals of judges against "
        "them take them as given."
    )


def _planning(report: JSON) -> str:
    plans = [v["planning"] for v in report["variables"].values() if v.get("planning")]
    if not plans:
        return ""
    return (
        f"For plans of intervals {plans[0]['width']:g} wide, the width was taken to go with "
        "t/root(n) over n queries, and its square with a + b/r over r raters a unit."
    )
