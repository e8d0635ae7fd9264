"""Answers whose ids name their systems, for pages that must not reveal them."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.campaigns.design import Design
from annotation.models import Assignment, User
from annotation.protocols import PROTOCOLS
from annotation.registry import DECLARED
from tests.cast import BRIDGE, FULL, RIVER, SHORT, Line
from tests.page_cast import Study, study_of

SECRET = "hidden-system"
THIRD = "Anna Lee\u0301 built the bridge 🌉 by hand."
LINE: Line = {
    "id": "q/1",
    "text": "How was the bridge built? 🌉",
    "asked_at": "2024-05-03",
    "passages": [
        {"id": "p", "text": BRIDGE, "title": "The bridge", "source": "web", "age": "3 days"},
        {"id": "p#1", "text": RIVER},
    ],
    "reports": [
        {"id": f"{SECRET}-a/1", "text": FULL, "system": f"{SECRET}-a"},
        {"id": f"{SECRET}-b#1", "text": SHORT, "system": f"{SECRET}-b"},
        {"id": f"{SECRET}-c", "text": THIRD, "system": f"{SECRET}-c"},
    ],
}
TEXTS = {report["id"]: report["text"] for report in LINE["reports"]}


def blind_study(protocol: str, folder: Path, *variables: str, reports: int = 3) -> Study:
    line = {**LINE, "reports": LINE["reports"][:reports]}
    return study_of(protocol, folder, Design(variables=variables, seed=5), [line])


def needed_study(folder: Path) -> Study:
    """A study in which two people say which passages the question and each answer need."""
    asked = ("needed_question", "needed_answer")
    design = Design(variables=asked, seed=5, raters_per_item=2)
    return study_of("answer-rating", folder, design, [LINE])


def needed_study_before(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Study:
    """Like `needed_study`, but created when the question was asked once for all answers."""
    with monkeypatch.context() as before:
        before.setitem(DECLARED, "answer-rating", PROTOCOLS["answer-rating"].as_of("1"))
        return needed_study(folder)


def swapped_pair(study: Study, user: User, yes: bool) -> Assignment:
    """Show the person's first pair in the batch's order, or swapped."""
    mine = study.assignment(user)
    fields = [f"report:{report['id']}" for report in LINE["reports"][:2]]
    mine.shown = fields[::-1] if yes else fields
    mine.save()
    return mine
