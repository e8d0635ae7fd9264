"""A comparison of systems is committed, drawn evenly, and decided by people at any look."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from analysis.campaigns.cache import computed_report
from analysis.trust.comparisons import look_at_comparison
from annotation.models import Campaign, Item, TrustDraw, TrustLook, TrustPlan, User
from annotation.trust.roles import certify_queries
from audit.models import Event
from tandem.labels.selection import ReportOptions
from tandem.trust.better import Difference, standings
from tandem.trust.canonical import digest_of
from tandem.trust.draws import even_order
from tests.analysis.trust.comparison_cast import QUERIES, SYSTEMS, all_answer, answer, world
from tests.cast import run

pytestmark = pytest.mark.django_db

COMPARE = (*SYSTEMS, "--campaign", "c")


def committed(folder: Path, *options: str, lone: tuple[int, ...] = ()) -> TrustPlan:
    world(folder, *lone)
    run("compare_systems", *COMPARE, "--commit", *options)
    return TrustPlan.objects.get()


def look() -> Any:
    return json.loads(run("trust", "look", "c", "--format", "json"))


def draw(queries: int) -> list[str]:
    text = run("trust", "draw", "c", "--queries", str(queries), "--format", "json")
    return list(json.loads(text)["drawn"])


def test_no_two_comparisons_have_the_same_number(tmp_path: Path) -> None:
    """The levels of a campaign's plans add up only if each has a number of its own."""
    plan = committed(tmp_path)
    again = TrustPlan(
        campaign=plan.campaign, kind=plan.kind, variable=plan.variable, number=plan.number,
        document=plan.document, digest=plan.digest,
    )  # fmt: skip
    with pytest.raises(IntegrityError), transaction.atomic():
        again.save()


def test_all_is_fixed_before_the_first_label(tmp_path: Path) -> None:
    plan = committed(tmp_path, "--registered", "20", lone=(3, 5))
    document = plan.document
    assert plan.digest == digest_of(document)
    assert document["systems"] == list(SYSTEMS)
    assert document["score"] == {"name": "coverage", "meaning": "a share from 0 to 1"}
    assert document["order"] == "even"
    assert document["level"] == pytest.approx(0.04)
    # Queries that only one of the systems answered say nothing on which is better.
    assert len(document["population"]["queries"]) == QUERIES - 2
    assert sorted(document["population"]["excluded"].values()) == [2]
    assert not plan.campaign.items.filter(query__key="q1").exclude(quota=0).exists()
    event = Event.objects.get(event="trust.planned")
    assert event.facts["digest"] == plan.digest


def test_queries_are_drawn_evenly_in_the_order_of_the_seed(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    keys = plan.document["population"]["queries"]
    order = [keys[n] for n in even_order(len(keys), plan.document["seed"])]
    assert draw(6) + draw(4) == order[:10]
    drawn = plan.campaign.items.filter(query__key__in=order[:10])
    assert set(drawn.values_list("quota", flat=True)) == {2}
    assert len(certify_queries(plan.campaign)) == 10


def test_it_is_decided_and_then_stops_by_itself(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    draw(40)
    all_answer(plan, queries=15)
    before = look()
    assert before["verdict"] == "not yet"
    (pair,) = before["pairs"]
    assert pair["state"] == "not yet"
    assert 0 < pair["more"]["low"] <= pair["more"]["value"] <= pair["more"]["high"] <= 25
    all_answer(plan, queries=40)
    found = look()
    (pair,) = found["pairs"]
    assert (found["verdict"], pair["state"], pair["better"]) == ("decided", "decided", "new")
    assert 15 < pair["after"] < 40
    assert len(pair["evidence"]["a"]) == len(pair["evidence"]["b"]) == 40
    assert draw(1) == []
    words = run("trust", "look", "c")
    assert f"decided: new is better, after {pair['after']} queries" in words
    assert TrustLook.objects.filter(plan=plan).count() == 3


def test_the_same_labels_give_the_same_in_one_look_or_many(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    draw(30)
    for labelled in range(5, 31, 5):
        all_answer(plan, queries=labelled)
        last = look()
    once = look_at_comparison(TrustPlan.objects.get())
    assert last["pairs"] == json.loads(json.dumps(once["pairs"]))
    assert last["verdict"] != "stale"


def test_the_scores_of_single_queries_are_recorded_but_not_shown(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    draw(12)
    all_answer(plan)
    assert "seen" not in look()
    recorded = TrustLook.objects.get().state["seen"]
    first = plan.draws.get(place=1).query.key
    number = int(first[1:])
    assert recorded[0] == [first, False, (1 + number % 3) / 4, (number % 2) / 4]


def test_the_evidence_is_that_of_people_s_paired_differences(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    draw(20)
    all_answer(plan)
    seen = look_at_comparison(plan)["seen"]
    values = np.array([old - new for *_, new, old in seen])
    (by_hand,) = standings([Difference("new", "old", values, QUERIES)], 0.04)
    (pair,) = look()["pairs"]
    np.testing.assert_allclose(pair["evidence"]["a"], by_hand.difference.strongest["a"], atol=1e-8)


def test_a_query_without_answers_blocks_those_behind_it_until_it_is_late(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    draw(12)
    second = plan.draws.get(place=2)
    for each in plan.draws.exclude(place=2):
        for item in Item.objects.filter(query=each.query):
            for name in ("ada", "bram"):
                answer(item, name)
    found = look()
    assert (found["labelled"], found["waiting"]) == (1, 11)
    assert second.place == 2


def test_a_late_query_counts_against_both_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = committed(tmp_path, "--late-days", "3")
    draw(12)
    all_answer(plan, queries=11)
    early = look()
    now = timezone.now() + timedelta(days=4)
    monkeypatch.setattr(timezone, "now", lambda: now)
    late = look()
    assert (early["labelled"], late["labelled"]) == (11, 12)
    found = look_at_comparison(plan)["seen"]
    assert [row[1] for row in found] == [False] * 11 + [True]
    mean, before = late["pairs"][0]["mean_difference"], early["pairs"][0]["mean_difference"]
    assert mean == pytest.approx(before)


def test_a_revision_after_a_look_does_not_count(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    draw(10)
    all_answer(plan)
    before = look()
    item = Item.objects.filter(query=plan.draws.get(place=1).query).first()
    assert item is not None
    answer(item, "ada", lambda number, system: 4)
    assert look()["pairs"] == before["pairs"]


def test_a_changed_batch_makes_it_stale(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    draw(10)
    all_answer(plan)
    plan.campaign.batch.digest = "other"
    plan.campaign.batch.save()
    found = look()
    assert found["verdict"] == "stale"
    assert "the batch has changed" in found["stale"][0]
    assert draw(1) == []


def test_a_later_comparison_has_a_smaller_level(tmp_path: Path) -> None:
    committed(tmp_path)
    draw(3)
    with pytest.raises(CommandError, match="is running"):
        run("compare_systems", *COMPARE, "--commit")
    run("trust", "end", "c")
    run("compare_systems", *COMPARE, "--commit")
    assert TrustPlan.objects.get(number=2).document["level"] == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("new", "--campaign", "c", "--commit"), "name two systems"),
        (("new", "new", "--campaign", "c", "--commit"), "each once"),
        (("new", "ald", "--campaign", "c", "--commit"), "o system 'ald'"),
        ((*COMPARE, "--commit", "--score", "covrage"), "did you mean 'coverage'"),
        ((*COMPARE, "--commit", "--registered", "400"), "400 queries are registered"),
        ((*COMPARE, "--commit", "--delta", "2"), "--delta must be"),
        ((*SYSTEMS, "--labels", "f.jsonl", "--commit"), "--commit needs --campaign"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    world(tmp_path)
    with pytest.raises(CommandError, match=f"(?i){reason}"):
        run("compare_systems", *options)


def test_labels_without_a_plan_are_exploratory_and_never_decide(tmp_path: Path) -> None:
    campaign = world(tmp_path, queries=25)
    for item in campaign.items.all():
        for name in ("ada", "bram"):
            answer(item, name)
    found = json.loads(run("compare_systems", *COMPARE, "--format", "json"))
    (pair,) = found["pairs"]
    assert (found["drawn"], pair["exploratory"]) == ("all", True)
    assert (pair["state"], pair["better"], pair["queries"]) == ("exploratory", "new", None)
    text = run("compare_systems", *COMPARE, "--drawn", "even", "--among", "100")
    assert "exploratory: evidence for new after" in text
    assert "decided" not in text
    unknown = run("compare_systems", *COMPARE, "--drawn", "unknown")
    assert "not known to be drawn at random" in unknown
    assert not TrustDraw.objects.exists()


def test_the_report_shows_what_the_plan_decided_in_every_format(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    draw(40)
    all_answer(plan)
    report = computed_report(plan.campaign, ReportOptions(resamples=50)).report
    assert not report["scores"]
    after = look()["pairs"][0]["after"]
    run("trust", "end", "c")
    assert f"decided: new is better, after {after} queries" in run("compare_systems", *COMPARE)
    for form in ("md", "html", "latex"):
        text = run("report", "--campaign", "c", "--resamples", "50", "--format", form)
        assert f"decided: new is better, after {after} queries" in text
    report = computed_report(Campaign.objects.get(), ReportOptions(resamples=50)).report
    (pair,) = report["scores"]["coverage"]["decisions"]["pairs"]
    assert (pair["a"], pair["b"], pair["state"]) == ("new", "old", "decided")
    assert (pair["plan"], pair["exploratory"]) == (plan.digest, False)


def test_the_results_page_has_the_systems_with_what_is_decided(
    tmp_path: Path, client: Client
) -> None:
    plan = committed(tmp_path)
    draw(40)
    all_answer(plan)
    after = look()["pairs"][0]["after"]
    run("trust", "end", "c")
    client.force_login(User.objects.create(username="rea", role="admin"))
    page = client.get(f"/campaigns/{plan.campaign.pk}/results/").content.decode()
    assert f"decided: new is better, after {after} queries" in page


def test_the_page_draws_looks_and_shows_the_evidence_of_both_directions(
    tmp_path: Path, client: Client
) -> None:
    plan = committed(tmp_path)
    client.force_login(User.objects.create(username="rea", role="admin"))
    path = f"/campaigns/{plan.campaign.pk}/trust/"
    page = client.get(path).content.decode()
    assert "<h1>Which system is better</h1>" in page
    assert page.count("<figcaption>") == 2
    assert client.post(path, {"order": "draw", "queries": 40}).status_code == 302
    all_answer(plan)
    page = client.get(path).content.decode()
    assert page.count("<polyline") == 2
    assert "new is better than old: decided after" in page
    assert "decided: new is better, after" in page
    assert client.post(path, {"order": "look"}).status_code == 302
    assert TrustLook.objects.filter(plan=plan).count() == 1
