"""A written answer passes three people: one writes, one revises, one validates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation import prerequisites
from annotation.answers.submission import submit
from annotation.api.assignments import describe_assignment
from annotation.api.campaign_serializers import OptionsSerializer
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design, DesignError
from annotation.exposure import ledger
from annotation.integrity.exposure import find_violations
from annotation.models import Assignment, Campaign, Label, Rater, Response, User, rater_of
from annotation.prerequisites.grounded_answer import first_answer
from annotation.presentation import asked_units, present, usable_answers, with_a_gap
from datasets.models import Batch
from tandem.protocols.validation import RefusedError
from tests.cast import campaign_of, exported
from tests.once import once
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db

SECOND = ("action", "descriptor", "deflected", "selected")
FIRST_TEXT = "Anna Lee\u0301 built it 🌉 [1].\r\nשלום [2]."


@once
def study(folder: Path) -> Study:
    return study_of("grounded-answer", folder)


def after(study: Study, name: str = "Second", **changes: Any) -> Campaign:
    batch = Batch.objects.get(name="b")
    design = Design(**{"variables": SECOND, "prerequisite": "Study", **changes})
    return create_campaign(name, "grounded-answer", batch, design, pool="open").campaign


def answer(assignment: Assignment, text: str | None, **query: str) -> dict[str, Any]:
    """Select everything, label the query, and write a text with both citations."""
    units: dict[str, Any] = {}
    for name, unit in asked_units(assignment, present(assignment.item)).items():
        if unit.kind == "query":
            cited = [t.field.partition(":")[2] for t in present(assignment.item).texts]
            prose = {"text": text, "citations": cited} if text else None
            said = {"descriptor": "complete", "deflected": "no", **query}
            units[name] = {**said, "written": prose}
        else:
            units[name] = {"selected": "yes"}
    return {"units": units, "comment": None}


def write(study: Study, text: str = FIRST_TEXT) -> Assignment:
    """Ada's first answer to the next request."""
    assignment = study.assignment(study.ada)
    submit(assignment, answer(assignment, text), "page")
    return assignment


def taken(campaign: Campaign, rater: Rater) -> Assignment:
    found = next_assignment(campaign, rater)
    assert found is not None
    return found


def test_a_first_answer_revised_meanwhile_is_a_conflict_for_a_page_with_the_old_one(
    study: Study,
) -> None:
    first = write(study)
    mine = taken(after(study), rater_of(study.ben))
    client = client_of(study.ben)
    shown = client.get(page("item", mine)).content.decode()
    (seen,) = re.findall(r'data-basis="([^"]+)"', shown)
    draft = {"version": 0, "seen": 0, "basis": seen}
    assert client.post(page("draft", mine), draft).status_code == 200
    submit(first, answer(first, "Another text."), "page")
    response = client.post(page("draft", mine), {**draft, "version": 1, "comment": "late"})
    assert response.status_code == 409
    assert response.json()["changed"] == ["texts"]
    assert f'data-basis="{seen}"' not in client.get(page("item", mine)).content.decode()


class TestEligiblePeople:
    def test_nothing_is_ready_before_a_first_answer(self, study: Study) -> None:
        second = after(study)
        assert next_assignment(second, rater_of(study.ben)) is None
        assert "first answer by another person in “Study”" in prerequisites.describe_waits(second)

    def test_another_person_than_the_writer_gets_the_second_round(self, study: Study) -> None:
        second, first = after(study), write(study)
        assert next_assignment(second, rater_of(study.ada)) is None
        assert taken(second, rater_of(study.ben)).item.query_id == first.item.query_id

    def test_each_of_two_writers_gets_the_others_request(self, study: Study) -> None:
        second, one = after(study), write(study)
        other = study.assignment(study.ben)
        submit(other, answer(other, FIRST_TEXT), "page")
        assert one.item.query_id != other.item.query_id
        for user, theirs in ((study.ada, other), (study.ben, one)):
            assert taken(second, rater_of(user)).item.query_id == theirs.item.query_id

    def test_a_person_assigned_the_request_in_the_first_round_does_not_get_it(
        self, study: Study
    ) -> None:
        study.campaign.items.update(quota=2)
        second = after(study)
        write(study)
        study.assignment(study.ben)
        assert next_assignment(second, rater_of(study.ben)) is None
        assert next_assignment(second, rater_of(study.rita)) is not None

    def test_an_item_of_an_unrelated_campaign_excludes_nobody(self, study: Study) -> None:
        second, first = after(study), write(study)
        other = campaign_of("question-typing", name="typed")
        item = other.items.get(query=first.item.query)
        Assignment.objects.create(item=item, rater=rater_of(study.ben), asked=[])
        assert next_assignment(second, rater_of(study.ben)) is not None

    def test_a_deflection_has_no_second_round(self, study: Study) -> None:
        second, assignment = after(study), study.assignment(study.ada)
        submit(
            assignment, answer(assignment, None, descriptor="no-answer", deflected="yes"), "page"
        )
        assert next_assignment(second, rater_of(study.ben)) is None

    @pytest.mark.parametrize("code", ["too-difficult", "no-answer"])
    def test_a_skipped_request_has_no_second_round(self, study: Study, code: str) -> None:
        second, assignment = after(study), study.assignment(study.ada)
        submit(assignment, answer(assignment, None, descriptor=code), "page")
        assert next_assignment(second, rater_of(study.ben)) is None

    def test_an_open_assignment_is_no_first_answer(self, study: Study) -> None:
        second = after(study)
        study.assignment(study.ada)
        assert next_assignment(second, rater_of(study.ben)) is None


@pytest.mark.first_case
@pytest.mark.parametrize(("looked_at", "exposed"), [("ada", False), ("ben", True), ("both", True)])
def test_a_look_at_another_first_answer_exposes_and_at_the_shown_one_does_not(
    study: Study, looked_at: str, exposed: bool
) -> None:
    study.campaign.items.update(quota=2)
    second = after(study)
    writers = {"ada": study.ada, "ben": study.ben}
    for user in writers.values():
        first = study.assignment(user)
        submit(first, answer(first, f"By {user}."), "page")
    rater = rater_of(writers[looked_at]) if looked_at in writers else None
    with ledger.collect_looks() as looks:
        ledger.saw_answers("report", study.campaign, rater=rater)
    ledger.record(study.rita.pk, looks)
    mine = taken(second, rater_of(study.rita))
    kept = answer(mine, "By ada.", action="keep")
    stored = submit(mine, kept, "page").response
    assert stored.exposed is exposed
    assert not list(find_violations(second))
    # By now another answer is shown; which one was shown at the time is not stored.
    Response.objects.filter(assignment__rater=rater_of(study.ada)).update(current=False)
    assert not list(find_violations(second))
    stored.exposures.update(units=["somewhere"])
    assert len(list(find_violations(second))) == exposed


class TestJudges:
    def test_judges_get_no_item_of_a_second_round_and_every_item_of_a_validation_pass(
        self, study: Study
    ) -> None:
        write(study)
        second = after(study)
        third = after(study, "Third", variables=("grounded",))
        assert not second.items.filter(prerequisites.ready_for_judges(second)).exists()
        assert third.items.filter(prerequisites.ready_for_judges(third)).count() == 1


class TestUsableAnswers:
    """Which written answers go on to a second round."""

    def said(self, study: Study, user: User, text: str | None, **query: str) -> Response:
        assignment = study.assignment(user)
        return submit(assignment, answer(assignment, text, **query), "page").response

    def test_a_deflection_does_not_displace_another_persons_answer(self, study: Study) -> None:
        mine = self.said(study, study.ada, FIRST_TEXT)
        self.said(study, study.ben, None, descriptor="no-answer", deflected="yes")
        assert list(usable_answers("Study")) == [mine]

    def test_only_current_answers_of_the_named_campaign_are_usable(self, study: Study) -> None:
        other = after(study, "Other", variables=(), prerequisite=None)
        theirs = taken(other, rater_of(study.ada))
        submit(theirs, answer(theirs, "Elsewhere."), "page")
        first = self.said(study, study.ada, FIRST_TEXT)
        mended = submit(first.assignment, answer(first.assignment, "Mended."), "page").response
        assert list(usable_answers("Study")) == [mended]
        assert usable_answers("Other").get().payload == answer(theirs, "Elsewhere.")

    def test_answers_of_judges_and_repeats_are_not_usable(self, study: Study) -> None:
        item = study.campaign.items.all()[0]
        asked = list(item.units.order_by("position").values_list("name", flat=True))
        judge = Rater.objects.create(name="jude", kind="judge")
        for rater, more in (
            (judge, {}), (rater_of(study.ada), {"replicate": 1}),
        ):  # fmt: skip
            held = Assignment.objects.create(item=item, rater=rater, asked=asked, **more)
            submit(held, answer(held, FIRST_TEXT), "page")
        assert not usable_answers("Study").exists()

    def test_a_gap_is_looked_for_within_one_answer(self, study: Study) -> None:
        """The answers together have a gap; of single answers only Ada's has one."""
        for user, chosen in ((study.ada, (0, 2)), (study.ben, (1,))):
            assignment = study.assignment(user)
            payload = answer(assignment, "By hand.")
            sources = [n for n, unit in payload["units"].items() if "selected" in unit]
            for n, name in enumerate(sources):
                payload["units"][name] = {"selected": "yes" if n in chosen else "no"}
            for unit in payload["units"].values():
                if unit.get("written"):
                    unit["written"]["citations"] = []
            submit(assignment, payload, "page")
        assert usable_answers("Study").count() == 2
        gap = with_a_gap(usable_answers("Study")).get()
        assert gap.assignment.rater == rater_of(study.ada)


class TestGate:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("chosen", "passes"),
        [((0, 2), True), ((0, 1), False), ((1,), False), ((), False), ((0, 1, 2), False)],
    )
    def test_only_an_answer_with_a_gap_in_its_selection_passes_the_gate(
        self, study: Study, chosen: tuple[int, ...], passes: bool
    ) -> None:
        second, assignment = after(study, gate="gap"), study.assignment(study.ada)
        payload = answer(assignment, "By hand.")
        sources = [n for n, unit in payload["units"].items() if "selected" in unit]
        for place, name in enumerate(sources):
            payload["units"][name] = {"selected": "yes" if place in chosen else "no"}
        for unit in payload["units"].values():
            if unit.get("written"):
                unit["written"]["citations"] = []
        submit(assignment, payload, "page")
        assert (next_assignment(second, rater_of(study.ben)) is not None) is passes

    def test_the_gate_is_off_by_default(self, study: Study) -> None:
        assert after(study).options["gate"] is None


class TestShownAnswer:
    def test_the_first_answer_is_shown_as_written(self, study: Study) -> None:
        second = after(study)
        write(study)
        mine = taken(second, rater_of(study.ben))
        shown = first_answer(mine.item, mine.rater)
        assert shown is not None
        assert shown.text == FIRST_TEXT
        assert len(shown.selected) == 3

    def test_neither_ones_own_answer_nor_any_in_the_first_round_is_shown(
        self, study: Study
    ) -> None:
        first = write(study)
        second = after(study)
        item = second.items.get(query=first.item.query_id)
        assert first_answer(item, rater_of(study.ada)) is None
        assert first_answer(first.item, rater_of(study.ben)) is None


class TestChecks:
    @pytest.fixture
    def mine(self, study: Study) -> Assignment:
        second = after(study)
        write(study)
        return taken(second, rater_of(study.ben))

    def refused(self, mine: Assignment, text: str, action: str, door: Any = "page") -> str:
        with pytest.raises(RefusedError) as caught:
            submit(mine, answer(mine, text, action=action), door)
        return str(caught.value)

    @pytest.mark.first_case
    @pytest.mark.parametrize("door", ["page", "api"])
    def test_a_kept_answer_must_equal_the_first(self, mine: Assignment, door: Any) -> None:
        assert "is keep, but the text is not" in self.refused(mine, "Another.", "keep", door)
        submit(mine, answer(mine, FIRST_TEXT, action="keep"), door)
        assert Label.objects.get(variable="action").value == "keep"

    def test_line_ends_changed_by_a_browser_do_not_count_as_a_change(
        self, mine: Assignment
    ) -> None:
        unix = FIRST_TEXT.replace("\r\n", "\n")
        assert "is the first answer unchanged" in self.refused(mine, unix, "modify")
        submit(mine, answer(mine, unix, action="keep"), "page")

    def test_a_modified_answer_must_differ_from_the_first(self, mine: Assignment) -> None:
        assert "is the first answer unchanged" in self.refused(mine, FIRST_TEXT, "modify")
        submit(mine, answer(mine, FIRST_TEXT + " More.", action="modify"), "page")

    def test_a_skipped_answer_must_have_no_text(self, mine: Assignment) -> None:
        assert "is not asked here" in self.refused(mine, "Words.", "skip")
        submit(mine, answer(mine, None, action="skip"), "page")

    def test_keeping_requires_a_first_answer(self, mine: Assignment) -> None:
        Response.objects.all().delete()
        assert "there is no first answer here" in self.refused(mine, FIRST_TEXT, "keep")

    def test_an_import_is_not_checked_against_the_first_answer(self, mine: Assignment) -> None:
        assert submit(mine, answer(mine, "Another.", action="keep"), "import").created


class TestValidation:
    VALIDATION = ("grounded",)

    def test_a_validation_pass_asks_the_sentences_of_written_answers(self, study: Study) -> None:
        write(study)
        made = after(study, "Third", variables=self.VALIDATION)
        units = exported("Third", "units")
        assert [unit["kind"] for unit in units] == ["sentence", "sentence"]
        item = made.items.get()
        assert [u.text for u in present(item).units] == [
            "Anna Lee\u0301 built it 🌉 [1].",
            "שלום [2].",
        ]

    def test_identical_answers_are_asked_about_once(self, study: Study) -> None:
        study.campaign.items.update(quota=2)
        for user in (study.ada, study.ben):
            mine = study.assignment(user)
            submit(mine, answer(mine, FIRST_TEXT), "page")
        made = after(study, "Third", variables=self.VALIDATION)
        assert made.items.get().units.count() == 2

    def test_the_asked_sentences_stay_when_the_answer_is_revised(self, study: Study) -> None:
        first = write(study)
        made = after(study, "Third", variables=self.VALIDATION)
        submit(first, answer(first, "Quite another."), "page")
        mine = taken(made, rater_of(study.ben))
        Campaign.objects.filter(pk=made.pk).update(created_at="2020-01-01T00:00Z")
        fresh = Assignment.objects.get(pk=mine.pk)
        assert [unit.text for unit in present(fresh.item).units][1] == "שלום [2]."
        given = {name: {"grounded": "yes"} for name in fresh.asked}
        submit(fresh, {"units": given, "comment": None}, "page")
        assert {x["value"] for x in exported("Third", "labels")} == {"yes"}

    def test_a_judge_is_asked_every_sentence(self, study: Study) -> None:
        write(study)
        item = after(study, "Third", variables=self.VALIDATION).items.get()
        names = list(item.units.order_by("position").values_list("name", flat=True))
        assert prerequisites.units_asked_of_judges(item, names) == names != []
        assert study.campaign.items.filter(prerequisites.ready_for_judges(study.campaign)).exists()

    def test_validation_continues_after_the_answer_is_withdrawn(self, study: Study) -> None:
        first = write(study)
        made = after(study, "Third", variables=self.VALIDATION)
        first.responses.update(current=False)
        mine = taken(made, rater_of(study.ben))
        assert first_answer(mine.item, mine.rater) is None
        first.responses.update(current=True)
        assert first_answer(mine.item, mine.rater) is None, "who validates sees the sentences"

    def test_nobody_validates_their_own_answer(self, study: Study) -> None:
        write(study)
        made = after(study, "Third", variables=self.VALIDATION)
        assert next_assignment(made, rater_of(study.ada)) is None
        assert next_assignment(made, rater_of(study.ben)) is not None

    def test_neither_writer_nor_keeper_of_an_answer_validates_it(self, study: Study) -> None:
        second = after(study)
        write(study)
        mine = taken(second, rater_of(study.ben))
        submit(mine, answer(mine, FIRST_TEXT, action="keep"), "page")
        made = after(study, "Third", variables=self.VALIDATION, prerequisite="Second")
        for user in (study.ada, study.ben):
            assert next_assignment(made, rater_of(user)) is None
        assert next_assignment(made, rater_of(study.rita)) is not None

    def test_a_validation_pass_without_answers_is_refused(self, study: Study) -> None:
        with pytest.raises(DesignError, match="has nothing for grounded-answer"):
            after(study, "Third", variables=self.VALIDATION)

    def test_without_a_prerequisite_the_reports_are_validated(self, study: Study) -> None:
        campaign_of("grounded-answer", "--option", "variables=grounded", name="reports")
        assert {x["unit"].rpartition("#")[0] for x in exported("reports", "units")} >= {"r", "r#1"}


class TestDesigns:
    def test_a_following_campaign_needs_variables_of_a_second_round_or_validation(
        self, study: Study
    ) -> None:
        for variables in ((), ("selected",), (*SECOND, "grounded")):
            with pytest.raises(DesignError, match="needs option variables with either action"):
                after(study, variables=variables)

    def test_a_gate_needs_a_second_round(self, study: Study) -> None:
        with pytest.raises(DesignError, match="option gate is for a second round"):
            after(study, prerequisite="", gate="gap")

    def test_an_unknown_gate_is_refused(self, study: Study) -> None:
        with pytest.raises(CommandError, match="option gate is one of gap, not 'wide'"):
            campaign_of("grounded-answer", "--option", "gate=wide", name="x")


class TestApi:
    def test_the_api_gives_the_first_answer_with_the_item(self, study: Study) -> None:
        second, first = after(study), write(study)
        mine = taken(second, rater_of(study.ben))
        found = describe_assignment(mine)["first_answer"]
        assert found["text"] == FIRST_TEXT
        assert found["citations"] == ["p", "p#1"]
        assert set(found["selected"]) == {name for name in mine.asked if name != "q/1"}
        assert "response" not in found
        assert describe_assignment(first)["first_answer"] is None

    def test_the_api_accepts_the_gate_option(self) -> None:
        assert OptionsSerializer(data={"gate": "gap"}).is_valid()
        assert not OptionsSerializer(data={"gate": "wide"}).is_valid()
