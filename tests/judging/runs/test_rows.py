"""Which assignments a judge has, and which of them a trial repeats."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from annotation.assignments.queue import order_for
from annotation.models import Assignment, Campaign
from judging.models import Judge
from judging.runs import planning
from judging.runs.planning import TrialSample, sample_assignments, trial_sample_for
from tests.judging.cast import campaign_of, judge
from tests.judging.judge_file.test_document import GRADED

pytestmark = pytest.mark.django_db


def sampler(name: str, samples: int) -> Judge:
    """A judge that is asked several times; only a model can be."""
    return judge(name, "openai", model="m", base_url="http://127.0.0.1:9/v1",
                 params={"samples": samples, "temperature": 0.7})  # fmt: skip


def rows(who: Judge) -> list[Assignment]:
    return list(Assignment.objects.filter(rater=who.rater).order_by("pk"))


def ranked(campaign: Campaign, seed: int) -> list[str]:
    """The keys of all items in the sampling order, as the docs describe it."""
    keys = campaign.items.values_list("key", flat=True)
    return sorted(keys, key=lambda key: hashlib.sha256(f"{seed}\0{key}".encode()).hexdigest())


def test_a_planned_assignment_is_open_and_asks_all_units_of_its_item(campaign: Campaign) -> None:
    who = judge("whole")
    planning.plan(campaign, who)
    made = rows(who)
    assert [row.item.position for row in made] == sorted(
        campaign.items.values_list("position", flat=True)
    )
    for row in made:
        assert row.asked == list(row.item.units.order_by("position").values_list("name", flat=True))
        columns = (row.status, row.reason, row.missing, row.attempts, row.assisted_by, row.shown)
        assert columns == ("open", "", {}, 0, "", [])
        assert (row.slot, row.replicate, row.scope) == (None, 0, "")
    assert len({row.uid for row in made}) == len(made)


def test_asked_unit_by_unit_each_assignment_is_named_after_its_unit(campaign: Campaign) -> None:
    who = judge("single", granularity="unit")
    planning.plan(campaign, who)
    made = rows(who)
    assert all(row.asked == [row.scope] for row in made)
    assert {(row.item_id, row.scope) for row in made} == set(
        campaign.items.values_list("pk", "units__name")
    )


def test_planning_creates_only_missing_assignments(campaign: Campaign) -> None:
    who, other = judge("whole"), judge("other")
    planning.plan(campaign, who)
    first = rows(who)
    assert list(planning.missing_assignments(campaign, who)) == []
    first[1].delete()
    left = list(planning.missing_assignments(campaign, who))
    assert [(row.item_id, row.asked, row.pk) for row in left] == [
        (first[1].item_id, first[1].asked, None)
    ]
    assert left[0].rater == who.rater
    planning.plan(campaign, who)
    assert sorted(row.item_id for row in rows(who)) == [row.item_id for row in first]
    assert rows(other) == []


def test_assignments_planned_by_another_process_meanwhile_are_not_duplicated(
    campaign: Campaign,
) -> None:
    who = judge("whole")
    seen = list(planning._missing(campaign, who))
    planning.plan(campaign, who)
    before = [row.pk for row in rows(who)]
    planning._insert_new(who, seen)
    assert [row.pk for row in rows(who)] == before
    assert len(seen) == len(before)


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 5, 1000])
def test_all_assignments_are_planned_with_any_size_of_chunk(
    campaign: Campaign, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "CHUNK_ASSIGNMENTS", chunk)
    monkeypatch.setattr(planning, "CHUNK_INSERTED", 2)
    who = sampler("whole", 2)
    planning.plan(campaign, who)
    assert [row.replicate for row in rows(who)] == [0, 1] * campaign.items.count()


def test_assignments_are_inserted_in_chunks(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(planning, "CHUNK_ASSIGNMENTS", 3)
    monkeypatch.setattr(planning, "_insert_new", lambda judge, rows: sizes.append(len(rows)))
    planning.plan(campaign, judge("whole"))
    assert sizes == [3, 1]
    sizes.clear()
    planning.plan(campaign, sampler("twice", 2))
    assert sizes == [4, 4, 0], "what repeats a row is written with it"


def test_only_a_judge_file_defines_its_own_order_of_texts(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def orders(judge: Judge, item: object, samples: int) -> list[list[str]]:
        return [[str(n)] for n in range(samples)]

    def preload(campaign: Campaign, items: list[Any]) -> None:
        loaded.append([item.position for item in items])

    loaded: list[list[int]] = []
    monkeypatch.setattr(planning, "orders", orders)
    monkeypatch.setattr(planning, "preload", preload)
    monkeypatch.setattr(planning, "AT_ONCE", 3)
    plain, filed = sampler("plain", 2), sampler("filed", 2)
    text = GRADED.replace("grounding-relevance", "report-coverage")
    text = text.replace("relevant", "answerable").replace("passage.text", "report.text")
    Judge.objects.filter(pk=filed.pk).update(file=text[: text.index("[[fixture]]")])
    filed.refresh_from_db()
    planning.plan(campaign, plain)
    assert ([row.shown for row in rows(plain)], loaded) == ([[]] * 8, [])
    planning.plan(campaign, filed)
    places = list(campaign.items.order_by("position").values_list("position", flat=True))
    assert loaded == [places[:3], places[3:]], "each request is made of its texts"
    assert [row.shown for row in rows(filed)][:4] == [["0"], ["1"], ["0"], ["1"]]


def test_in_a_campaign_with_random_order_each_judge_has_its_own_order(
    tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "AT_ONCE", 3)
    study, asked = campaign_of(tmp_path, order="random"), {}
    stored = [list(item.units.order_by("position").values_list("name", flat=True))
              for item in study.items.order_by("position")]  # fmt: skip
    for name in ("a", "b", "c"):
        who = judge(name)
        planning.plan(study, who)
        asked[name] = [row.asked for row in rows(who)]
        assert [sorted(names) for names in asked[name]] == [sorted(names) for names in stored]
        assert asked[name] == [
            order_for(item, who.rater)[0] for item in study.items.order_by("position")
        ]
    assert len({str(each) for each in (*asked.values(), stored)}) > 2


def test_a_failed_insert_undoes_its_whole_chunk(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "CHUNK_INSERTED", 2)
    write, said = planning._insert.rows, list[int]()

    def second_fails(some: list[Any]) -> Any:
        said.append(len(some))
        if len(said) == 2:
            raise RuntimeError("the disk is full")
        return write(some)

    monkeypatch.setattr(planning, "_insert", SimpleNamespace(rows=second_fails))
    who = judge("whole")
    with pytest.raises(RuntimeError):
        planning.plan(campaign, who)
    assert (said, rows(who)) == ([2, 2], [])


def test_a_judge_gives_one_sample_by_default(campaign: Campaign) -> None:
    assert planning.sample_count(judge("one")) == 1
    assert planning.sample_count(sampler("three", 3)) == 3


class TestTrials:
    @pytest.fixture
    def base(self, campaign: Campaign) -> Judge:
        who = sampler("base", 2)
        planning.plan(campaign, who)
        Assignment.objects.filter(rater=who.rater).update(status="done")
        return who

    def keys(self, campaign: Campaign, base: Judge, draw: TrialSample, seed: int = 3) -> list[str]:
        return [row.item.key for row in sample_assignments(campaign, base, draw, seed)]

    def test_a_trial_repeats_only_answered_first_samples(
        self, campaign: Campaign, base: Judge
    ) -> None:
        found = sample_assignments(campaign, base, TrialSample(items=100), 3)
        assert [row.item.key for row in found] == ranked(campaign, 3)
        assert {row.replicate for row in found} == {0}
        Assignment.objects.filter(pk=found[0].pk).update(status="failed")
        Assignment.objects.filter(pk=found[1].pk).update(status="open")
        assert self.keys(campaign, base, TrialSample(items=100)) == ranked(campaign, 3)[2:]

    @pytest.mark.every_case
    @pytest.mark.parametrize("items", [0, 1, 3, 4])
    def test_a_trial_samples_the_given_number_of_items(
        self, campaign: Campaign, base: Judge, items: int
    ) -> None:
        assert self.keys(campaign, base, TrialSample(items)) == ranked(campaign, 3)[:items]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("least", "share", "items"),
        [(3, 0.0, 1), (4, 0.0, 2), (6, 0.0, 2), (7, 0.0, 3), (1, 0.25, 1), (1, 0.5, 2),
         (1, 0.51, 3), (7, 0.25, 3), (99, 0.0, 4)],
    )  # fmt: skip
    def test_a_trial_without_a_number_samples_items_up_to_its_share_and_minimum(
        self, campaign: Campaign, base: Judge, least: int, share: float, items: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """Each of the four items has three units."""
        monkeypatch.setattr(planning, "LEAST_UNITS", least)
        found = self.keys(campaign, base, TrialSample(share=share))
        assert found == ranked(campaign, 3)[:items]

    def test_sampled_assignments_of_an_item_stay_together_in_order(
        self, campaign: Campaign
    ) -> None:
        who = judge("single", granularity="unit")
        planning.plan(campaign, who)
        Assignment.objects.filter(rater=who.rater).update(status="done")
        found = sample_assignments(campaign, who, TrialSample(items=2), 3)
        assert [row.item.key for row in found] == [
            key for key in ranked(campaign, 3)[:2] for _ in range(3)
        ]
        pks = [row.pk for row in found]
        assert (pks[:3], pks[3:]) == (sorted(pks[:3]), sorted(pks[3:]))

    def test_the_default_share_of_a_trial_depends_on_its_kind(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for unconstrained, share in ((False, 0.05), (True, 0.02)):
            monkeypatch.setattr(
                planning, "is_unconstrained", lambda trial, is_so=unconstrained: is_so
            )
            trial: Any = SimpleNamespace()
            assert trial_sample_for(trial, None) == TrialSample(None, share)
            assert trial_sample_for(trial, 7) == TrialSample(7, share)
        assert TrialSample() == TrialSample(None, 0.05)
        assert planning.LEAST_UNITS == 200

    def test_planning_a_trial_refuses_a_judge_that_is_not_one(
        self, campaign: Campaign, base: Judge
    ) -> None:
        with pytest.raises(ValueError, match="is not a trial"):
            planning.plan_trial(campaign, base, TrialSample())

    def test_a_trial_is_planned_only_for_its_sample(self, campaign: Campaign, base: Judge) -> None:
        trial = judge("trial")
        Judge.objects.filter(pk=trial.pk).update(base=base, variation={"kind": "again", "seed": 3})
        trial.refresh_from_db()
        planning.plan(campaign, trial)
        assert list(planning.missing_assignments(campaign, trial)) == []
        assert planning.plan_trial(campaign, trial, TrialSample(items=2)) == 6
        assert [row.item.key for row in rows(trial)] == ranked(campaign, 3)[:2]
        assert {row.status for row in rows(trial)} == {"open"}
        assert planning.plan_trial(campaign, trial, TrialSample(items=3)) == 9
        assert planning.plan_trial(campaign, trial, TrialSample(items=1)) == 9
