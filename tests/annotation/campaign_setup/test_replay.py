"""A replay reports everything that is stored but does not follow from the seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaign_setup.replay import differences, saw_sample
from annotation.campaigns.design import Design
from annotation.campaigns.sampling import query_rows, sample_lines, summary, unit_rows
from annotation.exposure import ledger
from annotation.models import Campaign, Item, QuerySampling, UnitSampling
from tests.annotation.follow_cast import answer, coverage, rater, rating
from tests.cast import Line, campaign_of, load

NAMED = "query 'q1'"
OTHERWISE = "is stored differently from its replay"
UNLIKELY = f"{NAMED} is stored with another probability than the replay gives"


@pytest.fixture
def campaign(db: None, tmp_path: Path) -> Campaign:
    """Four queries with one report each, of which people are asked two; one item has two slots."""
    lines: list[Line] = [
        {
            "id": f"q{n}",
            "text": "Why?",
            "questions": [{"id": f"q{n}:a", "text": "When?"}, {"id": f"q{n}:b", "text": "Who?"}],
            "reports": [{"id": f"r{n}", "text": "One."}],
        }
        for n in range(4)
    ]
    load(tmp_path, lines, "few")
    shares = ("--human-share", "0.5", "--overlap", "0.5", "--raters-per-item", "2")
    return campaign_of(
        "report-coverage", *shares, "--option", "development=0.5", "--option", "seed=5",
        batch="few",
    )  # fmt: skip


def found_after(campaign: Campaign, change: Callable[[], object]) -> list[str]:
    with transaction.atomic():
        change()
        found = list(differences(campaign))
        transaction.set_rollback(True)
    assert list(differences(campaign)) == []
    return found


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"probability": 0.5 + 1e-10}, []),
        ({"probability": 0.5 + 2.0**-30}, []),
        ({"probability": 0.5 + 2e-9}, [UNLIKELY]),
        ({"probability": 0.5 - 2e-9}, [UNLIKELY]),
        ({"role_probability": 0.5 + 1e-10}, []),
        ({"role_probability": 0.5 - 2.0**-30}, []),
        ({"role_probability": 0.5 + 2e-9}, [UNLIKELY]),
        ({"role_probability": 0.5 - 2e-9}, [UNLIKELY]),
        ({"role_probability": 0.1, "seed": 6}, ["stored as"]),
        ({"kind": "all"}, ["stored as"]),
        ({"seed": 6}, ["stored as"]),
        ({"role": "audit"}, ["stored as"]),
    ],
)
def test_a_querys_stored_sample_is_compared_with_the_replay(
    campaign: Campaign, changes: dict[str, Any], expected: list[str]
) -> None:
    row = campaign.query_samplings.get(query__key="q1")
    found = found_after(campaign, lambda: QuerySampling.objects.filter(pk=row.pk).update(**changes))
    if expected == ["stored as"]:
        was = "sampled" if row.drawn else "left out"
        there = f"{was} for {changes.get('role', row.role)}"
        expected = [f"{NAMED} is stored as {there}, and replayed as {was} for {row.role}"]
    assert found == expected


@pytest.mark.every_case
@pytest.mark.parametrize("drawn", [True, False])
def test_a_query_in_another_split_is_reported_with_both(campaign: Campaign, drawn: bool) -> None:
    row = campaign.query_samplings.filter(drawn=drawn).select_related("query")[0]
    words = ["sampled", "left out"] if drawn else ["left out", "sampled"]
    found = found_after(
        campaign, lambda: QuerySampling.objects.filter(pk=row.pk).update(drawn=not drawn)
    )
    assert found == [
        f"query {row.query.key!r} is stored as {words[1]} for {row.role}, and replayed as "
        f"{words[0]} for {row.role}"
    ]


def test_missing_and_extra_sampled_queries_are_reported(campaign: Campaign, tmp_path: Path) -> None:
    def change() -> None:
        lines: list[Line] = [{"id": "x", "text": "Why?", "questions": [], "reports": []}]
        load(tmp_path, lines, "other")
        other = type(campaign.batch).objects.get(name="other").queries.get()
        campaign.query_samplings.filter(query__key="q1").update(query=other)

    assert found_after(campaign, change) == [
        f"{NAMED} has no stored sample", "query 'x' is sampled, but not in the batch",
    ]  # fmt: skip


def test_an_items_slots_follow_from_the_samples(campaign: Campaign) -> None:
    rows = dict(campaign.items.values_list("key", "quota"))
    assert sorted(rows.values()) == [0, 0, 1, 2]
    assert found_after(campaign, lambda: campaign.items.update(quota=9)) == [
        f"item 'r{n}' has 9 slots, and the replay gives {rows[f'r{n}']}" for n in range(4)
    ]
    for key, places in rows.items():
        item = campaign.items.filter(key=key)
        found = found_after(campaign, partial(item.update, quota=places + 1))
        assert found == [f"item {key!r} has {places + 1} slots, and the replay gives {places}"]
        gold = found_after(campaign, partial(item.update, quota=9, use=Item.Use.GOLD))
        assert gold == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kind": "simple"}, True),
        ({"wave": 2}, True),
        ({"seed": 6}, True),
        ({"drawn": False}, True),
        ({"drawn": None}, True),
        ({"probability": 1 - 1e-10}, False),
        ({"probability": 1 - 2.0**-30}, False),
        ({"probability": 1 - 2e-9}, True),
        ({"probability": 1 + 2e-9}, True),
        ({"probability": None}, True),
        ({"stratum": "yes"}, False),
    ],
)
def test_a_units_stored_sample_is_compared_with_the_replay(
    campaign: Campaign, changes: dict[str, Any], expected: bool
) -> None:
    row = UnitSampling.objects.get(item__key="r1", key="q1:b")
    found = found_after(campaign, lambda: UnitSampling.objects.filter(pk=row.pk).update(**changes))
    assert found == [f"unit 'q1:b' of item 'r1' {OTHERWISE}"] * expected


def test_missing_and_extra_units_and_items_are_reported(campaign: Campaign) -> None:
    units = UnitSampling.objects.filter(item__key="r1")
    other = "item 'r1' has other units in its sample than the batch gives"
    table: list[tuple[Callable[[], object], list[str]]] = [
        (units.delete, ["item 'r1' has no stored sample of units"]),
        (units.filter(key="q1:a").delete, [other]),
        (lambda: units.filter(key="q1:a").update(key="z"), [other]),
        (lambda: units.update(unit_kind="other"), [other]),
        (lambda: units.filter(key="q1:a").update(position=9), [other]),
        (campaign.items.filter(key="r1").delete,
         ["item 'r1' is in the batch, but not in the campaign"]),
    ]  # fmt: skip
    for change, expected in table:
        assert found_after(campaign, change) == expected


def test_chosen_items_have_probability_one(campaign: Campaign) -> None:
    design = Design(seed=5, raters_per_item=2, chosen=("r3", "r1"))
    made = create_campaign("chosen", "report-coverage", campaign.batch, design).campaign
    stored = made.query_samplings.order_by("query__position")
    assert list(stored.values_list("kind", "probability", "drawn")) == [
        ("chosen", chance, bool(chance)) for chance in (0.0, 1.0, 0.0, 1.0)
    ]
    for key, expected in (
        ("q0", "query 'q0' is stored as sampled for evaluation, and replayed as left out for "),
        ("q1", "query 'q1' is stored as left out for evaluation, and replayed as sampled for "),
    ):
        row = stored.filter(query__key=key)
        (found,) = found_after(made, partial(row.update, drawn=key == "q0"))
        assert found == f"{expected}evaluation"
    assert found_after(made, partial(made.items.filter(key="r1").update, quota=1)) == [
        "item 'r1' has 1 slots, and the replay gives 2"
    ]


def test_sampling_by_turns_is_replayed_from_the_stored_strata(batch: Path) -> None:
    first, second = coverage(), rating()
    units = UnitSampling.objects.filter(item__campaign=second, item__key="q/1/p")
    assert list(differences(second)) == []
    found = found_after(second, lambda: units.filter(key="🌉").update(probability=0.5))
    assert found == []
    for item in ("r", "r#1"):
        answer(first, item, "ann", {"a/b#1": "yes"})
    assert next_assignment(second, rater("ann"))
    rows = {row.key: row for row in units}
    changes: list[tuple[str, dict[str, Any]]] = [
        ("a/b#1", {"drawn": False}), ("a/b#1", {"probability": 0.5}), ("a/b#1", {"wave": 1}),
    ]  # fmt: skip
    for key, changed in changes:
        found = found_after(second, partial(units.filter(pk=rows[key].pk).update, **changed))
        assert found == [f"unit {key!r} of item 'q/1/p' {OTHERWISE}"], changed
    assert found_after(second, lambda: units.update(stratum="")) != []


def test_sample_lines_have_the_stored_values_in_order(campaign: Campaign) -> None:
    lines = list(sample_lines(campaign))
    queries = list(query_rows(campaign))
    assert [row.query.position for row in queries] == sorted(
        campaign.batch.queries.values_list("position", flat=True)
    )
    row = queries[1]
    assert lines[1] == {
        "of": "query", "query": "q1", "item": None, "unit": None, "unit_kind": None,
        "kind": "simple", "seed": 5, "wave": 1, "stratum": None, "probability": 0.5,
        "drawn": row.drawn, "role": row.role, "role_probability": 0.5, "use": None,
    }  # fmt: skip
    UnitSampling.objects.filter(item__key="r1", key="q1:b").update(stratum="no")
    Item.objects.filter(campaign=campaign, key="r1").update(use=Item.Use.GOLD)
    units = list(sample_lines(campaign))[4:]
    assert (
        [(line["item"], line["unit"]) for line in units]
        == [(row.item.key, row.key) for row in unit_rows(campaign)]
        == [(f"r{n}", f"q{n}:{unit}") for n in range(4) for unit in "ab"]
    )
    found = next(line for line in units if line["unit"] == "q1:b")
    assert found == {
        "of": "unit", "query": "q1", "item": "r1", "unit": "q1:b", "unit_kind": "question",
        "kind": "all", "seed": 5, "wave": 1, "stratum": "no", "probability": 1.0,
        "drawn": True, "role": row.role, "role_probability": None, "use": "gold",
    }  # fmt: skip
    assert {line["stratum"] for line in units if line is not found} == {None}


def test_a_summary_counts_queries_units_and_items(campaign: Campaign) -> None:
    UnitSampling.objects.filter(item__key="r1", key="q1:b").update(drawn=False)
    UnitSampling.objects.filter(item__key="r2").update(drawn=None)
    Item.objects.filter(campaign=campaign, key="r1").update(use=Item.Use.GOLD)
    Item.objects.filter(campaign=campaign, key__in=("r2", "r3")).update(use=Item.Use.PRACTICE)
    each = {"queries": 2, "asked": 1}
    assert summary(campaign) == {
        "queries": 4, "queries_drawn": 2, "units": 8, "units_drawn": 5, "units_pending": 2,
        "roles": {"development": each, "evaluation": each}, "gold": 1, "practice": 2,
    }  # fmt: skip


def test_each_campaign_has_its_own_sample(campaign: Campaign) -> None:
    lines, counts = list(sample_lines(campaign)), summary(campaign)
    other = campaign_of(
        "report-coverage", "--option", "seed=6", "--option", "audit=0.5", batch="few", name="other"
    )
    there = list(sample_lines(other))
    assert (list(sample_lines(campaign)), summary(campaign)) == (lines, counts)
    assert list(differences(campaign)) == list(differences(other)) == []
    assert len(there) == len(lines) == 12
    assert {line["seed"] for line in there} == {6}
    for line in there:
        assert line["role"] in ("audit", "evaluation")
    assert set(summary(other)["roles"]) == {"audit", "evaluation"}
    assert query_rows(other).count() == query_rows(campaign).count() == 4
    assert unit_rows(other).count() == unit_rows(campaign).count() == 8


def test_reading_strata_records_a_look_at_answers(batch: Path) -> None:
    first, second = coverage(), rating()
    with ledger.collect_looks() as before:
        saw_sample(second)
    for item in ("r", "r#1"):
        answer(first, item, "ann", {"a/b#1": "yes"})
    assert next_assignment(second, rater("ann"))
    with ledger.collect_looks() as after:
        saw_sample(second)
        saw_sample(first)
    saw_sample(second)
    assert before == []
    assert [(look["kind"], look["campaign_id"]) for look in after] == [("sample", first.pk)]
