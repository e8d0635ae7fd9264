"""The report in brief: the few numbers that a campaign's first page shows, from the report's JSON.

Nothing is computed here, and the wording is that of the verdict, so that the first page and the
results cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..labels.resampling import MEAN
from ..statistics import Coefficient
from ..types import JSON
from .base import coefficient_of, people_of
from .sentence import SURE
from .verdict import THIN

BRIEF_VERSION = 5
"""Part of the key under which a brief is cached: raise it when `brief_of` changes."""
BOUNDS = (0.001, 0.01, SURE)


def brief_of(report: JSON) -> JSON:
    """Return a report's numbers for the first page, as JSON.

    `people` and `judges` count labels by rater. `variables` and `scores` are lists in the report's
    order, and `warnings` are the report's own. `interim` is the verdict's sentence, else empty.
    """
    counted = {
        kind: {
            rater["name"]: rater["labels"]
            for rater in report["raters"]
            if rater["kind"] == kind and not rater["excluded"]
        }
        for kind in ("human", "judge")
    }
    verdict = report.get("verdict", {})
    by_variable, ranked = verdict.get("variables", {}), verdict.get("scores", {})
    return {
        "at": report["generated_at"],
        "people": counted["human"],
        "judges": counted["judge"],
        "variables": [
            _variable(name, block, by_variable.get(name, {}))
            for name, block in report["variables"].items()
        ],
        "scores": [
            {**found, "best": _open_ended(ranked.get(name, {}).get("best", {}))}
            for name, of in report["scores"].items()
            if (found := _score(name, of))
        ],
        "warnings": report["warnings"],
        "interim": verdict.get("interim", {}).get("text", ""),
    }


def _variable(name: str, block: JSON, sentences: JSON) -> JSON:
    agreement = block["agreement"]
    shown, found, _ = people_of(block)
    people = sentences.get("people", {})
    return {
        "name": name,
        "units": agreement["units"],
        "people": agreement["raters"],
        "sign": shown.sign,
        "value": _estimate(found),
        "reason": found.get("reason", ""),
        "answer": people.get("answer", ""),
        "tone": people.get("tone", "open"),
        "needed": _needed(people),
        "thin": thin_raters(agreement),
        "judges": [
            _judge(who, of, coefficient_of(block), sentences.get("judges", {}).get(who, {}))
            for who, of in block["judges"].items()
        ],
    }


def thin_raters(agreement: JSON) -> dict[str, int]:
    """Return the people whose largest overlap with another person is below `THIN`, and the overlap.

    Empty if this is true of everyone.
    """
    most: dict[str, int] = {}
    for pair in agreement.get("pairs", ()):
        for who in (pair["a"], pair["b"]):
            most[who] = max(most.get(who, 0), pair["units"])
    thin = {who: units for who, units in most.items() if units < THIN}
    return thin if len(thin) < len(most) else {}


def _judge(name: str, of: JSON, shown: Coefficient, sentences: JSON) -> JSON:
    key = shown.key
    replacement = sentences.get("replacement", {})
    return {
        "name": name,
        "sign": shown.sign,
        "units": of["units"],
        "value": _estimate(of["with_people"][key]),
        "majority": _estimate(of["agreement"][key]),
        "people": _estimate(of["human_ceiling"][key]),
        "gap": _estimate(of["gap"][key]),
        "answer": sentences.get("agreement", {}).get("answer", ""),
        "tone": sentences.get("agreement", {}).get("tone", "open"),
        "reason": of["gap"][key].get("reason", ""),
        "test": _open_ended(replacement),
        "error": _worst(of.get("confusion") or {}),
    }


def _open_ended(sentence: JSON) -> JSON:
    """Return a sentence, apart from how many more queries would decide what it leaves open."""
    found = {name: sentence.get(name, "") for name in ("answer", "tone", "text")}
    needed = _needed(sentence)
    if needed:
        found["text"] = found["text"].replace(f"; {needed['text']}", "")
    return {**found, "needed": needed}


def _needed(sentence: JSON) -> JSON | None:
    """Return how many `more` queries a sentence asks for, and its words on that."""
    for part in sentence.get("parts", ()):
        if "more" in part:
            return {"text": part["text"].lstrip("; "), "more": part["more"]}
    return None


def _worst(confusion: JSON) -> JSON | None:
    """Return the most frequent confusion with people's label, out of all units with that label."""
    labels, matrix = confusion.get("labels", []), confusion.get("matrix", [])
    cells = [
        (matrix[row][column], row, column)
        for row in range(len(matrix))
        for column in range(len(matrix))
        if row != column
    ]
    number, row, column = max(cells, default=(0, 0, 0))
    if not number:
        return None
    whole = sum(matrix[row])
    return {"people": labels[row], "judge": labels[column], "number": number, "of": whole}


def _score(name: str, of: JSON) -> JSON | None:
    """Return a score's systems by the mean of people, best first; None without any.

    The comparisons of systems use this mean, too.
    """
    values = {
        system: _estimate(raters[MEAN])
        for system, raters in of.get("systems", {}).items()
        if MEAN in raters
    }
    known = {system: found for system, found in values.items() if found["value"] is not None}
    if not known:
        return None
    items: dict[str, int] = {}
    for item in of["items"]:
        items[item["system"]] = items.get(item["system"], 0) + 1
    order = sorted(known, key=lambda system: (-known[system]["value"], system))
    return {
        "name": name,
        "systems": [{"name": each, **known[each], "items": items.get(each, 0)} for each in order],
        "above": list(_above(of.get("comparisons", ()), order)),
    }


def _above(comparisons: Sequence[JSON], order: Sequence[str]) -> Iterator[JSON]:
    """Yield each system with the systems significantly below it, and a bound on the largest p."""
    found: dict[str, dict[str, float]] = {}
    for each in comparisons:
        p, apart = each["paired_t"]["adjusted_p_value"], each["difference"]["value"]
        if p is None or apart is None or p >= SURE:
            continue
        high, low = (each["a"], each["b"]) if apart > 0 else (each["b"], each["a"])
        found.setdefault(high, {})[low] = p
    for system in order:
        if below := found.get(system):
            bound = next(bound for bound in BOUNDS if max(below.values()) < bound)
            yield {
                "name": system,
                "below": [each for each in order if each in below],
                "all": len(below) == len(order) - 1,
                "bound": f"{bound:g}".lstrip("0"),
            }


def _estimate(found: JSON) -> JSON:
    return {name: found.get(name) for name in ("value", "low", "high")}
