"""What came of conditions: each holds, fails or is open; as lines, JSON, Markdown and JUnit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from xml.etree import ElementTree

from ..document import rounded
from ..formats.markdown import escaped, table
from ..types import JSON


class Outcome(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "not decided"


STATUS = {Outcome.HOLDS: 0, Outcome.FAILS: 1, Outcome.UNDECIDED: 3}
"""The exit status of `tandem gate`; 2 is wrong usage."""


class GateError(ValueError):
    """A condition that cannot be understood, or that has nothing to apply to."""


@dataclass(frozen=True)
class Finding:
    """What came of a condition, as typed, for one figure: its value, its interval and the reason.

    `low` and `high` are null without an interval, `value` where the figure is undefined.
    """

    condition: str
    figure: str
    outcome: Outcome
    reason: str
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def number(self) -> str:
        """The value with its interval, empty where it is undefined."""
        if self.value is None:
            return ""
        if self.low is None or self.high is None:
            return rounded(self.value)
        return f"{rounded(self.value)} [{rounded(self.low)}, {rounded(self.high)}]"

    def as_json(self) -> JSON:
        return asdict(self)


def outcome_of(findings: Sequence[Finding]) -> Outcome:
    """Return what came of all conditions: one that fails outweighs one that is not decided."""
    found = {finding.outcome for finding in findings}
    worst = (each for each in (Outcome.FAILS, Outcome.UNDECIDED) if each in found)
    return next(worst, Outcome.HOLDS)


NAME = "tandem gate"
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot contain, not even escaped."""


def as_lines(findings: Sequence[Finding], quiet: bool = False) -> list[str]:
    """Return a line for each finding, and one for all; `quiet` only for those that do not hold."""
    width = max(len(outcome) for outcome in Outcome)
    shown = [each for each in findings if not quiet or each.outcome != Outcome.HOLDS]
    lines = [f"{each.outcome:{width}}  {each.condition}: {_about(each)}" for each in shown]
    return lines if quiet else [*lines, f"The gate: {outcome_of(findings)}."]


def _about(finding: Finding) -> str:
    parts = (f"{finding.figure} {finding.number}".strip(), finding.reason)
    return "; ".join(part for part in parts if part)


def as_json(findings: Sequence[Finding]) -> JSON:
    outcome = outcome_of(findings)
    conditions = [finding.as_json() for finding in findings]
    return {"status": STATUS[outcome], "outcome": outcome, "conditions": conditions}


def as_markdown(findings: Sequence[Finding]) -> str:
    """Return a table for the comment of a pull request."""
    header = ("Outcome", "Condition", "Figure", "Value", "Reason")
    rows = [
        [escaped(x) for x in (each.outcome, each.condition, each.figure, each.number, each.reason)]
        for each in findings
    ]
    return f"**The gate: {outcome_of(findings)}**\n\n{table(header, rows)}\n"


def as_junit(findings: Sequence[Finding]) -> str:
    """Return JUnit XML: a condition that fails is a failure, one that is not decided is skipped."""
    outcomes = [finding.outcome for finding in findings]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count(Outcome.FAILS)),
        "errors": "0",
        "skipped": str(outcomes.count(Outcome.UNDECIDED)),
    }
    suites = ElementTree.Element("testsuites", {"name": NAME, **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": NAME, **counts})
    tags = {Outcome.FAILS: "failure", Outcome.UNDECIDED: "skipped"}
    for each in findings:
        name = {"classname": NAME, "name": _xml(f"{each.condition}: {each.figure}")}
        case = ElementTree.SubElement(suite, "testcase", name)
        if tag := tags.get(each.outcome):
            ElementTree.SubElement(case, tag, {"message": _xml(_about(each))})
        else:
            ElementTree.SubElement(case, "system-out").text = _xml(_about(each))
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, "unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
