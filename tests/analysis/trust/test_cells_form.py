"""A plan may draw queries again and again, and read a few committed cells of each draw."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management.base import CommandError
from django.urls import reverse
from django.utils import timezone

from analysis.trust.cells import read_cells, variable_of
from analysis.trust.looks import STALE, look_at, record_look
from analysis.trust.outlook import outlook_of
from analysis.trust.plans import draw_cells as draw_more
from annotation.adjudication.decisions import decide, find_case
from annotation.answers.submission import Circumstances
from annotation.campaign_setup.replay import differences
from annotation.models import (
    Assignment,
    Campaign,
    Decision,
    Item,
    Label,
    Response,
    TrustCertificate,
    TrustDraw,
    TrustPlan,
    Unit,
    User,
)
from annotation.people.membership import add_member
from annotation.trust.roles import certify_queries
from tandem.trust import check_certificate
from tandem.trust.certificate import verify
from tandem.trust.draws import draw_cells
from tandem.trust.plan import plan_of
from tests.analysis.trust.conftest import SEED
from tests.analysis.trust.system_cast import (
    JUDGE,
    PEOPLE,
    QUERIES,
    VARIABLE,
    all_answer,
    answer,
    number_of,
    world,
)
from tests.cast import run
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db

PLAN = (
    "plan", "c", "--variable", VARIABLE, "--judge", JUDGE, "--form", "cells", "--k", "2",
    "--shares", ".7",
)  # fmt: skip


def committed(folder: Path, *options: str, drawn: int = 12, queries: int = QUERIES) -> TrustPlan:
    world(folder, queries=queries)
    run("trust", *PLAN, *options)
    if drawn:
        run("trust", "draw", "c", "--queries", drawn)
    return TrustPlan.objects.get()


def look() -> Any:
    return json.loads(run("trust", "look", "c", "--format", "json"))


def units_by_hand(plan: TrustPlan, number: int) -> tuple[int, list[int]]:
    """The query of a draw and its units, by primary key, from the seed and the judge's scores."""
    accepted = [row[0] for row in plan.document["accepted"]]
    query, positions = draw_cells(accepted, SEED, 0, number, 2)
    key = plan.document["population"]["queries"][query]
    units = [
        unit
        for unit in Unit.objects.filter(
            item__campaign=plan.campaign, item__query__key=key
        ).order_by("item__position", "position")
        if number_of(unit.key) != 3
    ]
    return units[0].item.query_id, [units[position].pk for position in positions]


def test_draws_are_those_of_the_seed_and_number_a_query_that_comes_again(tmp_path: Path) -> None:
    plan = committed(tmp_path, drawn=7)
    run("trust", "draw", "c", "--queries", "13")
    document, rows = plan.document, list(plan.draws.order_by("place"))
    assert (document["form"], document["k"], len(document["cuts"])) == ("cells", 2, 1)
    assert {tuple(row) for row in document["accepted"]} == {(6,)}
    found = [(row.query_id, row.units) for row in rows]
    assert found == [units_by_hand(plan, number) for number in range(1, 21)]
    turns: dict[int, int] = {}
    for row in rows:
        turns[row.query_id] = turns.get(row.query_id, 0) + 1
        assert row.turn == turns[row.query_id]
    assert max(turns.values()) > 1


def test_people_are_asked_about_items_with_drawn_cells_alone(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    items = plan.campaign.items
    drawn = {unit for row in plan.draws.all() for unit in row.units or ()}
    asked = set(Item.objects.filter(units__in=drawn).values_list("pk", flat=True))
    assert set(items.filter(quota=3).values_list("pk", flat=True)) == asked
    assert items.filter(quota=0).count() == 2 * QUERIES - len(asked)
    # Of some drawn query one report is not asked, and its labels are certifying all the same.
    queries = set(plan.draws.values_list("query", flat=True))
    assert items.filter(query__in=queries, quota=0).exists()
    campaign = Campaign.objects.get()
    assert certify_queries(campaign) == queries
    assert not list(differences(campaign))
    run("trust", "end", "c")
    assert set(items.values_list("quota", flat=True)) == {3}
    assert not list(differences(Campaign.objects.get()))


def test_a_look_reads_the_drawn_cells_and_no_others(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    all_answer(plan, unanswered={0, 3})
    found = look()
    assert (found["labelled"], found["waiting"]) == (12, 0)
    assert found["queries"] == plan.draws.values("query").distinct().count()
    state = look_at(plan).state
    wrong = [own.tolist() for own in state.labelled.values()]
    rows = Unit.objects.select_related("item__report").in_bulk()
    by_hand = [
        sum(
            number_of(rows[unit].key) == 0 and rows[unit].item.report.system == "old"  # type: ignore[union-attr]
            for unit in draw.units or ()
        )
        for draw in plan.draws.order_by("place")
    ]
    assert wrong == [[number] for number in by_hand]
    assert sum(by_hand) > 0


def test_the_same_labels_give_the_same_state_in_one_look_or_in_many(tmp_path: Path) -> None:
    plan = committed(tmp_path, "--by-system", drawn=4)
    for _ in range(4):
        all_answer(plan, unanswered={1})
        found = look()
        run("trust", "draw", "c", "--queries", "4")
    all_answer(plan, unanswered={1})
    first = look_at(plan).state
    assert len(first.labelled) == 20
    assert found["cuts"][0]["evidence"] == pytest.approx(first.evidence(0)[:16].tolist())
    assert plan.looks.count() == 4
    # A draw of items that were all asked before is labelled at once.
    run("trust", "draw", "c", "--queries", "200")
    seen = look_at(plan)
    open_items = Item.objects.filter(quota__gt=0).exclude(assignments__rater__kind="human")
    waits = {unit.pk for unit in Unit.objects.filter(item__in=open_items)}
    blocked = next(
        (n for n, row in enumerate(plan.draws.order_by("place")) if waits & set(row.units or ())),
        220,
    )
    assert len(seen.state.labelled) == blocked
    bounds = seen.bounds(0)
    assert bounds is not None
    assert bounds["new"] < bounds["old"]  # type: ignore[operator]


def test_a_certificate_is_checked_by_anybody_and_ends_the_draws(tmp_path: Path) -> None:
    plan = committed(tmp_path, "--by-system", "--risk", "0.3", drawn=40)
    all_answer(plan)
    found = look()
    assert found["verdict"] == "certified"
    assert found["share"] == pytest.approx(0.75)
    said = run("trust", "look", "c")
    assert "jude may decide 75% of the cells on answerable" in said
    assert "draws labelled of 40, from" in said
    assert f"{40 - found['labelled']} more draws do not count: everything was certified" in said
    assert "Nothing is left." in run("trust", "draw", "c")
    run("trust", "certificate", "c")
    row = TrustCertificate.objects.get()
    stated = row.document["predicate"]
    assert verify(row.document, row.digest).genuine
    assert check_certificate.differences(row.document) == []
    assert len(stated["draws"]) == found["labelled"] > stated["queries"]["labelled"]
    assert all(own["bound"] < 1 for own in stated["systems"].values())
    page = client_of(User.objects.create_user("rita", role=User.Role.RESEARCHER))
    address = reverse("trust-certificate", args=[plan.campaign.pk, row.digest])
    shown = page.get(address).content.decode()
    assert f"drawn {found['labelled']} times by size: of each draw 2 random cells count" in shown
    assert (
        f"certified after {found['labelled']} draws"
        in page.get(reverse("trust", args=[plan.campaign.pk])).content.decode()
    )


def test_a_draw_is_late_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = committed(tmp_path, "--risk", "0.5", drawn=3)
    later = timezone.now() + timedelta(days=15)
    monkeypatch.setattr("analysis.trust.labels.timezone.now", lambda: later)
    before = record_look(plan)
    assert [own.tolist() for own in before.state.labelled.values()] == [[2]] * 3
    # Answers come too late for these draws, and in time for the same items in later ones.
    for number in range(4, 30):
        query, units = units_by_hand(plan, number)
        turn = 1 + plan.draws.filter(query=query).count()
        TrustDraw.objects.create(
            plan=plan, place=number, cut=0, query_id=query, units=units, turn=turn, drawn_at=later
        )
        plan.campaign.items.filter(units__in=units).update(quota=3)
    all_answer(plan)
    Response.objects.filter(assignment__rater__kind="human").update(created_at=later)
    after = look_at(plan)
    assert not after.stale
    found = [own.tolist() for own in after.state.labelled.values()]
    assert found == [[2]] * 3 + [[0]] * (len(found) - 3)
    first = {unit for draw in plan.draws.filter(place__lte=3) for unit in draw.units or ()}
    items = set(Item.objects.filter(units__in=first).values_list("pk", flat=True))
    again = {
        unit
        for draw in plan.draws.filter(place__gt=3)[: len(found) - 3]
        for unit in draw.units or ()
    }
    assert items & set(Item.objects.filter(units__in=again).values_list("pk", flat=True))


def test_what_the_commitment_does_not_give_does_not_count(tmp_path: Path) -> None:
    plan = committed(tmp_path, drawn=3)
    query, units = units_by_hand(plan, 4)
    of_query = Unit.objects.filter(item__query=query, item__campaign=plan.campaign)
    others = of_query.exclude(pk__in=units).values_list("pk", flat=True)
    TrustDraw.objects.create(
        plan=plan, place=4, cut=0, query_id=query, units=list(others[:2]),
        turn=1 + plan.draws.filter(query=query).count(),
    )  # fmt: skip
    plan.campaign.items.filter(query=query).update(quota=3)
    all_answer(plan)
    assert len(look_at(plan).state.labelled) == 3


def test_other_verdicts_make_it_stale_and_end_its_draws(tmp_path: Path) -> None:
    plan = committed(tmp_path, drawn=3)
    all_answer(plan)
    assert len(record_look(plan).state.labelled) == 3
    judged = Label.objects.filter(response__assignment__rater=plan.judge, variable=VARIABLE)
    Label.objects.filter(pk=judged.earliest("pk").pk).update(value="no")
    assert look_at(plan).stale == (STALE["verdicts"],)
    assert "Nothing is left" in run("trust", "draw", "c")
    variable = variable_of(plan.campaign, VARIABLE)
    cells = read_cells(plan.campaign, variable, plan.judge, plan.document["population"]["queries"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="verdicts have changed since the commitment"):
        draw_more(plan, cells, 1)


def test_where_people_differ_a_draw_waits_for_the_adjudicator(tmp_path: Path) -> None:
    plan = committed(tmp_path, "--truth", "adjudicated", "--people", "2", drawn=1)
    unit = Unit.objects.get(pk=units_by_hand(plan, 1)[1][0])
    for item in plan.campaign.items.filter(quota__gt=0):
        answer(item, "ada", {number_of(unit.key)} if item == unit.item else ())
        answer(item, "bram")
    assert not look_at(plan).state.labelled
    dora = User.objects.create_user("dora")
    add_member(plan.campaign, dora, "adjudicator")
    case = find_case(dora, Campaign.objects.get(), unit.pk)
    assert case is not None
    said = {"answerable": "no", "evidence": []}
    payload = {"units": {unit.name: said}, "comment": "It is not."}
    decide(case, dora, payload, Circumstances(), "page")
    assert [own.tolist() for own in look_at(plan).state.labelled.values()] == [[1]]
    assert Decision.objects.count() == 1
    # A decision after the draw's days does not count: the draw was late.
    Response.objects.filter(decision__isnull=False).update(
        created_at=timezone.now() + timedelta(days=13, hours=23)
    )
    assert len(look_at(plan).state.labelled) == 1
    Response.objects.filter(decision__isnull=False).update(
        created_at=timezone.now() + timedelta(days=15)
    )
    assert not look_at(plan).state.labelled


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--shares", ".5,.7"), "test one share, and not 2 one after the other: say --shares 0.5"),
        (("--k", "0"), "--k must be a number from 1 to 100"),
        (("--form", "both"), "both"),
    ],
)
def test_a_plan_that_cannot_hold_is_refused(
    tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    world(tmp_path, queries=20)
    with pytest.raises(CommandError, match=reason):
        run("trust", *PLAN, *options)
    assert not TrustPlan.objects.exists()


def test_the_price_counts_the_units_that_people_are_really_asked(tmp_path: Path) -> None:
    plan = committed(tmp_path, drawn=0)
    outlook = outlook_of(plan)
    assert outlook.asked is not None
    first = outlook.without_error
    assert first is not None
    drawn = [units_by_hand(plan, number)[1] for number in range(1, first + 1)]
    units = {unit for each in drawn for unit in each}
    items = Item.objects.filter(units__in=units).distinct()
    at = first - 1
    of = outlook.asked
    assert (of.cells[at], of.items[at]) == (len(units), items.count())
    assert of.units[at] == Unit.objects.filter(item__in=items).count() == 4 * items.count()
    assert np.all(np.diff(of.units) >= 0)
    assert of.items[-1] <= 2 * QUERIES
    assert plan_of(plan.document).k == 2


def test_the_page_draws_cells(tmp_path: Path) -> None:
    campaign = world(tmp_path)
    page = client_of(User.objects.create_user("rita", role=User.Role.RESEARCHER))
    address = reverse("trust", args=[campaign.pk])
    order = {"order": "commit", "variable": VARIABLE, "judge": JUDGE, "form": "cells"}
    refused = page.post(address, order | {"shares": ".5,.7,.9"})
    assert refused.status_code == 422
    assert "Draws of cells test one share" in refused.content.decode()
    assert page.post(address, order | {"shares": ".7", "by_system": "on"}).status_code == 302
    shown = page.get(address).content.decode()
    assert "which are asked whole" in shown
    assert "certifies the share where it reaches the line, whenever you look" in shown
    assert "new and old have bounds of their own" in shown
    assert page.post(address, {"order": "draw", "queries": "5"}).status_code == 302
    for name in PEOPLE:
        for item in campaign.items.filter(quota__gt=0):
            answer(item, name)
    assert page.post(address, {"order": "look"}).status_code == 302
    assert "5 draws labelled of 5" in page.get(address).content.decode()
    assert Assignment.objects.filter(rater__name="ada").count() == (
        campaign.items.filter(quota__gt=0).count()
    )
