"""The keys of the report, from the report of `docs._reference.example`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from docs._reference import example
from docs._reference.words import code, meaning, table
from tandem.statistics import AMONG, CORRELATIONS, OF_TWO

ESTIMATE = {"value", "low", "high", "n", "method"}
PLACES = {
    "variables": "VARIABLE",
    "escapes": "CODE",
    "words": "CODE",
    "missing": "REASON",
    "judges": "JUDGE",
    "classes": "CATEGORY",
    "pairs": "RATER",
    "strata": "STRATUM",
    "STRATUM": "NAME",
    "scores": "SCORE",
    "values": "RATER",
    "systems": "SYSTEM",
    "SYSTEM": "RATER",
    "correlation": "JUDGE",
    "correlation.JUDGE": "RATER",
    "estimate": "SYSTEM",
    "by": "JUDGE",
    "people": "RATER",
    "distribution.counts": "RATER",
    "counts.RATER": "CODE",
    "labels_per_unit": "NUMBER",
    "code_words": "CODE",
    "by_code": "CODE",
    "prevalence": "RATER",
    "means": "RATER",
    "backgrounds": "QUESTION",
    "groups": "ANSWER",
    "label_first[].labels": "JUDGE",
    "majority": "SYSTEM",
    "by_system": "SYSTEM",
    "soft_labels.raters": "RATER",
    "humans.raters": "RATER",
    "unanchored": "RATER",
    "libraries": "LIBRARY",
}
"""Objects whose keys are data, with the word that replaces each key."""
OWN_KEYS = {"spearman", "humans", "question", "accepted"}
"""A `correlation`, an entry of `estimate`, a sentence or a cut with one of these has own keys."""
SAME_AGAIN = "NAME"
"""The page has already described the keys below these."""
SECTIONS = (
    "variables.VARIABLE.agreement.",
    "variables.VARIABLE.judges.JUDGE.",
    "variables.VARIABLE.",
    "scores.SCORE.",
    "verdict.",
    "assisted.",
    "choices.",
    "inputs.",
    "",
)
"""Prefixes of paths, longer ones first. Each has a table of its own."""


def keys() -> dict[str, str]:
    """Return every key of the report by its path, with the kind of its value."""
    return dict(_walk(example.report(), ""))


def sections() -> Iterator[str]:
    tables: dict[str, list[tuple[str, str, str]]] = {start: [] for start in SECTIONS}
    for path, kind in keys().items():
        start = next(start for start in SECTIONS if path.startswith(start))
        tables[start].append((code(path.removeprefix(start)), kind, _meaning(path)))
    order = sorted(SECTIONS, key=lambda start: (start.split(".")[0] == "scores", len(start)))
    for start in order:
        where = code(start.rstrip(".")) if start else "The whole"
        yield f"### {where}\n\n{table(('key', 'value', 'meaning'), tables[start])}"


def _meaning(path: str) -> str:
    own = _last(path)
    return meaning("report", path, own, default=_coefficients().get(own, ""))


def _coefficients() -> dict[str, str]:
    """Return by key where each coefficient is described, with its weights."""
    return {
        key: f"see [{each.statistic}](statistics.md#{each.statistic}){comma}{detail}"
        for key, each in (OF_TWO | CORRELATIONS | AMONG).items()
        for _, comma, detail in [each.name.partition(", ") if key in OF_TWO else ("", "", "")]
    }


def _last(path: str) -> str:
    return path.rsplit(".")[-1].removesuffix("[]")


def _walk(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        estimate = set(value) >= ESTIMATE
        if path:
            yield path, "estimate" if estimate else "object"
        if not estimate and _last(path) != SAME_AGAIN:
            yield from _walk_into(_one_for_all(value, path), f"{path}." if path else "")
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        if set(value[0]) >= ESTIMATE:
            yield path, "list of estimates"
            return
        yield path, "list of objects"
        yield from _walk_into(_merged(value), f"{path}[].")
    else:
        yield path, _kind(value)


def _walk_into(value: Mapping[str, Any], start: str) -> Iterator[tuple[str, str]]:
    for key, held in value.items():
        yield from _walk(held, start + key)


def _one_for_all(value: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the object, or a merged entry with the keys of all entries if its keys are data."""
    two = ".".join(path.split(".")[-2:])
    place = PLACES.get(two) or PLACES.get(_last(path))
    if place is None or not value or OWN_KEYS & set(value):
        return value
    return {place: reduce(_together, value.values())}


def _together(one: Any, other: Any) -> Any:
    """Merge two entries. If both have a key, the fuller value is kept."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        both = {key: _together(one[key], other[key]) for key in one if key in other}
        return {**other, **one, **both}
    return max(one, other, key=lambda held: len(str(held)))


def _merged(objects: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: held for each in reversed(objects) for key, held in each.items()}


def _kind(value: object) -> str:
    kinds = {bool: "true or false", int: "number", float: "number", str: "text", list: "list"}
    return kinds.get(type(value), "text or null")
