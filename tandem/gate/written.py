"""What came of all conditions, as lines, JSON, Markdown and JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from ..formats.markdown import escaped, table
from ..types import JSON
from .findings import STATUS, Finding, Outcome, outcome_of

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
