"""The methods text on the alternative annotator test: its rule, floors, other forms and power."""

from __future__ import annotations

from ..document import UNITS
from ..statistics.alternative_floors import PERMUTATIONS
from ..types import JSON
from .citations import CITED
from .nouns import joined


def alternative_methods(tests: list[JSON]) -> list[str]:
    """Describe the tests of all judges; empty if none is defined."""
    if all(test.get("reason") for test in tests):
        return []
    units = joined(sorted({test["decides"].replace("by_query", "queries") for test in tests}))
    return [
        f"The alternative annotator test {CITED['calderon2025']} was run with epsilon "
        f"{tests[0]['epsilon']:g}, one-sided t tests over {units}, and the false discovery rate of "
        f"0.05 controlled over annotators under any dependence {CITED['benjamini2001']}. A judge "
        "is shown if it is significantly less than epsilon behind at least half of the "
        "annotators, and shown worse if the reverse tests reject for so many that half cannot be "
        "reached. Epsilon is the chosen one, or the largest multiple of .01 at which neither of "
        "two floors without information passes: the commonest label throughout, and more than "
        f"5 % of {PERMUTATIONS} permutations of the judge's labels. Verdicts hold for one look at "
        "the end: testing again and again while labels arrive, and stopping once a judge is "
        "shown, is wrong more often.",
        *_balanced(tests),
        *_few_queries(tests),
        *_other_rules(tests),
    ]


def _few_queries(tests: list[JSON]) -> list[str]:
    needed = {test["queries_needed"] for test in tests if test.get("queries_needed")}
    if not needed:
        return []
    return [
        "Over queries a p-value is never below ((1 - epsilon) / (1 - d))^n, with d the mean "
        "difference over n queries, which bounds it by Markov's inequality; with fewer than "
        f"{joined(sorted(map(str, needed)))} queries only a judge that is closer to people than "
        "they are to each other can be shown."
    ]


def _balanced(tests: list[JSON]) -> list[str]:
    """Describe the class-balanced form, and the share of the way from the floor to people."""
    found = []
    if any(test.get("balanced", {}).get("outcome") for test in tests):
        found.append(
            "In its class-balanced form, an annotator's lead is the mean over categories of the "
            "mean over labels of the others in it; categories with fewer than ten are pooled."
        )
    if any(test.get("answer", {}).get("way", {}).get("value") is not None for test in tests):
        found.append(
            "The share of the way from the floor to people is 1 less the ratio of the mean losses "
            f"of judge and floor, with Fieller's interval {CITED['fieller1954']} over queries."
        )
    return found


def _other_rules(tests: list[JSON]) -> list[str]:
    """Name the other rules of the alternative annotator test, and its power."""
    defined = [test for test in tests if not test.get("reason")]
    used = {rule for test in defined for rule in test.get("sensitivity", ())}
    rules = {
        "multiplicative": "in its multiplicative form",
        "missing_dropped": "with unanswered items dropped",
        "wilcoxon": f"by exact signed ranks {CITED['wilcoxon1945']} for few {UNITS}",
    }
    words = [text for rule, text in rules.items() if rule in used]
    parts = [f"For comparison it was also run {'; '.join(words)}."] if words else []
    if any(test.get("power", {}).get("as_good") is not None for test in defined):
        parts.append(
            "Its power was simulated for the rule that decides, with people's agreement, the "
            "frequencies of their labels, and the correlation of the judge's losses within "
            f"queries by the design effect {CITED['kish1965']}."
        )
    return parts
