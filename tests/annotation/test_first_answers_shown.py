"""Written answers that a later campaign shows or validates: which, and in which order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from annotation.models import Assignment, Campaign, Label, Rater, Response
from annotation.presentation import (
    FirstAnswer,
    answers_by_others,
    asked_units,
    ordered_texts,
    read_first_answer,
    usable_answers,
    with_a_gap,
)
from tandem.protocols.base import Text, UnitSpec
from tests.page_cast import make_study


@pytest.fixture
def campaign(db: None) -> Campaign:
    return make_study(questions=tuple("abcd"), reports=2).campaign


def answer(
    campaign: Campaign, name: str, place: int = 0, kind: str = "human", **changes: Any
) -> Response:
    """A current answer that says it does not deflect."""
    of = {key: changes.pop(key) for key in ("replicate", "scope") if key in changes}
    rater, _ = Rater.objects.get_or_create(name=name, kind=kind)
    item = campaign.items.get(position=place)
    held = Assignment.objects.create(item=item, rater=rater, asked=[], status="done", **of)
    given = {"payload": {"units": {}}, "door": "page", **changes}
    made = Response.objects.create(assignment=held, **given)
    label(made, 0, "deflected", "no")
    return made


def label(of: Response, place: int, variable: str, value: str) -> None:
    unit = of.assignment.item.units.get(position=place)
    Label.objects.create(response=of, unit=unit, variable=variable, value=value)


def test_usable_answers_are_current_ones_of_people_in_the_order_of_assignment(
    campaign: Campaign,
) -> None:
    late, early = answer(campaign, "bo", 1), answer(campaign, "ann", 0)
    answer(campaign, "judge", kind="judge")
    answer(campaign, "cy", current=False)
    answer(campaign, "di", replicate=1)
    answer(campaign, "eve", scope="a")
    assert list(usable_answers("Pilot")) == [late, early]
    assert list(usable_answers("Another")) == []
    assert list(answers_by_others(usable_answers("Pilot"), late.assignment.rater_id)) == [early]


def test_an_answer_that_deflects_or_has_no_deflection_label_is_not_usable(
    campaign: Campaign,
) -> None:
    made = answer(campaign, "ann")
    for value, usable in (("no", True), ("yes", False)):
        Label.objects.update(value=value)
        assert usable_answers("Pilot").exists() == usable
    Label.objects.update(value="no", variable="other")
    assert not usable_answers("Pilot").exists()
    Campaign.objects.update(options={"variables": ["selected"]})
    assert list(usable_answers("Pilot")) == [made], "nobody was asked"
    Campaign.objects.update(options={"variables": ["deflected"]})
    assert not usable_answers("Pilot").exists()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("chosen", "has_one"),
    [((), False), ((0,), False), ((0, 1), False), ((0, 2), True), ((1, 2, 3), False),
     ((0, 1, 3), True), ((0, 1, 2, 3), False), ((1, 3), True)],
)  # fmt: skip
def test_a_gap_is_an_unselected_sentence_between_selected_ones(
    campaign: Campaign, chosen: tuple[int, ...], has_one: bool
) -> None:
    made, other = answer(campaign, "ann"), answer(campaign, "bo")
    for place in range(4):
        label(made, place, "selected", "yes" if place in chosen else "no")
        label(made, place, "other", "yes" if place in (0, 3) else "no")
        label(other, place, "selected", "no")
    assert list(with_a_gap(Response.objects.all())) == [made] * has_one


def test_a_first_answer_is_read_with_its_citations_and_selected_sentences() -> None:
    units: dict[str, dict[str, Any]] = {
        "a": {"selected": "yes"}, "b": {"selected": "no"}, "c": {},
        "q": {"written": {"text": " So. ", "citations": ["p2", "p1"]}, "selected": "yes"},
    }  # fmt: skip
    response = Response(pk=7, payload={"units": units})
    assert read_first_answer(response) == FirstAnswer(
        7, " So. ", ("p2", "p1"), frozenset(("a", "q"))
    )
    for written in ({"text": " \n", "citations": []}, None):
        units["q"]["written"] = written
        assert read_first_answer(response) is None
    del units["q"]
    assert read_first_answer(response) is None


def test_units_and_texts_are_in_the_order_of_the_page() -> None:
    units = tuple(UnitSpec("question", key, f"{key}?") for key in "abc")
    texts = tuple(Text(field, "") for field in ("report:1", "passage:2", "query", "report:3"))
    spec: Any = SimpleNamespace(units=units, texts=texts)
    of: Any = SimpleNamespace(asked=["c", "a"], shown=["report:3", "report:1"])
    assert list(asked_units(of, spec).items()) == [("c", units[2]), ("a", units[0])]
    fields = [each.field for each in ordered_texts(of, spec)]
    assert fields == ["passage:2", "query", "report:3", "report:1"]
