"""Conditions over figures of a report, such as `alpha>=.6`.

A figure's name is its path in the report's JSON, without the keys that only group others: variable
or score, judge, key. So whatever a section adds to the report has a name. The author may be left
out of a coefficient's key, and the variable out of the whole name, which then means all variables.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..document import join_words
from ..similar import did_you_mean
from ..statistics.coefficients import AMONG, OF_TWO
from ..types import JSON
from .findings import Finding, GateError, Outcome

GROUPS = frozenset({"agreement", "judges", "overall", "systems"})
OWNERS = ("variables", "scores")
ESTIMATE = {"value", "low", "high", "method"}
SHORT = {key: key.partition("_")[2] for key, each in {**AMONG, **OF_TWO}.items() if each.citation}
"""Coefficients' keys without their author: krippendorff_alpha is also called alpha."""
NO_INTERVAL = "no interval: "
_CONDITION = re.compile(r"\s*(?P<name>.*?\S)\s*(?P<operator>>=|<=|>|<)\s*(?P<limit>[^<>=]+?)\s*")
_IN_WORDS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


@dataclass(frozen=True)
class Condition:
    """A bound for a figure: `name` `operator` `limit`. `text` is what was typed."""

    text: str
    name: str
    operator: str
    limit: float

    @classmethod
    def of(cls, text: str) -> Condition:
        """Read a condition. Raises GateError."""
        found = _CONDITION.fullmatch(text)
        try:
            if found is None:
                raise ValueError
            limit = float(found["limit"])
            if limit != limit:
                raise ValueError
        except ValueError:
            wrong = f"--min {text!r} is not NAME, one of >= > <= <, and a number"
            raise GateError(f"{wrong}, such as 'alpha>=.6'.") from None
        return cls(text, found["name"], found["operator"], limit)

    @property
    def in_words(self) -> str:
        return f"{_IN_WORDS[self.operator]} {self.limit:g}"

    def is_met_by(self, value: float) -> bool:
        match self.operator:
            case ">=":
                return value >= self.limit
            case ">":
                return value > self.limit
            case "<=":
                return value <= self.limit
            case _:
                return value < self.limit


@dataclass(frozen=True)
class Figure:
    """A number of a report: its `path` from the variable or score on, and its estimate.

    `interval` is null without one, for the reason `why_none`; `value` is null for the `reason`.
    """

    path: tuple[str, ...]
    value: float | None
    reason: str
    interval: tuple[float, float] | None = None
    why_none: str = "it is no estimate, so its value decides: add --by value"

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def names(self) -> Iterator[tuple[int, str]]:
        """Yield what it may be called, with ranks: of equal names the lowest rank counts."""
        owner, *rest, key = self.path
        for short, last in enumerate(dict.fromkeys((key, SHORT.get(key, key)))):
            yield short, ".".join((owner, *rest, last))
            yield 2 + short, ".".join((*rest, last))


def figures(report: JSON) -> Iterator[Figure]:
    """Yield every number of a report's variables and scores."""
    for owners in OWNERS:
        for name, block in report[owners].items():
            yield from _inside((name,), block)


def _inside(path: tuple[str, ...], block: Any) -> Iterator[Figure]:
    if isinstance(block, list):
        for each in block:
            if isinstance(each, dict) and {"a", "b"} <= each.keys():
                yield from _inside((*path, str(each["a"]), str(each["b"])), each)
    elif isinstance(block, dict) and block.keys() >= ESTIMATE:
        yield _estimate(path, block)
    elif isinstance(block, dict):
        for key, value in block.items():
            deeper = path if key in GROUPS else (*path, key)
            if isinstance(value, dict | list):
                yield from _inside(deeper, value)
            elif (isinstance(value, int | float) and not isinstance(value, bool)) or value is None:
                yield Figure(deeper, value, str(block.get("reason") or "the report has no value"))


def _estimate(path: tuple[str, ...], block: JSON) -> Figure:
    value, low, high = block["value"], block["low"], block["high"]
    why = str(block["method"]).partition(NO_INTERVAL)[2] or "too few queries differ"
    interval = None if low is None or high is None else (low, high)
    reason = str(block.get("reason") or "it is undefined")
    return Figure(path, value, reason, interval, f"it has no interval: {why}")


class Figures:
    """The figures of a report by each of their names."""

    def __init__(self, report: JSON) -> None:
        self.is_empty = not any(report[owners] for owners in OWNERS)
        self._named: dict[str, list[tuple[int, Figure]]] = defaultdict(list)
        for figure in figures(report):
            for rank, name in figure.names():
                self._named[name].append((rank, figure))

    def called(self, name: str) -> list[Figure]:
        """Return the figure of this name, of each variable if none is named. Raises GateError."""
        if name not in self._named:
            hint = did_you_mean(name, self._named, _advice(self._named))
            raise GateError(f"There is no figure {name!r} in this report; {hint}")
        best = min(rank for rank, _ in self._named[name])
        found = [figure for rank, figure in self._named[name] if rank == best]
        by_owner = defaultdict(list)
        for figure in found:
            by_owner[figure.path[0]].append(figure.name)
        if several := next((names for names in by_owner.values() if len(names) > 1), None):
            raise GateError(f"{name!r} may be {' or '.join(several)}; name one of them.")
        return found


def _advice(named: Iterable[str]) -> str:
    known = sorted({name for name in named if "." not in name and name in SHORT.values()})
    return f"among people there are {join_words(known) or 'none'}, and VARIABLE.JUDGE.FIGURE."


def decide(condition: Condition, report: Figures, by_value: bool = False) -> list[Finding]:
    """Return what comes of a condition, for each figure of its name. Raises GateError.

    It holds if the whole interval is on the right side, and fails if all of it is on the wrong
    one; else it is not decided. With `by_value` the value alone decides. Without labels, nothing is
    decided.
    """
    if report.is_empty:
        return [Finding(condition.text, condition.name, Outcome.UNDECIDED, "there are no labels")]
    return [_decide(condition, each, by_value) for each in report.called(condition.name)]


def _decide(condition: Condition, figure: Figure, by_value: bool) -> Finding:
    def found(outcome: Outcome, reason: str) -> Finding:
        low, high = figure.interval or (None, None)
        return Finding(condition.text, figure.name, outcome, reason, figure.value, low, high)

    wanted = condition.in_words
    if figure.value is None:
        return found(Outcome.UNDECIDED, f"undefined: {figure.reason}")
    if by_value:
        met = condition.is_met_by(figure.value)
        outcome = Outcome.HOLDS if met else Outcome.FAILS
        return found(outcome, f"the value is {'' if met else 'not '}{wanted}")
    if figure.interval is None:
        return found(Outcome.UNDECIDED, figure.why_none)
    met_by = {condition.is_met_by(end) for end in figure.interval}
    if met_by == {True}:
        return found(Outcome.HOLDS, f"the whole interval is {wanted}")
    if met_by == {False}:
        return found(Outcome.FAILS, f"no part of the interval is {wanted}")
    return found(Outcome.UNDECIDED, f"only a part of the interval is {wanted}")
