"""A plan is committed before its labels, drawn in its own order, and proves what its labels say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.db import DatabaseError, transaction

from analysis.campaigns.people_sample import people_sample
from analysis.trust.looks import look_at
from analysis.trust.outlook import outlook_of
from annotation.assignments.queue import may_take_items, next_assignment
from annotation.campaign_setup.replay import differences
from annotation.models import Campaign, Item, QuerySampling, Rater, TrustPlan
from tandem.trust.canonical import digest_of
from tests.analysis.trust.cast import JUDGE, PEOPLE, QUERIES, VARIABLE, all_answer, answer, world
from tests.cast import run

pytestmark = pytest.mark.django_db

PLAN = ("plan", "c", "--variable", VARIABLE, "--judge", JUDGE)


def committed(folder: Path, *options: str) -> TrustPlan:
    world(folder)
    run("trust", *PLAN, *options)
    return TrustPlan.objects.get()


def look() -> dict[str, object]:
    return json.loads(run("trust", "look", "c", "--format", "json"))


def test_a_plan_is_committed_with_all_that_is_fixed_before_the_first_label(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    document = plan.document
    assert plan.digest == digest_of(document)
    assert len(document["population"]["queries"]) == QUERIES
    assert [cut["share"] for cut in document["cuts"]] == [pytest.approx(5 / 6), 1.0]
    assert document["level"] == pytest.approx(0.04)
    assert document["batch"] == plan.campaign.batch.digest
    assert not plan.campaign.items.exclude(quota=0).exists()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        TrustPlan.objects.update(digest="other")


def test_people_are_asked_about_drawn_queries_in_the_order_of_the_draw(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    rater = Rater.objects.create(name="ada")
    assert may_take_items(plan.campaign, rater)
    assert next_assignment(plan.campaign, rater) is None
    drawn = json.loads(run("trust", "draw", "c", "--queries", "5", "--format", "json"))["drawn"]
    assert len(drawn) == 5
    campaign = Campaign.objects.get()
    taken = []
    for _ in range(5):
        assignment = next_assignment(campaign, rater)
        assert assignment is not None
        taken.append(assignment.item.query.key)
        assignment.status = "done"
        assignment.save()
    assert taken == drawn
    assert next_assignment(campaign, rater) is None
    assert not list(differences(campaign))


def test_labels_certify_the_first_share_and_then_the_next(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    run("trust", "draw", "c", "--queries", "60")
    all_answer(plan, irrelevant={5}, queries=45)
    found = look()
    assert found["verdict"] == "certified"
    assert found["certified"] == 1
    assert found["share"] == pytest.approx(5 / 6)
    assert found["cuts"][1]["certified_after"] is None  # type: ignore[index]
    words = run("trust", "look", "c")
    assert "jude may decide 83% of the cells on relevant: of these at most 10% are wrong" in words


def test_the_same_labels_give_the_same_state_in_one_look_or_in_many(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    run("trust", "draw", "c", "--queries", "60")
    for labelled in range(5, 45, 8):
        all_answer(plan, {5}, labelled)
        at_each = look()
    plan.looks.all()
    once = look_at(plan)
    assert at_each["cuts"][0]["evidence"] == pytest.approx(list(once.state.evidence(0)))  # type: ignore[index]
    assert once.plan.looks.count() == 5


def test_a_query_that_waits_blocks_those_behind_it_until_it_is_late(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    run("trust", "draw", "c", "--queries", "6")
    first = plan.draws.get(place=1)
    all_answer(plan)
    assert look()["labelled"] == 6
    run("trust", "draw", "c", "--queries", "2")
    late = Item.objects.get(query=plan.draws.get(place=8).query)
    for name in PEOPLE:
        answer(late, name)
    assert look()["labelled"] == 6
    assert look()["waiting"] == 2
    assert first.place == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--risk", "0.9"), "--risk must be a number from 0.001 to 0.5"),
        (("--shares", "2"), "Shares '2'"),
        (("--people", "2"), "Majority needs at least 3 people"),
    ],
)
def test_a_plan_that_cannot_hold_is_refused(
    tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    world(tmp_path, queries=20)
    with pytest.raises(CommandError, match=reason):
        run("trust", *PLAN, *options)


def test_unknown_names_are_refused_with_what_was_meant(tmp_path: Path) -> None:
    world(tmp_path, queries=20)
    with pytest.raises(CommandError, match=r"No judge 'judy'.*did you mean 'jude'"):
        run("trust", "plan", "c", "--variable", VARIABLE, "--judge", "judy")
    with pytest.raises(CommandError, match=r"No variable 'relevance'.*did you mean 'relevant'"):
        run("trust", "plan", "c", "--variable", "relevance", "--judge", JUDGE)


def test_queries_that_were_labelled_or_are_for_development_are_left_out(tmp_path: Path) -> None:
    campaign = world(tmp_path)
    answer(campaign.items.get(query__key="q0"), "ada")
    sampling = QuerySampling.objects.filter(campaign=campaign, query__key="q1")
    sampling.update(role="development")
    run("trust", *PLAN)
    population = TrustPlan.objects.get().document["population"]
    assert len(population["queries"]) == QUERIES - 2
    assert sorted(population["excluded"].values()) == [1, 1]


def test_one_plan_runs_at_a_time_and_a_later_one_has_a_smaller_level(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    with pytest.raises(CommandError, match="is running"):
        run("trust", *PLAN)
    run("trust", "draw", "c", "--queries", "3")
    run("trust", "end", "c", "--reason", "the judge changes")
    assert set(plan.campaign.items.values_list("quota", flat=True)) == {3}
    all_answer(plan)
    run("trust", *PLAN)
    second = TrustPlan.objects.get(number=2)
    assert second.document["level"] == pytest.approx(0.2 * 0.05 / 2)
    assert not list(differences(second.campaign))
    run("trust", "end", "c")
    assert not list(differences(Campaign.objects.get()))


def test_labels_of_a_plan_that_ended_are_no_even_sample(tmp_path: Path) -> None:
    world(tmp_path, "--human-share", "0.2")
    campaign = Campaign.objects.get()
    before = people_sample(campaign)
    assert before is not None
    run("trust", *PLAN)
    run("trust", "draw", "c", "--queries", "30")
    all_answer(TrustPlan.objects.get())
    run("trust", "end", "c")
    after = people_sample(Campaign.objects.get())
    assert after is not None
    assert after.drawn == before.drawn


def test_a_plan_expects_the_judges_errors_on_development_queries(tmp_path: Path) -> None:
    campaign = world(tmp_path)
    keys = [f"q{n}" for n in range(12)]
    QuerySampling.objects.filter(campaign=campaign, query__key__in=keys).update(role="development")
    for item in campaign.items.filter(query__key__in=keys):
        answer(item, "ada", {0, 5})
    run("trust", *PLAN)
    ((words, points),) = outlook_of(TrustPlan.objects.get()).curves.items()
    assert words == "the judge's errors on 12 development queries"
    # One in five of the surest cells is wrong there, and the plan allows one in ten.
    assert max(point.share for point in points) < 0.1
