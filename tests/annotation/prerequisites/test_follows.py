"""Rating campaigns whose prerequisite is a coverage campaign: who is asked what, and when."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.db.models import F

from annotation import prerequisites
from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.exports import rows as exporting
from annotation.models import Assignment, Campaign, Item
from annotation.prerequisites import units_asked
from annotation.prerequisites.rubric_passage import alternating
from judging.models import Judge
from judging.runs import ledger, planning
from tests import forks
from tests.annotation.follow_cast import (
    Q1,
    answer,
    coverage,
    coverage_payload,
    given,
    rater,
    rating,
    taken,
)
from tests.cast import ROOT, campaign_of, manage_all, run, write_lines
from tests.databases import environment
from tests.judging.cast import judge
from tests.patience import PATIENCE

OPENED, BUILT, OLD = Q1
SAID = {OPENED: "yes", BUILT: "no", OLD: "no"}


@pytest.fixture
def first(batch: Path) -> Campaign:
    return coverage()


def by_hand(said: dict[str, str], key: str, count: int = 2, seed: int = 0) -> list[str]:
    """The sampling as the docs describe it; `test_strata` checks `alternating` itself."""
    return alternating(Q1, said, count, seed, f"units of {key}")


def drawn(campaign: Campaign) -> dict[str, list[str] | None]:
    return dict(campaign.items.filter(query__key="q/1").values_list("key", "drawn"))


class TestRefusals:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("protocol", "options", "said"),
        [
            ("rubric-passage", ["sampling=own"], "give a prerequisite too"),
            ("rubric-passage", ["prerequisite=none"], "'none', which does not exist"),
            ("rubric-passage", ["prerequisite= "], "prerequisite names nothing"),
            ("rubric-passage", ["prerequisite=recall"], "follows report-coverage, and campaign"),
            ("report-coverage", ["prerequisite=first"], "does not apply to report-coverage"),
            ("rubric-passage", ["strata=j"], "is for a shared sample with a prerequisite"),
            ("rubric-passage", ["prerequisite=first", "strata=j"], "names judge 'j'"),
            ("rubric-passage", ["prerequisite=first", "strata=j", "sampling=all"], "shared sample"),
        ],
    )
    def test_an_unsuitable_design_cannot_follow_another_campaign(
        self, first: Campaign, protocol: str, options: list[str], said: str
    ) -> None:
        campaign_of("key-point-recall", name="recall")
        given = [word for option in options for word in ("--option", option)]
        with pytest.raises(CommandError, match=said):
            campaign_of(protocol, *given, name="second")
        assert not Campaign.objects.filter(name="second").exists()

    def test_a_person_cannot_be_named_as_the_judge_that_stratifies(self, first: Campaign) -> None:
        rater("ann")
        judge("robot")
        with pytest.raises(CommandError, match="names judge 'ann', which does not exist"):
            rating("strata=ann")

    def test_a_prerequisite_over_another_batch_is_refused(
        self, first: Campaign, tmp_path: Path
    ) -> None:
        line = {"id": "x", "text": "?", "questions": [{"id": "x:1", "text": "Who?"}],
                "passages": [{"id": "xp", "text": "Somebody."}]}  # fmt: skip
        run("load_batch", write_lines(tmp_path / "o.jsonl", [line]), "--name", "other")
        option = ("--option", "prerequisite=first")
        with pytest.raises(CommandError, match="is over another batch; name one over 'other'"):
            campaign_of("rubric-passage", *option, name="second", batch="other")

    def test_creating_the_same_campaign_again_changes_nothing(self, first: Campaign) -> None:
        rating("sampling=own")
        assert rating("sampling=own").items.count() == 4


class TestShared:
    def test_nothing_is_given_until_everybody_is_done_with_the_query(self, batch: Path) -> None:
        first, second = coverage(people=2), rating()
        for name, item in (("ann", "r"), ("ann", "r#1"), ("bo", "r")):
            answer(first, item, name, SAID)
            assert next_assignment(second, rater("cy")) is None
        answer(first, "r#1", "bo", SAID)
        assert set(given(second, rater("cy"))) == {"q/1/p", "q/1/p#1"}

    def test_all_are_asked_the_same_half_from_each_stratum(self, first: Campaign) -> None:
        second = rating()
        for item in ("r", "r#1"):
            answer(first, item, "ann", SAID)
        asked = given(second, rater("ann"))
        assert asked == given(second, rater("bo")) == drawn(second)
        for key, names in asked.items():
            assert names == by_hand(SAID, key)
            assert OPENED in names

    def test_the_first_of_two_simultaneous_samples_counts(self, first: Campaign) -> None:
        second = rating()
        held = [answer(first, item, "ann", SAID) for item in ("r", "r#1")]
        one, other = (second.items.get(key="q/1/p") for _ in range(2))
        names = list(one.units.values_list("name", flat=True))
        drawn_first = units_asked(one, rater("ann"), names)
        for each in held:
            submit(each, coverage_payload(each, {BUILT: "yes", OLD: "yes"}), "page")
        assert units_asked(other, rater("bo"), names) == drawn_first
        assert other.drawn == one.drawn

    def test_questions_are_stratified_by_the_majority_of_people(self, batch: Path) -> None:
        first, second = coverage(people=3), rating("per_passage=1")
        says = {"ann": {BUILT: "yes"}, "bo": {BUILT: "yes"}, "cy": {OPENED: "yes"}}
        for name, codes in says.items():
            for item in ("r", "r#1"):
                answer(first, item, name, codes)
        for key, names in given(second, rater()).items():
            assert names == by_hand({OPENED: "no", BUILT: "yes", OLD: "no"}, key, 1)

    def test_a_sample_stays_when_labels_are_revised_later(self, first: Campaign) -> None:
        second = rating()
        held = [answer(first, item, "ann", SAID) for item in ("r", "r#1")]
        before = given(second, rater("ann"))
        for each in held:
            submit(each, coverage_payload(each, {BUILT: "yes", OLD: "yes"}), "page")
        assert given(second, rater("bo")) == before

    def test_another_seed_gives_another_sample(self, first: Campaign) -> None:
        for item in ("r", "r#1"):
            answer(first, item, "ann", SAID)
        draws = [
            tuple(map(tuple, given(rating(f"seed={n}", name=f"s{n}"), rater()).values()))
            for n in range(6)
        ]
        assert len(set(draws)) > 1

    def test_imported_answers_count(self, first: Campaign, tmp_path: Path) -> None:
        second = rating()
        rows = [
            {"item": item, "unit": unit, "variable": "answerable", "value": "no", "rater": "old"}
            for item in ("r", "r#1")
            for unit in Q1
        ]
        run("import_labels", write_lines(tmp_path / "l.jsonl", rows), "--campaign", "first")
        assert set(given(second, rater())) == {"q/1/p", "q/1/p#1"}

    def test_a_closed_prerequisite_delays_nobody(self, first: Campaign) -> None:
        second = rating()
        Campaign.objects.filter(name="first").update(is_open=False)
        assert len(given(second, rater())) == 4

    def test_questions_may_be_stratified_by_a_judge(self, first: Campaign) -> None:
        model = judge("robot")
        second = rating("strata=robot", "per_passage=1")
        for item in ("r", "r#1"):
            answer(first, item, "ann", {BUILT: "yes"})
        assert given(second, rater()) == {}
        for item in ("r", "r#1"):
            answer(first, item, model.rater.name, {OLD: "yes"}, kind="judge")
        found = given(second, rater())
        assert set(found) == {"q/1/p", "q/1/p#1"}
        for key, names in found.items():
            assert names == by_hand({OPENED: "no", BUILT: "no", OLD: "yes"}, key, 1)

    def test_without_a_prerequisite_units_are_sampled_at_creation(self, batch: Path) -> None:
        plain = campaign_of("rubric-passage", name="plain")
        assert set(drawn(plain).values()) == {None}
        assert all(len(names) == 2 for names in given(plain, rater()).values() if len(names) > 1)


class TestOwn:
    def test_each_person_is_asked_a_sample_from_their_own_answers(self, batch: Path) -> None:
        first, second = coverage(people=2), rating("sampling=own")
        says = {"ann": SAID, "bo": {BUILT: "yes", OLD: "yes"}}
        for name, codes in says.items():
            for item in ("r", "r#1"):
                answer(first, item, name, codes)
        for name, codes in says.items():
            full = {question: codes.get(question, "no") for question in Q1}
            found = given(second, rater(name))
            assert set(found) == {"q/1/p", "q/1/p#1"}
            for key, names in found.items():
                assert names == by_hand(full, key)
        assert set(drawn(second).values()) == {None}

    def test_a_person_waits_only_for_their_own_work(self, batch: Path) -> None:
        first, second = coverage(people=2), rating("sampling=own")
        answer(first, "r", "ann", SAID)
        assert next_assignment(second, rater("ann")) is None
        begun = taken(first, "r#1", "ann")
        assert next_assignment(second, rater("ann")) is None
        submit(begun, coverage_payload(begun, SAID), "page")
        assert set(given(second, rater("ann"))) == {"q/1/p", "q/1/p#1"}
        assert next_assignment(second, rater("bo")) is None

    def test_a_released_assignment_does_not_count_as_an_answer(self, first: Campaign) -> None:
        second = rating("sampling=own")
        held = taken(first, "r", "ann")
        Assignment.objects.filter(pk=held.pk).update(status="cancelled", slot=None)
        first.items.update(taken=F("quota"))
        assert given(second, rater()) == {}

    def test_items_held_by_others_with_no_free_slot_are_not_waited_for(
        self, first: Campaign
    ) -> None:
        second = rating("sampling=own")
        answer(first, "r", "ann", SAID)
        taken(first, "r#1", "bo")
        assert set(given(second, rater("ann"))) == {"q/1/p", "q/1/p#1"}

    def test_items_with_a_free_slot_are_waited_for(self, batch: Path) -> None:
        first, second = coverage(people=2), rating("sampling=own")
        answer(first, "r", "ann", SAID)
        taken(first, "r#1", "bo")
        assert next_assignment(second, rater("ann")) is None

    def test_a_persons_sample_stays_when_they_revise_their_answers(self, first: Campaign) -> None:
        second = rating("sampling=own")
        held = [answer(first, item, "ann", SAID) for item in ("r", "r#1")]
        mine = next_assignment(second, rater("ann"))
        assert mine is not None
        submit(held[0], coverage_payload(held[0], {OLD: "yes"}), "page")
        again = next_assignment(second, rater("ann"))
        assert again == mine
        assert again.asked == by_hand(SAID, mine.item.key)


class TestAll:
    def test_every_unit_is_asked_once_the_query_is_done(self, first: Campaign) -> None:
        second = rating("sampling=all")
        answer(first, "r", "ann", SAID)
        assert given(second, rater("bo")) == {}
        answer(first, "r#1", "ann", SAID)
        assert given(second, rater("bo")) == {"q/1/p": Q1, "q/1/p#1": Q1}


class TestJudges:
    def asked(self, campaign: Campaign, model: Judge) -> dict[str, list[str]]:
        """By item, all that the judge's rows ask."""
        planning.plan(campaign, model)
        found: dict[str, list[str]] = {}
        for row in ledger.assignments_of(campaign, model).order_by("pk"):
            found.setdefault(row.item.key, []).extend(row.asked)
        return found

    @pytest.mark.first_case
    @pytest.mark.parametrize("granularity", ["item", "unit"])
    def test_under_shared_sampling_judges_are_asked_the_stored_sample(
        self, first: Campaign, granularity: str
    ) -> None:
        second, model = rating(), judge("robot", granularity=granularity)
        assert self.asked(second, model) == {}
        for item in ("r", "r#1"):
            answer(first, item, "ann", SAID)
        asked = self.asked(second, model)
        assert asked == drawn(second) == given(second, rater())
        assert self.asked(second, model) == asked

    @pytest.mark.first_case
    @pytest.mark.parametrize("granularity", ["item", "unit"])
    def test_under_own_sampling_judges_are_asked_every_unit_that_anybody_was(
        self, batch: Path, granularity: str
    ) -> None:
        first, second = coverage(people=2), rating("sampling=own", "per_passage=1")
        model = judge("robot", granularity=granularity)
        people: dict[str, set[str]] = {}
        for name, codes in {"ann": SAID, "bo": {BUILT: "yes"}}.items():
            for item in ("r", "r#1"):
                answer(first, item, name, codes)
            for key, names in given(second, rater(name)).items():
                people.setdefault(key, set()).update(names)
            asked = self.asked(second, model)
            assert {key: set(names) for key, names in asked.items()} == people
            assert all(len(set(names)) == len(names) for names in asked.values())

    @pytest.mark.every_case
    @pytest.mark.parametrize("granularity", ["item", "unit"])
    def test_units_that_people_are_asked_later_get_separate_judge_assignments(
        self, batch: Path, granularity: str
    ) -> None:
        first, second = coverage(people=2), rating("sampling=own", "per_passage=1")
        model, known = judge("robot", granularity=granularity), set[int]()
        for name, codes in {"ann": SAID, "bo": {BUILT: "yes"}}.items():
            for item in ("r", "r#1"):
                answer(first, item, name, codes)
            given(second, rater(name))
            planning.plan(second, model)
            rows = list(ledger.assignments_of(second, model).exclude(pk__in=known))
            assert rows
            whole = granularity == "item" and not known
            assert [row.scope for row in rows] == ["" if whole else row.asked[0] for row in rows]
            assert whole or {len(row.asked) for row in rows} == {1}
            known |= {row.pk for row in rows}

    def test_under_all_sampling_judges_need_not_wait(self, first: Campaign) -> None:
        asked = self.asked(rating("sampling=all"), judge("robot"))
        assert len(asked) == 4
        assert asked["q/1/p"] == Q1

    def test_planning_without_a_prerequisite_covers_every_item(self, first: Campaign) -> None:
        model = judge("robot")
        before = self.asked(first, model)
        assert self.asked(first, model) == before
        assert ledger.assignments_of(first, model).count() == first.items.count()


def test_units_not_asked_of_anybody_are_not_exported(first: Campaign) -> None:
    second = rating()
    assert list(exporting.units(second)) == []
    for item in ("r", "r#1"):
        answer(first, item, "ann", SAID)
    asked = given(second, rater())
    lines = [(line["item"], line["unit"]) for line in exporting.units(second)]
    assert lines == [(item, unit) for item, units in asked.items() for unit in units]


def test_a_campaign_without_a_prerequisite_waits_for_nothing(first: Campaign) -> None:
    assert prerequisites.wait_rules(first) == []
    assert prerequisites.describe_waits(first) == ""
    assert not Item.objects.filter(prerequisites.waiting_items(first, rater())).exists()


@pytest.mark.processes
def test_twenty_simultaneous_people_are_asked_the_same_stored_sample(
    house: Path, tmp_path: Path
) -> None:
    rows = [
        {"item": item, "unit": unit, "variable": "answerable", "value": value, "rater": "old"}
        for item in ("r", "r#1")
        for unit, value in SAID.items()
    ]
    name, path = "drawn at once", write_lines(tmp_path / "l.jsonl", rows)
    done = manage_all(
        house,
        ("create_campaign", "before", "--protocol", "report-coverage", "--batch", "b",
         "--pool", "open"),
        ("import_labels", path, "--campaign", "before"),
        ("create_campaign", name, "--pool", "open", "--protocol", "rubric-passage", "--batch", "b",
         "--raters-per-item", 20, "--option", "prerequisite=before"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    crowd = [sys.executable, "-m", "tests.annotation.crowd", name, "20", "1"]
    ended = forks.run(crowd, cwd=ROOT, env=environment(house), timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    given, _ = json.loads(ended.stdout.splitlines()[-1])
    assert len(given) == 40
    assert all(asked == stored == by_hand(SAID, key) for _, _, key, _, asked, stored in given)
