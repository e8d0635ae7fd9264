"""Parts of gold answers: turns, scores, rows, feedback and dry runs, with hand-worked values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.campaign_setup.dry_run import (
    DryRun,
    Share,
    _assign_people,
    _common,
    _Item,
    _quota,
    _shares,
    _sizes,
    _summarize,
    describe_interval,
    sentences,
)
from annotation.campaign_setup.expected_widths import Assumptions, Expected
from annotation.campaigns.design import Design
from annotation.campaigns.sampling import EVALUATION, SampledQuery, Split
from annotation.gold import scoring
from annotation.gold.scoring import (
    GoldComparison,
    Score,
    admissible,
    admit,
    compare_with_gold,
    describe_practice,
    is_admitted,
    is_ready,
    passes,
    practice_score,
    score,
    scores,
    scores_of_begun,
    waiting_for_practice,
)
from annotation.imports import gold as loading
from annotation.imports.gold import GoldCounts, store_gold_answers
from annotation.imports.index import KnownItems
from annotation.imports.responses import ResponseRow
from annotation.models import Admission, Assignment, Campaign, GoldAnswer, Item, Rater
from annotation.presentation import schema
from annotation.views import settings_forms as sending
from annotation.views.work import _feedback_row, _word
from audit.models import Event
from audit.recording import digest_of
from tandem.files.rows import InputError, Place
from tandem.labels.file.rows import LabelRow
from tandem.protocols.base import Variable
from tests.annotation.gold.test_gold import answer, folder, rater
from tests.cast import campaign_of

MOST_PAIRED = 60

__all__ = ["folder"]

AT = Place("known.jsonl", 3)


@pytest.fixture
def campaign(folder: Path) -> Campaign:
    return campaign_of("report-coverage")


def row(item: str = "r1", unit: str = "q1:a", value: str | None = "no", **more: Any) -> LabelRow:
    fields: dict[str, Any] = {"variable": "answerable", "rater": "ann", "place": AT} | more
    return LabelRow(item=item, unit=unit, value=value, **fields)


def had(campaign: Campaign, item: str, who: Rater, **more: Any) -> Assignment:
    held = campaign.items.get(key=item)
    return Assignment.objects.create(
        item=held, rater=who, asked=list(held.units.values_list("name", flat=True)), **more
    )


def first_four(campaign: Campaign, who: Rater) -> list[str]:
    """The keys of the items that a rater gets first, each answered before the next."""
    got: list[str] = []
    for _ in range(4):
        item = scoring.next_item(campaign, who, campaign.items.exclude(key__in=got))
        assert item is not None
        got.append(item.key)
        had(campaign, item.key, who)
    return got


class TestTurns:
    def test_gold_positions_for_a_seed_and_name_never_change(self) -> None:
        """A changed position would mix in gold items differently in a campaign under way."""
        found = [n for n in range(40) if scoring.is_gold_turn(3, "ann", n, 10)]
        assert found == [4, 14, 20, 38]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("options", "gold_every", "practice", "plain"),
        [
            ({}, 0, False, True),
            ({"items": "fixed"}, 0, False, True),
            ({"items": "random"}, 0, False, False),
            ({}, 2, False, False),
            ({}, 0, True, False),
        ],
    )
    def test_only_a_campaign_in_batch_order_without_gold_or_practice_is_plain(
        self, options: dict[str, str], gold_every: int, practice: bool, plain: bool
    ) -> None:
        given = Campaign(options=options, gold_every=gold_every)
        given.practice_of_id = 1 if practice else None
        assert scoring.is_plain(given) == plain

    def test_a_persons_turn_number_counts_their_whole_items_except_practice(
        self, campaign: Campaign
    ) -> None:
        other = campaign_of("report-coverage", name="d")
        ann = rater("ann")
        campaign.items.filter(key="r4").update(use="practice")
        for item, more in (
            ("r1", {}), ("r2", {"status": "cancelled"}), ("r3", {"replicate": 1}),
            ("r3", {"scope": "q3:a"}), ("r4", {}),
        ):  # fmt: skip
            had(campaign, item, ann, **more)
        had(campaign, "r5", rater("bo"))
        had(other, "r5", ann)
        assert scoring.count_items_had(campaign, ann) == 2
        assert scoring.count_items_had(other, ann) == 1

    def test_remaining_gold_items_are_those_of_this_campaign_not_yet_assigned(
        self, campaign: Campaign
    ) -> None:
        other = campaign_of("report-coverage", name="d")
        ann = rater("ann")
        campaign.items.filter(key__in=("r1", "r2")).update(use="practice")
        campaign.items.filter(key="r3").update(use="gold")
        other.items.update(use="practice")
        campaign.gold_every = 1
        assert scoring.count_remaining_gold(campaign, ann, 5) == (0, 1)
        campaign.practice_of = other
        assert scoring.count_remaining_gold(campaign, ann, 5)[0] == 0
        campaign.practice_of = campaign
        assert scoring.count_remaining_gold(campaign, ann, 0) == (2, 0)
        had(campaign, "r1", ann)
        had(campaign, "r2", rater("bo"))
        assert scoring.count_remaining_gold(campaign, ann, 5) == (1, 1)

    def test_practice_comes_first_then_gold_and_study_items_by_turns(
        self, campaign: Campaign
    ) -> None:
        ann = rater("ann")
        campaign.items.filter(key="r9").update(use="practice")
        campaign.items.filter(key__in=("r7", "r8")).update(use="gold")
        ready = campaign.items.all()
        got = scoring.next_item(campaign, ann, ready)
        assert got is not None
        assert got.key == "r0"
        campaign.practice_of = campaign
        got = scoring.next_item(campaign, ann, ready)
        assert got is not None
        assert got.key == "r9"
        campaign.gold_every = 1
        left = ready.exclude(use="practice")
        golds = {
            name: scoring.next_item(campaign, rater(name), left) for name in ("ann", "bo", "fay")
        }
        assert {name: got and got.key for name, got in golds.items()} == {
            "ann": "r8",
            "bo": "r8",
            "fay": "r7",
        }
        got = scoring.next_item(campaign, ann, left.exclude(use="gold"))
        assert got is not None
        assert got.key == "r0"
        assert scoring.next_item(campaign, ann, left.exclude(use="study")) is None

    @pytest.mark.every_case
    @pytest.mark.parametrize("order", ["random", "blocked"])
    def test_a_random_order_never_changes(self, folder: Path, order: str) -> None:
        campaign = campaign_of("report-coverage", "--option", f"items={order}")
        ann = rater("ann")
        assert first_four(campaign, ann) == ["r0", "r1", "r6", "r4"]
        assert scoring.next_item(campaign, ann, campaign.items.none()) is None

    def test_without_a_random_order_the_batchs_order_is_kept(self, campaign: Campaign) -> None:
        assert first_four(campaign, rater("ann")) == ["r0", "r1", "r2", "r3"]

    def test_the_current_block_is_the_query_of_the_last_study_item_here(
        self, campaign: Campaign
    ) -> None:
        other, ann = campaign_of("report-coverage", name="d"), rater("ann")
        assert scoring._last_query(campaign, ann) is None
        for item in ("r5", "r2"):
            had(campaign, item, ann)
        campaign.items.filter(key="r3").update(use="gold")
        had(campaign, "r3", ann)
        had(campaign, "r4", rater("bo"))
        had(other, "r6", ann)
        assert scoring._last_query(campaign, ann) == campaign.items.get(key="r2").query_id


class TestScores:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("result", "qualify", "passed"),
        [
            (Score(2, 2, 3, 4), 0.75, True),
            (Score(2, 2, 3, 4), 0.76, False),
            (Score(1, 2, 2, 2), 0.5, False),
            (Score(1, 2, 2, 2), None, False),
            (Score(2, 2, 0, 4), None, True),
            (Score(0, 0, 0, 0), 0.5, False),
            (Score(0, 0, 0, 0), 0.0, True),
            (Score(3, 2, 1, 1), 1.0, True),
            (Score(1, 1, 7, 10), 0.7 + 5e-10, True),
            (Score(1, 1, 7, 10), 0.7 + 5e-9, False),
        ],
    )
    def test_a_complete_score_passes_from_the_pass_mark_on(
        self, result: Score, qualify: float | None, passed: bool
    ) -> None:
        assert passes(Campaign(qualify=qualify), result) == passed

    def test_a_score_is_the_share_of_the_asked_answers(self) -> None:
        assert Score(1, 2, 1, 4).share == 0.25
        assert Score(1, 2, 0, 0).share is None
        assert not Score(1, 2, 0, 0).is_whole
        assert GoldComparison("u", "v", "a", "a", "").is_correct
        assert not GoldComparison("u", "v", None, "a", "").is_correct

    def test_scores_are_separate_by_campaign_use_and_person(self, campaign: Campaign) -> None:
        other = campaign_of("report-coverage", name="d")
        ann, bo, cy = rater("ann"), rater("bo"), rater("cy")
        for place in (campaign, other):
            store_gold_answers([row(), row(unit="q1:b", value="yes")], place, "gold")
            store_gold_answers([row("r2", "q2:a"), row("r4", "q4:a")], place, "practice")
        answer(had(campaign, "r1", ann))
        answer(had(campaign, "r2", ann), "invalid")
        answer(had(campaign, "r1", bo), "yes")
        answer(had(campaign, "r3", ann))
        had(campaign, "r4", ann)
        answer(had(other, "r4", cy))
        expected_scores = {
            ("gold", ann): Score(1, 1, 1, 2), ("gold", bo): Score(1, 1, 1, 2),
            ("practice", ann): Score(1, 2, 0, 1), ("practice", bo): Score(0, 2, 0, 0),
        }  # fmt: skip
        for (use, who), expected in expected_scores.items():
            assert score(campaign, who, use) == expected
        both = (ann.pk, bo.pk)
        for use in ("gold", "practice"):
            found = {who.pk: each for (of, who), each in expected_scores.items() if of == use}
            assert scores(campaign, both, use) == found
            begun = {pk: each for pk, each in found.items() if each != Score(0, 2, 0, 0)}
            assert scores_of_begun(campaign, both, use) == begun
        assert scores_of_begun(other, (ann.pk, cy.pk), "practice") == {cy.pk: Score(1, 2, 1, 1)}
        assert scores_of_begun(campaign, (), "gold") == {}
        Item.objects.filter(campaign=campaign, use="gold").update(use="study")
        assert scores_of_begun(campaign, both, "gold") == {}
        assert scores(campaign, both, "gold") == dict.fromkeys(both, Score(0, 0, 0, 0))

    def test_feedback_lists_gold_answers_unit_by_unit_in_order(self, campaign: Campaign) -> None:
        rows = [row(unit="q1:b", meta={"reason": "So."}), row(unit="q1:a", value="yes")]
        store_gold_answers(rows, campaign, "practice")
        held = had(campaign, "r1", rater("ann"))
        first = GoldComparison("q1:a", "answerable", None, "yes", "")
        assert list(compare_with_gold(held)) == [
            first,
            GoldComparison("q1:b", "answerable", None, "no", "So."),
        ]
        answer(held)
        answer(had(campaign, "r1", rater("bo")), "yes")
        assert [each.answer for each in compare_with_gold(held)] == ["no", "no"]
        held.asked = ["q1:b"]
        assert [each.unit for each in compare_with_gold(held)] == ["q1:b"]

    def test_a_person_who_has_not_passed_practice_waits_for_all_other_items(
        self, campaign: Campaign
    ) -> None:
        ann = rater("ann")
        waits = campaign.items.filter(waiting_for_practice(campaign, ann))
        assert is_ready(campaign, ann)
        assert practice_score(campaign, ann) is None
        assert not waits.exists()
        store_gold_answers([row()], campaign, "practice")
        assert not is_ready(campaign, ann)
        waits = campaign.items.filter(waiting_for_practice(campaign, ann))
        assert set(waits.values_list("use", flat=True)) == {"study"}
        assert practice_score(campaign, ann) == Score(0, 1, 0, 0)
        answer(had(campaign, "r1", ann))
        assert is_ready(campaign, ann)
        assert not campaign.items.filter(waiting_for_practice(campaign, ann)).exists()

    def test_practice_of_another_campaign_is_named(self, campaign: Campaign) -> None:
        other = campaign_of("report-coverage", name="d")
        assert describe_practice(campaign) == "the practice to be done"
        campaign.practice_of, campaign.qualify = campaign, 0.8
        assert describe_practice(campaign) == "the practice to be passed with 80% correct"
        campaign.practice_of = other
        assert describe_practice(campaign) == "the practice of “d” to be passed with 80% correct"


class TestAdmitting:
    def test_people_are_those_who_began_here_or_in_practice_or_were_admitted(
        self, campaign: Campaign
    ) -> None:
        first = campaign_of("report-coverage", name="first")
        elsewhere = campaign_of("report-coverage", name="elsewhere")
        campaign.practice_of = first
        ann, bo, cy, dee = (rater(name) for name in ("ann", "bo", "cy", "dee"))
        machine = Rater.objects.create(name="machine", kind="judge")
        had(campaign, "r1", ann)
        had(campaign, "r1", machine)
        had(first, "r1", bo)
        had(elsewhere, "r1", cy)
        admit(elsewhere, cy, "known")
        assert set(admissible(campaign)) == {ann, bo}
        assert admit(campaign, dee, "known to me")
        assert admit(campaign, ann, "known to me")
        assert sorted(admissible(campaign).values_list("name", flat=True)) == ["ann", "bo", "dee"]
        assert not admit(campaign, dee, "once more")
        assert set(Admission.objects.filter(rater=dee).values_list("reason", flat=True)) == {
            "known to me"
        }
        event = Event.objects.get(event="admission.made", campaign=campaign.pk, object_id=dee.pk)
        assert event.after == digest_of(event.object_kind, event.object_id, "known to me")
        assert is_admitted(campaign, dee)
        assert not is_admitted(campaign, bo)
        assert not is_admitted(campaign, cy)
        campaign.practice_of = None
        assert bo not in admissible(campaign)


class TestSetting:
    def test_unchanged_gold_answers_are_reported_and_any_change_is_stored(
        self, campaign: Campaign
    ) -> None:
        rows = [row(), row(unit="q1:b"), row("r2", "q2:a")]
        assert store_gold_answers(rows, campaign, "gold") == GoldCounts(3, 2)
        assert store_gold_answers(rows, campaign, "gold") == GoldCounts(3, 2, unchanged=True)
        assert store_gold_answers(rows, campaign, "practice") == GoldCounts(3, 2)
        rows[0] = row(meta={"reason": "Said."})
        assert store_gold_answers(rows, campaign, "practice") == GoldCounts(3, 2)
        assert store_gold_answers(rows[:1], campaign, "practice") == GoldCounts(1, 1)
        answers = GoldAnswer.objects.values_list("unit__name", "variable", "value", "reason")
        assert set(answers) == {
            ("q1:a", "answerable", "no", "Said."),
            ("q2:a", "answerable", "no", ""),
        }
        campaign.refresh_from_db()
        assert (campaign.gold_every, campaign.practice_of) == (loading.EVERY, campaign)

    def test_items_with_different_uses_all_get_the_new_use(self, campaign: Campaign) -> None:
        rows = [row(), row("r2", "q2:a")]
        store_gold_answers(rows[:1], campaign, "gold")
        store_gold_answers(rows[1:], campaign, "practice")
        assert store_gold_answers(rows, campaign, "gold") == GoldCounts(2, 2)
        uses = campaign.items.filter(key__in=("r1", "r2")).values_list("use", flat=True)
        assert list(uses) == ["gold", "gold"]

    def test_setting_gold_mixes_it_in_and_setting_practice_requires_it_in_that_campaign_only(
        self, campaign: Campaign
    ) -> None:
        other = campaign_of("report-coverage", name="d")
        rows = [row(), row("r2", "q2:a")]
        store_gold_answers(rows, campaign, "gold")
        store_gold_answers(rows, other, "practice")
        for each in (campaign, other):
            each.refresh_from_db()
        assert (campaign.gold_every, campaign.practice_of) == (10, None)
        assert (other.gold_every, other.practice_of) == (0, other)
        assert store_gold_answers(rows[:1], campaign, "gold") == GoldCounts(1, 1, unchanged=True)

    def test_settings_changed_by_another_person_meanwhile_are_kept(
        self, campaign: Campaign
    ) -> None:
        first = campaign_of("report-coverage", name="first")
        Campaign.objects.filter(pk=campaign.pk).update(gold_every=3, practice_of=first)
        assert (campaign.gold_every, campaign.practice_of) == (0, None)
        store_gold_answers([row()], campaign, "gold")
        store_gold_answers([row()], campaign, "practice")
        campaign.refresh_from_db()
        assert (campaign.gold_every, campaign.practice_of) == (3, first)

    def test_two_equal_values_make_one_gold_answer(self, campaign: Campaign) -> None:
        assert store_gold_answers([row(), row(rater="bo")], campaign, "gold") == GoldCounts(1, 1)
        with pytest.raises(InputError, match='"answerable" of unit "q1:a" is known in two ways'):
            store_gold_answers([row(), row(value="yes")], campaign, "gold")

    def test_the_first_item_already_assigned_to_people_is_named_with_its_line(
        self, campaign: Campaign
    ) -> None:
        machine = Rater.objects.create(name="machine", kind="judge")
        had(campaign, "r1", machine)
        assert store_gold_answers([row()], campaign, "gold") == GoldCounts(1, 1)
        for item in ("r5", "r3"):
            had(campaign, item, rater("ann"))
        rows = [row("r5", "q5:a"), row("r3", "q3:a", place=replace(AT, line=8))]
        with pytest.raises(InputError, match='item "r3" was given to people') as raised:
            store_gold_answers(rows, campaign, "gold")
        assert raised.value.place.line == 8
        assert GoldAnswer.objects.count() == 1

    def test_only_the_items_of_the_file_are_locked(self, campaign: Campaign) -> None:
        with CaptureQueriesContext(connection) as asked:
            store_gold_answers([row()], campaign, "gold")
        held = [each["sql"] for each in asked.captured_queries
                if each["sql"].startswith('SELECT "annotation_item"."id"')
                and each["sql"].split("FROM")[0].count('"annotation_item"."') == 1]  # fmt: skip
        assert held
        assert all(" IN (" in sql and "NOT (" not in sql for sql in held)


class TestKnownItems:
    def items(self, campaign: Campaign, *only: str) -> KnownItems:
        return KnownItems(campaign, only or None)

    def test_only_the_requested_items_are_loaded(self, campaign: Campaign) -> None:
        campaign_of("report-coverage", name="d")
        few, whole = self.items(campaign, "r1", "r3"), self.items(campaign)
        assert set(few.items) == {"r1", "r3"}
        assert len(whole.items) == campaign.items.count()
        assert len(few.units) == 2
        assert len(whole.units) == len(whole.items)
        assert few.item("r3").position == few.position("r3") == 3
        assert few.item("r3").campaign is campaign
        assert few.names("r1") == ["q1:a", "q1:b"]
        assert few.kinds(few.item("r1").pk) == dict.fromkeys(few.names("r1"), "question")
        assert few.kinds(0) == {}
        facts = {"batch": "b", "query": "q1", "system": "one", "setting": None}
        assert few.facts["r1"] == facts

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("wrong", "message", "mend"),
        [
            ({"item": "zz"}, 'item "zz" is not in it', "check the key"),
            ({"variable": "size"}, 'variable "size" is not asked', "it asks answerable"),
            ({"unit": "zz"}, 'unit "zz" of item "r1" is not asked', "check key and kind"),
            ({"kind": "passage"}, 'unit "q1:a" of item "r1" is not asked', "check key and kind"),
            ({"value": "perhaps"}, 'answerable is "perhaps"', "give one of "),
            ({"protocol": "other"}, 'protocol is "other", not "report-coverage"', "give a camp"),
        ],
    )
    def test_a_line_about_something_not_asked_is_refused_with_its_number(
        self, campaign: Campaign, wrong: dict[str, Any], message: str, mend: str
    ) -> None:
        with pytest.raises(InputError) as error:
            list(self.items(campaign).check_rows([row(**wrong)]))
        assert error.value.wrong == f"campaign 'c': {message}"
        assert error.value.remedy.startswith(mend)
        assert "sampling" not in error.value.remedy
        assert error.value.place == AT

    def test_a_valid_line_is_returned_with_its_units_name(self, campaign: Campaign) -> None:
        rows = [row(), row(kind="question", protocol="report-coverage"), row(value=None)]
        found = list(self.items(campaign).check_rows(rows))
        assert [(each.row, each.name) for each in found] == [(each, "q1:a") for each in rows]
        codes = schema(campaign).variables[0].answers
        assert list(self.items(campaign).check_rows([row(value=codes[-1])]))

    def response(self, **answers: Any) -> ResponseRow:
        units = {name.replace("_", ":"): each for name, each in answers.items()}
        return ResponseRow(
            item="r1", rater="ann", rater_kind="judge", replicate=2, revision=3, created_at="then",
            seconds=4.5, assisted_by="model", comment=None, units=units, place=AT,
        )  # fmt: skip

    def test_a_response_is_read_as_separate_labels(self, campaign: Campaign) -> None:
        quote = [{"quote": "It is", "start": 0}]
        response = self.response(
            q1_a={"evidence": quote, "answerable": "yes"}, q1_b={"answerable": None}
        )
        (found,) = self.items(campaign).rows_of(response)
        facts = (found.item, found.unit, found.kind, found.variable, found.value, found.rater,
                found.rater_kind, found.replicate, found.revision, found.created_at,
                found.seconds, found.assisted_by, found.place)  # fmt: skip
        assert facts == ("r1", "q1:a", "question", "answerable", "yes", "ann", "judge", 2, 3,
                         "then", 4.5, "model", AT)  # fmt: skip
        assert found.spans is not None
        assert [(each.text, each.start, each.field) for each in found.spans] == [
            ("It is", 0, "report")
        ]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("item", "answers", "message"),
        [
            ("zz", {}, "item \"zz\" is not in campaign 'c'"),
            ("r1", {"q2_a": {}}, 'unit "q2:a" of item "r1" is not asked'),
            ("r1", {"q1_a": {"answerable": [1]}}, '"answerable" of unit "q1:a" is not a code'),
        ],
    )
    def test_a_response_with_an_unknown_item_or_unit_is_refused(
        self, campaign: Campaign, item: str, answers: dict[str, Any], message: str
    ) -> None:
        response = replace(self.response(**answers), item=item)
        with pytest.raises(InputError) as error:
            list(self.items(campaign).rows_of(response))
        assert (error.value.wrong, error.value.place) == (message, AT)

    def test_a_unit_that_was_not_sampled_is_refused_with_how_to_ask_all(self, batch: Path) -> None:
        campaign = campaign_of("rubric-passage")
        item = campaign.items.first()
        assert item is not None
        name = schema(campaign).variables[0].name
        with pytest.raises(InputError) as error:
            list(KnownItems(campaign).check_rows([row(item.key, "zz", variable=name)]))
        assert error.value.remedy.endswith(" or create the campaign with --option sampling=all")


class TestFeedback:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("said", "turned", "words"),
        [
            ("first", False, ("A", "B", False)),
            ("first", True, ("B", "A", False)),
            ("second", True, ("A", "A", True)),
            ("tie", True, ("Tie", "A", False)),
            (None, False, ("nothing", "B", False)),
        ],
    )
    def test_feedback_shows_codes_in_the_words_of_the_page(
        self, said: str | None, turned: bool, words: tuple[str, str, bool]
    ) -> None:
        better = Variable("better", "pair", "Which?", ("first", "second", "tie"),
                          words={"first": "A", "second": "B"})  # fmt: skip
        each = GoldComparison("u", "better", said, "second", "Why.")
        found = _feedback_row(each, "The text.", better, swapped=turned)
        assert (found.answer, found.gold, found.is_right) == words
        assert (found.heading, found.text, found.question, found.reason) == (
            "better", "The text.", "Which?", "Why."
        )  # fmt: skip
        assert _word(better, "second", swapped=False) == "B"


class TestUpload:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("size", "taken"), [(None, True), (7 * 1024 * 1024, True), (7 * 1024 * 1024 + 1, False)]
    )
    def test_a_file_of_up_to_seven_megabytes_is_accepted(
        self, size: int | None, taken: bool
    ) -> None:
        form, file = sending.GoldForm(), SimpleUploadedFile("a.jsonl", b"{}")
        file.size = size
        form.cleaned_data = {"file": file}
        if taken:
            assert form.clean_file() is file
        else:
            with pytest.raises(forms.ValidationError, match="exceeds 7 MB"):
                form.clean_file()

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("a.jsonl", b'{"item":"r1","unit":"q1:a","variable":"answerable","value":"no",'
                        b'"rater":"x"}\n'),
            ("A.CSV", b"item,unit,variable,value,rater\nr1,q1:a,answerable,no,x\n"),
            ("../../b.csv", b"item,unit,variable,value,rater\nr1,q1:a,answerable,no,x\n"),
        ],
    )  # fmt: skip
    def test_the_file_format_follows_from_the_ending(
        self, campaign: Campaign, name: str, text: bytes
    ) -> None:
        found = sending.store_gold_file(campaign, SimpleUploadedFile(name, text), "practice")
        assert found == GoldCounts(1, 1)
        assert campaign.items.get(use="practice").key == "r1"

    def test_an_error_names_its_line_if_it_has_one(self) -> None:
        messages = [
            sending.describe_file_error(InputError(Place("/tmp/x", line), "it is wrong", "mend it"))
            for line in (4, None)
        ]
        assert messages == ["Line 4: it is wrong; mend it.", "it is wrong; mend it."]

    def test_an_admission_is_for_one_rater_with_a_reason(self) -> None:
        def valid(rater: int, reason: str) -> bool:
            return sending.AdmitForm({"rater": rater, "reason": reason}).is_valid()

        assert valid(1, "x" * 500)
        assert valid(2**31 - 1, "x")
        assert not any((valid(0, "x"), valid(2**31, "x"), valid(1, ""), valid(1, "x" * 501)))


NONE = Expected(None, 0, 0, 0.0, "there are too few")
UNITS = ("unit", "units")
WIDE = Expected(0.25, 1, 12, 30.4)
REHEARSAL = DryRun(
    queries=12, asked_queries=8, judge_only=4, roles={"evaluation": 9, "development": 3},
    items=1, units=2, places=3, carried=0, several=1, people=1, unfilled=1,
    shares=(Share(3, 5), Share(2, 7)), common=(1, 4), kappa=NONE, share=WIDE, powered=WIDE,
    assumptions=Assumptions(), characters=9, is_chosen=False,
)  # fmt: skip


class TestDryRuns:
    def test_a_dry_run_is_described_in_sentences(self) -> None:
        width = ("an interval about 0.25 wide (± 0.12), from 1 unit of 12 queries, worth 30 "
                 "independent ones")  # fmt: skip
        assert list(sentences(REHEARSAL)) == [
            "1 item with 2 units from 12 queries.",
            "3 annotator slots on 8 queries, 1 item with several people; "
            "4 queries for judges alone.",
            "Queries by split: 3 for development, 9 for evaluation.",
            "1 person at the same pace would get 2 to 3 items and 5 to 7 units each.",
            "Two of them would have 1 to 4 units in common.",
            "1 slot would stay empty: more people are needed.",
            "Kappa between people: no interval, since there are too few.",
            f"A share such as coverage, by people alone: {width}.",
            f"The same with a judge on all queries: {width}.",
            "Assumed: true kappa 0.6; two categories, a share of 0.5 yes; an intraclass "
            "correlation of 0.2 within a query; a correlation of 0.7 between the scores of "
            "queries by the judge and by people.",
        ]

    def test_chosen_items_are_said_not_to_represent_the_batch(self) -> None:
        assert list(sentences(replace(REHEARSAL, is_chosen=True)))[:2] == [
            "1 item with 2 units from 12 queries.",
            "The items were chosen, not sampled: figures will describe them alone, not the batch.",
        ]

    def test_units_are_called_by_the_protocols_noun(self) -> None:
        lines = list(sentences(replace(REHEARSAL, noun=("question", "questions"), common=(1, 4))))
        assert lines[0] == "1 item with 2 questions from 12 queries."
        assert "Two of them would have 1 to 4 questions in common." in lines
        assert not [sentence for sentence in lines if "unit" in sentence]

    def test_absent_figures_are_left_out_of_the_description(self) -> None:
        plain = replace(
            REHEARSAL, queries=1, roles={"evaluation": 1}, several=0, judge_only=0, people=2,
            unfilled=0, shares=(Share(3, 5), Share(3, 5)), common=None, powered=None,
        )  # fmt: skip
        assert list(sentences(plain))[:5] == [
            "1 item with 2 units from 1 query.",
            "3 annotator slots on 8 queries.",
            "2 people at the same pace would get 3 items and 5 units each.",
            "Kappa between people: no interval, since there are too few.",
            f"A share such as coverage, by people alone: {describe_interval(WIDE, UNITS)}.",
        ]

    ITEMS = (_Item("a", "q", 3, 2, 10), _Item("b", "q", 1, 0, 20), _Item("c", "p", 2, 1, 30),
             _Item("d", "p", 4, 3, 40), _Item("e", "o", 5, 0, 50))  # fmt: skip

    def test_the_person_with_the_fewest_items_gets_the_next_one(self) -> None:
        items = list(self.ITEMS)
        holders = _assign_people(items, 3)
        assert holders == [(0, 1), (), (2,), (0, 1, 2), ()]
        assert _shares(items, holders, 3) == (Share(2, 7), Share(2, 7), Share(2, 6))
        assert _common(items, holders, 3) == (4, 7)
        assert _assign_people(items, 1) == [(0,), (), (0,), (0,), ()]
        assert _sizes(items) == [4, 6, 5]

    def test_common_units_are_counted_for_two_to_sixty_people(self) -> None:
        item = [_Item("a", "q", 3, 2, 0)]
        assert MOST_PAIRED == 60
        assert _common(item, [(0,)], 1) is None
        assert _common(item, [(1, 0)], 2) == (3, 3)
        assert _common(item, [(0, 1)], 60) == (0, 3)
        assert _common(item, [(0, 1)], 61) is None

    def test_a_query_that_was_not_sampled_has_no_people(self) -> None:
        drawn = [SampledQuery("all", each, 1.0, Split(EVALUATION, 1.0)) for each in (True, False)]
        design = Design(raters_per_item=3)
        quotas = [_quota(key, each.drawn, {"a"}, design) for each in drawn for key in "ab"]
        assert quotas == [3, 1, 0, 0]

    def test_a_judges_contribution_counts_evaluation_queries_only(self) -> None:
        roles = {"q": EVALUATION, "p": "development", "o": EVALUATION, "unused": EVALUATION}
        drawn = {
            key: SampledQuery("all", key != "o", 1.0, Split(role, 1.0))
            for key, role in roles.items()
        }
        found = _summarize(list(self.ITEMS), drawn, Design(raters_per_item=3), 2, Assumptions())
        counts = (found.queries, found.asked_queries, found.judge_only, found.roles, found.items,
                found.units, found.places, found.several, found.people, found.unfilled)  # fmt: skip
        assert counts == (3, 2, 2, {EVALUATION: 2, "development": 1}, 5, 15, 6, 2, 2, 1)
        assert (found.share.units, found.kappa.units) == (9, 7)
        assert (found.characters, found.is_chosen) == (150, False)
        assert found.powered is not None
        assert found.powered.units == 3
        alone = _summarize([self.ITEMS[2]], drawn, Design(), 2, Assumptions())
        assert alone.powered is None
