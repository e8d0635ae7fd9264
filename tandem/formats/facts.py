"""The report as one long table: one row for each number; and leaderboards of the AutoJudge kit.

Texts that a spreadsheet would run as a formula are escaped; numbers stay numbers. The traversal
knows which objects map names (of judges, raters, categories …) and which have fixed keys. Unknown
objects are treated as having fixed keys, so nothing is left out.

The kit calls the form `ir_measures`. Columns are separated by tabs, and read at any blank, so
blanks and percent signs in names are percent-encoded. The value of the topic `all` is the mean of
the run's topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, NamedTuple
from urllib.parse import quote

from tandem.files.spreadsheet import write_rows

from ..document import Format
from ..types import JSON

COLUMNS = (
    "path", "section", "variable", "stratum", "group", "judge", "rater", "other", "category",
    "item", "query", "statistic", "value", "low", "high", "n", "method", "reason",
)  # fmt: skip

_MAPS: Mapping[str, tuple[str, ...]] = {
    "variables": ("variable",),
    "scores": ("variable",),
    "strata": ("stratum", "group"),
    "judges": ("judge",),
    "classes": ("category",),
    "escapes": ("category",),
    "missing": ("category",),
    "pairs": ("rater",),
    "systems": ("group", "rater"),
    "values": ("rater",),
    "estimate": ("group",),
    "by": ("judge",),
    "people": ("rater",),
    "labels_per_unit": ("category",),
    "majority": ("group",),
    "by_system": ("group",),
    "unanchored": ("rater",),
}
"""Keys whose objects map names to objects, with the columns for these names."""

_NAMES = {
    "name": "rater", "a": "rater", "b": "other", "item": "item", "query": "query",
    "system": "group", "threshold": "category", "category": "category",
    "judge_name": "judge", "source": "category", "facet": "category", "aim": "group",
}  # fmt: skip
"""Keys that identify the subject of an object."""

_OF_MAP = {
    "systems": "mean",
    "values": "score",
    "escapes": "escape",
    "missing": "missing",
    "unanchored": "unanchored",
    "labels_per_unit": "units",
    "majority": "majority",
    "raters": "within_queries",
}
"""The statistic whose numbers a map holds."""

_SILENT = ("variables", "scores", "strata", "values")
_NULLABLE = (
    "winning_rate", "advantage_probability", "passed", "passes", "effective_labels", "needed",
    "more", "largest_epsilon_failed", "interval_width", "as_good", "worse", "effective_items",
    "accuracy",
)  # fmt: skip
_ESTIMATE = {"value", "low", "high", "n", "method"}


@dataclass(frozen=True)
class _At:
    """The position of the traversal: the path, its structural names, and the filled columns."""

    path: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    filled: tuple[tuple[str, object], ...] = ()
    reason: str = ""

    def down(self, key: object) -> _At:
        return replace(self, path=(*self.path, str(key)))

    def with_(self, **columns: object) -> _At:
        return replace(self, filled=tuple({**dict(self.filled), **columns}.items()))


def facts(report: JSON) -> Iterator[JSON]:
    """Yield every number of a report as a row of `COLUMNS`; an undefined number has its reason.

    `path` is the JSON Pointer (RFC 6901) of the number in the report's JSON. Yes and no are 1 and
    0. Warnings and options have rows with their text under `reason`. Other texts are only in the
      JSON, except the reasons for excluding raters.
    """
    texts = {"warnings": (), "choices": _numbers(report.get("choices", {}))}
    yield from _object({key: texts.get(key, of) for key, of in report.items()}, _At())
    for n, each in enumerate(report.get("warnings", ())):
        where = {"path": f"/warnings/{n}/text", "section": "warnings"}
        columns = {"variable": each["variable"], "rater": each["rater"], "reason": each["text"]}
        yield {**where, **columns, "statistic": each["code"]}
    for n, each in enumerate(report.get("raters", ())):
        if each["excluded"]:
            where = {"path": f"/raters/{n}/excluded", "section": "raters"}
            columns = {"rater": each["name"], "reason": each["excluded"]}
            yield {**where, **columns, "statistic": "excluded"}
    for name, taken in report.get("choices", {}).items():
        if isinstance(taken, dict | list) and taken:
            where = {"path": f"/choices/{name}", "section": "choices"}
            yield {**where, "statistic": name, "reason": _format_names(taken)}


def _numbers(options: JSON) -> JSON:
    """Return the options that are numbers, leaving out the names of selected labels."""
    return {key: of for key, of in options.items() if not isinstance(of, dict | list)}


def _format_names(taken: JSON | list[str]) -> str:
    if isinstance(taken, list):
        return ", ".join(taken)
    return "; ".join(f"{name}: {', '.join(values)}" for name, values in taken.items())


def _object(node: JSON, at: _At) -> Iterator[JSON]:
    columns = {_NAMES[key]: value for key, value in node.items() if _names(key, value)}
    if "system" in node and not isinstance(node["system"], dict):
        columns["stratum"] = "system"
    at = replace(at.with_(**columns), reason=_reason(node) or at.reason)
    for key, value in node.items():
        if not _names(key, value):
            yield from _member(key, value, at.down(key))


def _names(key: str, value: object) -> bool:
    return key in _NAMES and not isinstance(value, dict | list)


def _reason(node: JSON) -> str:
    return str(node.get("reason") or node.get("prediction_powered", {}).get("reason") or "")


def _member(key: str, value: Any, at: _At) -> Iterator[JSON]:
    inside = replace(at, names=(*at.names, key))
    columns = _columns_of(key, inside)
    if _is_number(value):
        yield from _number(key, value, at)
    elif key == "confusion":
        yield from _confusion(value, inside)
    elif columns and isinstance(value, dict):
        yield from _map(value, inside, columns, _OF_MAP.get(key, ""))
    elif isinstance(value, dict):
        yield from _object(value, inside)
    else:
        for n, each in enumerate(value):
            yield from _each(key, each, inside.down(n))


def _columns_of(key: str, at: _At) -> tuple[str, ...]:
    """Return the columns for the keys of a map, such as `rater`, from its key and position."""
    if at.names[-2:] in (("soft_labels", "raters"), ("humans", "raters")):
        return ("rater",)
    if at.names[-2:] == ("distribution", "counts"):
        return ("rater", "category")
    if key == "correlation" and at.names[0] == "scores":
        return ("judge", "rater")
    return _MAPS.get(key, ())


def _map(node: JSON, at: _At, columns: tuple[str, ...], statistic: str) -> Iterator[JSON]:
    column, *rest = columns
    for key, value in node.items():
        below = at.down(key).with_(**{column: key})
        if column == "group" and "stratum" not in dict(at.filled):
            below = below.with_(stratum="system")
        if rest:
            yield from _map(value, below, tuple(rest), statistic)
        else:
            yield from _each(statistic, value, below)


def _each(statistic: str, value: Any, at: _At) -> Iterator[JSON]:
    """Yield the numbers under a key of a map, or at an index of a list."""
    if _is_number(value):
        yield from _number(statistic, value, at)
    elif isinstance(value, dict):
        yield from _object(value, at)
    else:
        for n, each in enumerate(value):
            yield from _each(statistic, each, at.down(n))


def _is_number(value: object) -> bool:
    """Return whether the value is a leaf: a number, an estimate, a text, or null."""
    if isinstance(value, dict):
        return set(value) >= _ESTIMATE
    return not isinstance(value, list)


def _number(statistic: str, value: Any, at: _At) -> Iterator[JSON]:
    if isinstance(value, dict):
        yield _row(statistic, at, **{name: value.get(name) for name in (*_ESTIMATE, "reason")})
    elif isinstance(value, int | float):
        yield _row(statistic, at, value=int(value) if isinstance(value, bool) else value)
    elif value is None and statistic in _NULLABLE:
        yield _row(statistic, at, reason=at.reason)


def _confusion(block: JSON, at: _At) -> Iterator[JSON]:
    """Yield the confusion matrix: `category` is people's label, and `other` the judge's."""
    for n, (label, row) in enumerate(zip(block["labels"], block["matrix"], strict=True)):
        for m, (judged, count) in enumerate(zip(block["labels"], row, strict=True)):
            cell = at.down("matrix").down(n).down(m).with_(category=label, other=judged)
            yield _row("count", cell, value=count)


def _row(statistic: str, at: _At, **numbers: object) -> JSON:
    pointer = "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in at.path)
    section = ".".join(name for name in at.names if name not in _SILENT)
    if at.names and at.names[0] == "scores":
        section = f"scores.{section}".rstrip(".")
    where = {"path": pointer, "section": section}
    return {**where, **dict(at.filled), "statistic": statistic, **numbers}


def as_csv(report: JSON) -> str:
    """Return every number of the report as CSV; `facts` describes the columns."""
    return "".join(write_rows(COLUMNS, facts(report)))


FORMAT = Format("csv", "CSV", "csv", "text/csv; charset=utf-8", as_csv)


ALL = "all"


class Score(NamedTuple):
    """The value of a measure for a run's answer to a topic."""

    run: str
    topic: str
    measure: str
    value: float


def leaderboard_lines(scores: Iterable[Score]) -> Iterator[str]:
    """Yield the lines of scores in their order, followed by a line `all` for each run and measure.

    A topic without a value has no line, and is not in the mean of its run.
    """
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for score in scores:
        values[score.run, score.measure].append(score.value)
        yield _line(score)
    for (run, measure), found in values.items():
        yield _line(Score(run, ALL, measure, fsum(found) / len(found)))


def _line(score: Score) -> str:
    names = (_encoded(name) for name in score[:-1])
    return "\t".join((*names, repr(float(score.value)))) + "\n"


def _encoded(name: str) -> str:
    """Return a name without blanks."""
    return "".join(quote(c) if c.isspace() or c == "%" else c for c in name)
