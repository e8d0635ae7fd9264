"""The methods paragraph of a paper from the report's JSON: computed figures and cited methods.

Statistics and intervals are read from the `method` of each estimate, so that the text mentions
nothing that was not computed. A method without a known citation is named without one.
"""

from __future__ import annotations

from ..document import Section, in_noun
from ..types import JSON
from . import build
from .base import FURTHER, OF_AGREEMENT, OF_JUDGES, OF_SCORES, blocks_of_judges, common_noun
from .citations import REFERENCES

HEADS = (
    "Labels", OF_AGREEMENT, "Scales", OF_JUDGES, OF_SCORES, FURTHER, "Intervals",
    "Check by other libraries",
)  # fmt: skip
"""The paragraphs in their order."""


def methods_section(report: JSON) -> list[Section]:
    """Return the paragraphs, and the references that they cite; none of older snapshots."""
    if not report["raters"] or "inputs" not in report:
        return []
    parts = _parts(report)
    said = list(parts.values())
    heads, points = tuple(parts), references(said)
    return [Section("Methods", (), paragraphs=tuple(said), heads=heads, points=points)]


def methods(report: JSON) -> list[str]:
    """Return paragraphs of plain text, each a few sentences."""
    return list(_parts(report).values())


def _parts(report: JSON) -> dict[str, str]:
    """Return the paragraphs by their heads, which pages show but for the first."""
    has_judges, noun = bool(blocks_of_judges(report)), common_noun(report)
    said: dict[str, list[str]] = {head: [] for head in HEADS}
    for part in build.PARTS:
        if part.methods and (has_judges or part.head != OF_JUDGES):
            said[part.head] += filter(None, part.methods(report))
    return {head: in_noun(" ".join(parts), noun) for head, parts in said.items() if parts}


def references(paragraphs: list[str]) -> tuple[str, ...]:
    """Return the works that paragraphs cite, by author."""
    text = " ".join(paragraphs)
    return tuple(sorted(whole for mark, whole in REFERENCES.values() if mark in text))
