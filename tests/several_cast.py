"""A made-up protocol whose variables take several codes and a number on a scale."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from annotation import registry
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from tandem.protocols.base import Declaration, Evidence, Scale, Variable
from tests.page_cast import Study, make_study

SCALE = Scale(Decimal(0), Decimal(100), Decimal(5))
ISSUES = Variable(
    "issues",
    "question",
    "What is wrong with the answer to this question?",
    ("made-up", "left-out", "verdreht–ö 🛶"),
    escapes=("cannot-tell",),
    words={"verdreht–ö 🛶": "Twisted 🛶", "left-out": "Left out"},
    several=True,
)
HARM = Variable(
    "harm",
    "question",
    "How harmful is it?",
    SCALE.codes,
    level="interval",
    scale=SCALE,
    asked_if={"issues": ("made-up", "verdreht–ö 🛶")},
    words={"0": "Harmless", "100": "Fatal"},
)
PROTOCOL = Protocol.of(
    Declaration(
        name="issues",
        version="1",
        title="Issues of answers",
        variables=(ISSUES, HARM),
        evidence=Evidence("issues", "report", owed_if=("made-up",)),
    ),
    make_items=PROTOCOLS["report-coverage"].make_items,
    needs=("questions", "reports"),
    own_guideline="# Issues\n\nMark what is wrong.\n\n- **made-up**: it stands in no passage.\n",
)


def make_issues_study(monkeypatch: pytest.MonkeyPatch, **cast: Any) -> Study:
    """The small study of `tests.page_cast`, with the made-up protocol as its one open campaign."""
    monkeypatch.setitem(registry.DECLARED, PROTOCOL.name, PROTOCOL)
    study = make_study(**cast)
    study.campaign.is_open = False
    study.campaign.save()
    people = cast.get("people", 2)
    made = create_campaign(
        "Issues", "issues", study.campaign.batch, Design(raters_per_item=people), pool="open"
    )
    return Study(made.campaign, study.ada, study.ben, study.rita, study.root)
