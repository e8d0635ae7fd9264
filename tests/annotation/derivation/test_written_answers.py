"""People's written answers as a rule reads them: whose count, which are valid, in what order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.derivation.answers import WrittenAnswer, merge_answers, read_answer, sentences_of
from annotation.models import Assignment, Campaign, Exclusion, Rater, Response
from annotation.presentation import present
from datasets.lineage import lineage_of
from datasets.models import Batch, LeftOut
from tandem.files import rows
from tests.annotation.derivation.cast import batch, campaign, derive, label, queries
from tests.annotation.derivation.test_rules import respond, wrote

pytestmark = pytest.mark.django_db


def answer(units: dict[str, dict[str, Any]]) -> WrittenAnswer | None:
    given = Response(pk=7, assignment=Assignment(rater_id=3), payload={"units": units})
    return read_answer(given)


class TestOneAnswer:
    def test_an_answer_has_its_text_citations_and_selected_sentences(self) -> None:
        units: dict[str, dict[str, Any]] = {
            "query": {"action": "modify", "written": {"text": "In 1901.", "citations": ["p"]}},
            "one": {"selected": "no"},
            "two": {"selected": "yes"},
        }
        found = answer(units)
        assert found == WrittenAnswer("In 1901.", ("p",), ("two",), people=frozenset({3}))
        assert found is not None
        assert found.sources == {7}

    def test_a_skipped_or_empty_answer_does_not_count(self) -> None:
        assert answer({"query": {"action": "skip", "written": {"text": "In 1901."}}}) is None
        assert answer({"query": {"descriptor": "complete", "written": {"text": " "}}}) is None
        assert answer({"query": {"descriptor": "complete"}}) is None
        assert answer({"one": {"selected": "yes"}}) is None

    def test_a_deflection_has_no_text(self) -> None:
        deflected = WrittenAnswer("", deflected=True, people=frozenset({3}))
        assert answer({"query": {"deflected": "yes", "written": None}}) == deflected
        found = answer({"query": {"descriptor": "no-answer", "deflected": "no"}})
        assert found is not None
        assert (found.deflected, found.descriptor) == (True, "no-answer")


class TestEqualAnswers:
    def test_equal_answers_are_merged_at_the_position_of_the_first(self) -> None:
        found = merge_answers([
            WrittenAnswer("A", people=frozenset({1}), sources=frozenset({11})),
            WrittenAnswer("B", people=frozenset({2})),
            WrittenAnswer("A", ("p",), ("s",), people=frozenset({3}), sources=frozenset({13})),
            WrittenAnswer("A", selected=("t",)),
        ])  # fmt: skip
        assert [each.text for each in found] == ["A", "B"]
        assert (found[0].people, found[0].sources) == ({1, 3}, {11, 13})
        assert (found[0].citations, found[0].selected) == ((), ("s",))

    def test_a_deflection_is_not_merged_with_an_empty_answer(self) -> None:
        assert len(merge_answers([WrittenAnswer(""), WrittenAnswer("", deflected=True)])) == 2


def test_selected_sentences_are_listed_in_reading_order() -> None:
    passages = (
        rows.Passage("a", "One. Two.", sentences=("One.", "Two.")),
        rows.Passage("b", "Whole."),
        rows.Passage("c", "Three. Four.", sentences=("Three.", "Four.")),
    )
    query = rows.Query("q", "?", passages=passages)
    chosen = WrittenAnswer("x", selected=("passage-sentence:q/c#1", "q/a#2", "q/b#1"))
    assert sentences_of(query, chosen) == ("Two.", "Three.")
    assert sentences_of(query, WrittenAnswer("x")) is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ada and Ben answer the first query alike, and the second differently."""
    batch(tmp_path)
    campaign("grounded-answer", "--option", "variables=descriptor,deflected", people=2)
    same = wrote("In 1901. By Anna.", "q1p0")
    texts = {"q1": {"ada": same, "ben": same}, "q2": {"ada": wrote("A."), "ben": wrote("B.")}}
    respond(tmp_path, "verify", texts)
    return tmp_path


def texts(name: str, query: str) -> list[str]:
    return [each.text for each in queries(name)[query].references[1:]]


class TestCountedAnswers:
    def test_if_one_person_decides_only_their_answers_count(self, folder: Path) -> None:
        derive("ben's", "references", "--decided-by", "ben", campaign="verify")
        assert texts("ben's", "q2") == ["B."]

    def test_answers_of_judges_repeats_and_excluded_people_do_not_count(self, folder: Path) -> None:
        judge = Rater.objects.create(name="Judge", kind=Rater.Kind.JUDGE)
        ben = Assignment.objects.get(rater__name="ben", item__key="q2")
        payload = {"units": {"q2": wrote("Not a person's.")}}
        for rater, replicate in ((judge, 0), (ben.rater, 1)):
            more = {"rater": rater, "replicate": replicate, "status": "done", "asked": ben.asked}
            other = Assignment.objects.create(item=ben.item, **more)
            Response.objects.create(assignment=other, payload=payload, door="import")
        verify = Campaign.objects.get()
        excluded = Exclusion.objects.create(campaign=verify, rater=ben.rater, reason="Bot.")
        derive("without", "references", campaign="verify")
        assert texts("without", "q2") == ["A."]
        Exclusion.objects.filter(pk=excluded.pk).update(undone_at=excluded.created_at)
        derive("with", "references", campaign="verify")
        assert texts("with", "q2") == ["A.", "B."]

    def test_a_query_that_nobody_answered_has_no_reference(self, folder: Path) -> None:
        campaign(
            "grounded-answer", "--option", "variables=descriptor,deflected", name="new", people=1
        )
        skipped = {"descriptor": "ill-formed", "deflected": "no"}
        respond(folder, "new", {"q1": {"ada": wrote("A.")}, "q2": {"ada": skipped}})
        derived = derive("some", "references", campaign="new")
        assert "q2 (queries with references): no answer" in derived
        assert "q2 (reports): no answer" in derive("reports", "reports", campaign="new")
        assert queries("reports")["q2"].reports == queries("b")["q2"].reports


class TestAfterValidation:
    """Cleo judges each sentence of the answers: two of the first query's, one of each other."""

    @pytest.fixture
    def units(self, folder: Path) -> dict[str, str]:
        """The units by the sentence that is judged."""
        options = ("--option", "variables=grounded", "--option", "prerequisite=verify")
        campaign("grounded-answer", *options, name="valid", people=1)
        items = Campaign.objects.get(name="valid").items.all()
        return {unit.text: unit.key for item in items for unit in present(item).units}

    @staticmethod
    def judge(folder: Path, units: dict[str, str], **codes: str) -> None:
        names = {"one": "In 1901.", "two": "By Anna.", "a": "A.", "b": "B."}
        given = {units[names[name]]: [{"grounded": code}] for name, code in codes.items()}
        items = {units[text]: "q1" if len(text) > 2 else "q2" for text in names.values()}
        label(folder, given, "valid", items, people=("cleo",))

    def test_an_answer_with_an_ungrounded_sentence_is_dropped(
        self, folder: Path, units: dict[str, str]
    ) -> None:
        self.judge(folder, units, one="yes", two="no", a="yes", b="yes")
        derived = derive("valid", "references", campaign="valid")
        assert texts("valid", "q1") == []
        assert texts("valid", "q2") == ["A.", "B."]
        (fallen,) = LeftOut.objects.filter(what="references")
        assert fallen.key == units["In 1901."].rpartition("#")[0]
        assert "a sentence is not grounded" in derived

    def test_a_validator_counts_as_one_of_the_answers_people(
        self, folder: Path, units: dict[str, str]
    ) -> None:
        self.judge(folder, units, one="yes", two="yes", a="yes", b="no")
        derive("two", "references", "--set", "people=2", campaign="valid")
        assert texts("two", "q2") == ["A."]
        derive("three", "references", "--set", "people=3", campaign="valid")
        assert [texts("three", key) for key in ("q1", "q2")] == [["In 1901. By Anna."], []]

    def test_an_undecided_sentence_is_settled_by_the_ties_option(
        self, folder: Path, units: dict[str, str]
    ) -> None:
        Campaign.objects.get(name="valid").items.update(quota=2)
        self.judge(folder, units, one="yes", two="yes", a="yes", b="yes")
        again = {units["A."]: [{"grounded": "no"}], units["B."]: [{"grounded": "yes"}]}
        again |= {units[text]: [{"grounded": "yes"}] for text in ("In 1901.", "By Anna.")}
        items = {key: "q1" if key in (units["In 1901."], units["By Anna."]) else "q2"
                 for key in units.values()}  # fmt: skip
        label(folder, again, "valid", items, people=("dora",))
        with pytest.raises(CommandError, match="tie on 1 sentences"):
            derive("x", "references", campaign="valid")
        derive("kept", "references", "--ties", "keep", campaign="valid")
        assert texts("kept", "q2") == ["A.", "B."]
        derived = derive("dropped", "references", "--ties", "drop", campaign="valid")
        assert texts("dropped", "q2") == ["B."]
        assert "a sentence is undecided" in derived

    def test_reading_both_rounds_counts_each_answer_once(
        self, folder: Path, units: dict[str, str]
    ) -> None:
        self.judge(folder, units, one="yes", two="yes", a="yes", b="yes")
        derive("both", "references", "--from", "verify", campaign="valid")
        assert [texts("both", key) for key in ("q1", "q2")] == [["In 1901. By Anna."], ["A.", "B."]]
        lineage = lineage_of(Batch.objects.get(name="both"))
        assert lineage is not None
        assert len(lineage.labels) == 64
        assert lineage.labels_read.digests
