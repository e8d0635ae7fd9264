"""A campaign of every protocol with good answers, for all channels."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import CampaignSchema, schema_of
from tandem.protocols.answer_rating import QUALITIES
from tandem.protocols.base import UnitSpec, name_units
from tests.annotation.protocol_cast import QUERY

Answers = dict[str, Any]
QUOTE: dict[str, Any] = {"quote": "opened in 1901 🌉", "start": None}
PLACED = {"quote": "Anna", "start": 0}
CITED: list[dict[str, Any]] = [
    {"quote": "opened in 1901", "start": None},
    {"quote": "The bridge", "start": 0},
]
PROSE = {"text": "Anna Lee built it. [1]\n🌉", "citations": ["p", "p#1"]}

POINTS = [
    {"text": "It opened in 1901. 🌉", "evidence": [{"quote": "opened in 1901", "start": 11}]},
    {"text": "Anna Lee built it.", "evidence": [PLACED, {"quote": "Lee built", "start": None}]},
]


@dataclass(frozen=True)
class Case:
    """A campaign of one protocol, and a good answer for each kind of unit that it asks.

    In a good answer every condition holds, so that each can be made to fail.
    """

    protocol: str
    variables: tuple[str, ...]
    good: Mapping[str, Answers]

    @property
    def schema(self) -> CampaignSchema:
        return schema_of(PROTOCOLS[self.protocol], self.variables)

    @property
    def units(self) -> dict[str, UnitSpec]:
        schema = self.schema
        item = next(iter(schema.protocol.make_items(QUERY, schema.variables)))
        return name_units(item.units)

    def answers(self) -> Answers:
        return {name: deepcopy(dict(self.good[u.kind])) for name, u in self.units.items()}


CASES = (
    Case("report-coverage", (), {"question": {"evidence": [QUOTE, PLACED], "answerable": "yes"}}),
    Case(
        "report-coverage",
        ("answerable", "rating"),
        {"question": {"evidence": [QUOTE], "answerable": "yes", "rating": "5"}},
    ),
    Case("rubric-passage", (), {"question": {"evidence": [PLACED], "rating": "0"}}),
    Case(
        "key-point-verification",
        (),
        {"key-point": {"evidence": [], "grounded": "yes", "key": "neutral"}},
    ),
    Case(
        "key-point-recall",
        (),
        {"key-point": {"evidence": [], "entailed": "neutral", "failure": "general"}},
    ),
    Case("grounding-relevance", (), {"passage": {"relevant": "yes", "use": "answer-the-question"}}),
    Case(
        "question-typing",
        (),
        {
            "query": {
                "valid": "yes",
                "false_premise": "no",
                "information_seeking": "yes",
                "sensitivity": "slow-changing",
                "complexity": "multi-hop",
                "popularity": "torso",
                "category": "transport",
            }
        },
    ),
    Case(
        "grounded-answer",
        (),
        {
            "passage-sentence": {"selected": "yes"},
            "passage": {"selected": "no"},
            "query": {"descriptor": "partial", "deflected": "no", "written": PROSE},
        },
    ),
    Case(
        "grounded-answer",
        ("descriptor", "deflected", "action"),
        {
            "query": {
                "descriptor": "complete",
                "deflected": "no",
                "action": "modify",
                "written": {"text": "By hand.", "citations": []},
            }
        },
    ),
    Case("grounded-answer", ("grounded",), {"sentence": {"grounded": "no"}}),
    Case(
        "answer-rating",
        (),
        {
            "report": {
                "appropriate": "4",
                "faithful": "1",
                "natural": "3",
                "abstains": "no",
                "irrelevant": "no",
                "eligibility": "minor",
            },
            "sentence": {"support": "no-rad"},
            "passage": {"needed_question": "yes"},
            "report-passage": {"needed_answer": "no"},
        },
    ),
    Case("answer-rating", ("certainty",), {"query": {"certainty": "2"}}),
    Case("answer-rating", tuple(QUALITIES), {"report": dict.fromkeys(QUALITIES, "3")}),
    Case("answer-preference", (), {"pair": {"preferred": "tie-bad"}}),
    Case(
        "key-point-writing",
        (),
        {
            "passage": {"holds_points": "yes", "points": POINTS},
            "key-point": {"matched": "no", "matches": []},
        },
    ),
    Case("key-point-writing", ("matched",), {"key-point": {"matched": "yes"}}),
    Case("nugget-importance", (), {"nugget": {"importance": "vital"}}),
    Case(
        "nugget-assignment",
        (),
        {"report-nugget": {"evidence": [QUOTE, PLACED], "assignment": "support"}},
    ),
    Case("citation-support", (), {"sentence-citation": {"evidence": CITED, "support": "partial"}}),
)
EACH_CASE = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id="-".join((case.protocol, *case.variables))) for case in CASES],
)
OWING = {
    "report-coverage": ("answerable", "yes"),
    "key-point-recall": ("entailed", "yes"),
    "nugget-assignment": ("assignment", "partial", "support"),
    "citation-support": ("support", "partial"),
}


def first_of_each_kind(case: Case) -> dict[str, str]:
    return {unit.kind: name for name, unit in reversed(case.units.items())}
