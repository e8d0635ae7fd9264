"""What an adjudicator sees of a unit: the text that it is about, and whose answers."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from annotation.adjudication.decisions import (
    Case,
    _letters,
    decision_schema,
    reference_assignment,
)
from annotation.campaigns.design import Design
from annotation.models import Response
from annotation.presentation import present
from tests.cast import FIRST
from tests.page_cast import study_of

pytestmark = pytest.mark.django_db
Shown = dict[tuple[str, str], tuple[str | None, str | None]]


def cases(protocol: str, folder: Path) -> list[Case]:
    """The cases of a campaign over a query whose ids are hard to tell apart."""
    campaign = study_of(protocol, folder, Design(seed=5), [FIRST]).campaign
    found = []
    for item in campaign.items.order_by("position"):
        item.campaign = campaign
        spec, asked = present(item), decision_schema(campaign)
        for unit in item.units.order_by("position"):
            unit.item = item
            planned = reference_assignment(unit, spec)
            found.append(Case(campaign, unit, spec, asked, planned, (), ()))
    return found


def at_issue(found: list[Case]) -> Shown:
    """The text that each unit is about, and the text shown beside it."""
    return {(case.unit.kind, case.unit.key): (case.judged_text, case.beside) for case in found}


def test_units_about_an_answer_or_its_parts_point_at_their_texts(tmp_path: Path) -> None:
    """The second answer `r#1` has the id that the first one's sentence 1 has."""
    found = cases("answer-rating", tmp_path)
    assert found[0].aliases == {
        "reference:1": "reference:1",
        "passage:p": "passage:2",
        "passage:p#1": "passage:3",
        "report:r#1": "report:4",
        "report:r": "report:5",
    }
    assert [text.field for text in found[0].texts] == list(found[0].aliases.values())
    assert at_issue(found) == {
        ("report", "r"): ("report:5", None),
        ("report", "r#1"): ("report:4", None),
        ("sentence", "r#1"): ("report:5", None),
        ("sentence", "r#2"): ("report:5", None),
        ("sentence", "r#1#1"): ("report:4", None),
        ("sentence", "r#1#2"): ("report:4", None),
        ("passage", "q/1/p"): ("passage:2", None),
        ("passage", "q/1/p#1"): ("passage:3", None),
        ("report-passage", "r/p"): ("report:5", "passage:2"),
        ("report-passage", "r/p#1"): ("report:5", "passage:3"),
        ("report-passage", "r#1/p"): ("report:4", "passage:2"),
        ("report-passage", "r#1/p#1"): ("report:4", "passage:3"),
    }


def test_units_about_a_passage_point_at_it_and_questions_at_no_text(tmp_path: Path) -> None:
    """The first passage has sentences, one of which has the name of the second passage."""
    assert at_issue(cases("grounded-answer", tmp_path)) == {
        ("passage-sentence", "q/1/p#1"): ("passage:1", None),
        ("passage-sentence", "q/1/p#2"): ("passage:1", None),
        ("passage", "q/1/p#1"): ("passage:2", None),
        ("query", "q/1"): (None, None),
    }


def test_the_only_text_of_an_item_has_no_number_and_is_not_at_issue(tmp_path: Path) -> None:
    case = cases("report-coverage", tmp_path)[0]
    assert (case.aliases, case.judged_text, case.beside) == ({"report": "report"}, None, None)


def test_answers_to_compare_have_a_random_order_for_each_item(tmp_path: Path) -> None:
    shown = [case.assignment.shown for case in cases("answer-preference", tmp_path)]
    assert shown == [["report:r#1", "report:r"]]


def test_the_current_decision_is_the_newest() -> None:
    history = (Response(revision=2, current=False), Response(revision=1, current=True))
    case = Case(*[None] * 6, history)  # type: ignore[arg-type,call-arg]
    assert (case.current, case.revision) == (history[1], 1)


def test_after_rater_z_comes_rater_aa() -> None:
    assert list(islice(_letters(), 25, 29)) == ["Z", "AA", "AB", "AC"]
