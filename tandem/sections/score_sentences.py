"""Sentences of the verdict about a score: which system is best, and how judges order systems."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, isclose
from statistics import NormalDist

from ..document import DASH, count, rounded
from ..labels.resampling import MEAN
from ..statistics.alternative_floors import LIKELY, MOST_TIMES
from ..types import JSON
from .sentence import (
    BEST,
    CHANCE,
    DIGITS,
    FAR_BEHIND,
    RANKS,
    SURE,
    Part,
    Path,
    Sentence,
    Tone,
    more_queries,
    number,
    p_value,
    question_of,
    short,
)
from .system_order import reverse_difference


def score_sentences(of: JSON, name: str) -> JSON:
    """Return the sentences about a score: `best`, if systems can be compared, and of `judges`."""
    best = _best(of, name)
    order = of.get("order", {"judges": {}})["judges"]
    judges = {who: _ranking(of, name, who).as_json() for who in order}
    return {**({"best": best.as_json()} if best else {}), "judges": judges}


def _best(of: JSON, name: str) -> Sentence | None:
    """State which system people score highest, and whether it is clearly above the second."""
    known = _means(of)
    if len(known) < 2:
        return None
    # Whether a share of a code, or a mean, should be high is not known.
    question = "Which system is highest?" if "about" in of else "Which system is best?"
    first, second = list(known)[:2]
    alike = sum(isclose(value, known[first], abs_tol=1e-9) for value in known.values())
    if alike > 1:
        # Tied systems are in order of name, which is meaningless.
        score = f"{name} {rounded(known[first], DIGITS)} by the mean of people"
        whose = Part(f", equal for {count(alike, 'system')}", ("scores", name, "comparisons"))
        shared = (Part(score, ("scores", name, "systems", first)), whose)
        return Sentence(question, "Not one alone", "open", shared, BEST)
    pairs = of.get("comparisons", ())
    pair = next((each for each in pairs if {each["a"], each["b"]} == {first, second}), None)
    if pair is None or pair["difference"]["value"] is None:
        return None
    found, p = pair["difference"], pair["paired_t"]["adjusted_p_value"]
    if pair["a"] != first:
        found = reverse_difference(found)
    sure = p is not None and p < SURE and found["value"] > 0
    detail = f"{name} {rounded(known[first], DIGITS)} by the mean of people"
    why = f"p {p_value(p)} after Holm" if p is not None else pair["paired_t"].get("reason", "")
    tests = count(len(pairs), "pair")
    parts = (
        Part(detail, ("scores", name, "systems", first)),
        Part(f"; {number(found)} above {second or DASH}", ("scores", name, "comparisons")),
        Part(f", {why} over {tests}" if p is not None else f"; not tested: {why}"),
        *(() if sure else _needed(pair, len(pairs), ("scores", name, "comparisons"))),
    )
    words = f"{first or DASH}, {'clearly' if sure else 'but not clearly'}"
    return Sentence(question, words, "good" if sure else "open", parts, BEST)


def _needed(pair: JSON, tests: int, key: Path) -> Iterator[Part]:
    """State how many queries like these would show a difference as large as the one found.

    In about four of five studies of n' = n ((z + 0.84) / u)^2 queries the test would be significant
    after Holm's first step, where u is the normal deviate of its p-value and z that of .05 / tests.
    """
    now, p = pair["queries"], pair["paired_t"]["p_value"]
    if p is None:
        return
    normal = NormalDist()
    found, due = normal.inv_cdf(1 - p / 2), normal.inv_cdf(1 - SURE / tests / 2) + LIKELY
    if found * MOST_TIMES**0.5 < due:
        most = count(MOST_TIMES * now, "query", "queries")
        yield Part(f"; even {most} like these would hardly show which is better", key)
    else:
        needed = max(ceil(now * (due / found) ** 2), now + 1)
        yield more_queries(needed, needed - now, key)


def _means(of: JSON) -> dict[str, float]:
    """Return the systems' means of people, the highest first."""
    systems = {system: raters.get(MEAN) for system, raters in of.get("systems", {}).items()}
    means = {system: mean["value"] for system, mean in systems.items() if mean}
    known = {system: value for system, value in means.items() if value is not None}
    return {each: known[each] for each in sorted(known, key=lambda each: (-known[each], each))}


def _ranking(of: JSON, name: str, judge: str) -> Sentence:
    """State whether the judge orders systems as people do, within queries and overall."""
    question = question_of("rankings", judge)
    block, path = of["order"]["judges"][judge], ("scores", name, "order", "judges", judge)
    share = block["within_queries"]
    if share["value"] is None:
        why = Part(share["reason"], (*path, "within_queries"))
        return Sentence(question, "Not known", "open", (why,))
    words, tone = order_in_words(block)
    parts = [
        *_within_queries(block, path),
        *_of_systems(block, path),
        *_powered(of, block, path),
    ]
    return Sentence(question, words, tone, parts, RANKS)


def order_in_words(block: JSON) -> tuple[str, Tone]:
    """Describe a judge's order of systems by its share of pairs, its gap and the opposite pairs."""
    share, gap, counts = block["within_queries"], block["gap"], block["counts"]
    if counts["tied"] == counts["scored"]:
        return "No, it ties every pair", "poor"
    if share["low"] is None:
        return f"{_by_value(share['value'], gap['value'])}, by the value alone", "open"
    apart = _is_significant(block["chance_test"])
    if share["high"] < CHANCE and apart:
        return "No, rather the reverse", "poor"
    behind = gap["low"] is not None and gap["high"] < 0 and _is_significant(block["gap_test"])
    if share["low"] <= CHANCE or not apart:
        return "Not shown to be better than chance", "poor" if behind else "open"
    if block["findings"]["both_opposite"]:
        return "Not for every pair of systems", "poor"
    if gap["low"] is None:
        return "Better than chance", "fair"
    if gap["low"] > -FAR_BEHIND:
        return ("Nearly", "fair") if behind else ("Yes", "good")
    if behind:
        return "Less well than people do", "poor"
    return "No difference from people can be shown", "fair"


def _is_significant(test: JSON) -> bool:
    """Return whether a test holds after Holm over the judges; without a p-value nothing varies."""
    p = test["adjusted_p_value"]
    return p is None or p < SURE


def _by_value(share: float, gap: float | None) -> str:
    if share <= CHANCE:
        return "No better than chance" if isclose(share, CHANCE) else "Rather the reverse"
    if gap is None:
        return "Better than chance"
    return "Less well than people do" if float(rounded(gap, DIGITS)) < 0 else "As well as people do"


def _within_queries(block: JSON, path: Path) -> Iterator[Part]:
    counts = block["counts"]
    yield Part("orders alike ")
    yield Part(number(block["within_queries"]), (*path, "within_queries"))
    pairs = f"{count(counts['scored'], 'pair')} in {count(counts['queries'], 'query', 'queries')}"
    yield Part(" of the pairs of systems that people order within a query")
    yield Part(f" ({pairs})", (*path, "counts"))
    if counts["tied"] * 2 >= counts["scored"]:
        tied = "all" if counts["tied"] == counts["scored"] else f"{counts['tied']:,}"
        yield Part(f"; it ties {tied} of them, each counted as one half", (*path, "counts"))
    gap = block["gap"]
    if gap["value"] is None:
        yield Part(f"; not compared with people: {gap['reason']}", (*path, "gap"))
        return
    yield Part("; with each person left out in turn ")
    yield Part(short(block["with_others"]), (*path, "with_others"))
    yield Part(f", people {short(block['people_with_others'])}", (*path, "people_with_others"))
    yield Part(f", gap {number(gap)}", (*path, "gap"))


def _of_systems(block: JSON, path: Path) -> Iterator[Part]:
    """State the order of the systems' means: tau-b of many systems, and the pairs of few."""
    found, tau = block["findings"], block["kendall"]
    pairs = len(block["pairs"])
    if tau["value"] is not None:
        yield Part(f"; τ-b of the {tau['n']} systems {number(tau)}", (*path, "kendall"))
        yield Part(f", τ-AP {short(block['tau_ap'])}", (*path, "tau_ap"))
        if found["both_opposite"]:
            opposite = (
                f"{found['both_opposite']} of {count(pairs, 'pair')} told apart in opposite ways"
            )
            yield Part(f", {opposite} (after Holm)", (*path, "pairs"))
    elif pairs:
        yield Part(
            f"; of {count(pairs, 'pair')} of systems, people and judge tell apart "
            f"{found['both_alike']} the same way and {found['both_opposite']} in opposite ways, "
            f"people alone {found['people_only']}, the judge alone {found['judge_only']} "
            "(after Holm)",
            (*path, "pairs"),
        )


def _powered(of: JSON, block: JSON, path: Path) -> Iterator[Part]:
    """State the prediction-powered difference of the best two systems by the mean of people."""
    first, second = [*_means(of), "", ""][:2]
    pair = next(
        (each for each in block["pairs"] if {each["a"], each["b"]} == {first, second}), None
    )
    if pair is None or pair["prediction_powered"]["difference"]["value"] is None:
        return
    found = pair["prediction_powered"]
    difference = found["difference"]
    if pair["a"] != first:
        difference = reverse_difference(difference)
    p = found["adjusted_p_value"]
    after = "" if p is None else f", p {p_value(p)} after Holm"
    yield Part(
        f"; by people and judge together (prediction-powered) {first or DASH} is "
        f"{number(difference)} above {second or DASH}{after}",
        (*path, "pairs"),
    )
