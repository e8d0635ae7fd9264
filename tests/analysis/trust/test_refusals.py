"""A look refuses labels that do not count, another order, and a commitment that has changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from analysis.trust.looks import STALE, look_at, record_look
from annotation.adjudication.decisions import decide, find_case
from annotation.answers.submission import Circumstances, submit
from annotation.models import (
    Assignment,
    Campaign,
    CarriedAnswer,
    Exclusion,
    Item,
    Label,
    Rater,
    Response,
    TrustDraw,
    TrustPlan,
    User,
)
from annotation.people.membership import add_member
from judging.models import Judge, JudgeRun
from tests.analysis.trust.cast import JUDGE, PEOPLE, VARIABLE, all_answer, answer, world
from tests.cast import run

pytestmark = pytest.mark.django_db

QUERIES = 20
ADA = {"assignment__rater__name": "ada"}


def committed(folder: Path, *options: str, drawn: int = 4) -> TrustPlan:
    world(folder, queries=QUERIES)
    run("trust", "plan", "c", "--variable", VARIABLE, "--judge", JUDGE, *options)
    run("trust", "draw", "c", "--queries", drawn)
    return TrustPlan.objects.get()


def first_item(plan: TrustPlan) -> Item:
    return Item.objects.get(campaign=plan.campaign, query=plan.draws.get(place=1).query)


def ada() -> Response:
    return Response.objects.get(**ADA)


def carry() -> None:
    CarriedAnswer.objects.create(response=ada(), campaign="before")


def move(days: int) -> None:
    at = timezone.now() + timedelta(days=days)
    Response.objects.filter(**ADA).update(created_at=at)


DO_NOT_COUNT: dict[str, Callable[[], object]] = {
    "imported": lambda: Response.objects.filter(**ADA).update(door="import"),
    "carried over": carry,
    "given after a look at others' labels": lambda: Response.objects.filter(**ADA).update(
        exposed=True
    ),
    "given with the judge's label in view": lambda: Assignment.objects.filter(
        rater__name="ada"
    ).update(assisted_by=JUDGE),
    "from before the draw": lambda: move(-1),
    "later than the plan waits": lambda: move(15),
    "by an excluded person": lambda: Exclusion.objects.create(
        campaign=Campaign.objects.get(), rater=Rater.objects.get(name="ada"), reason="asleep"
    ),
}


@pytest.mark.every_case
@pytest.mark.parametrize("how", DO_NOT_COUNT)
def test_a_query_waits_for_an_answer_in_place_of_one_that_does_not_count(
    tmp_path: Path, how: str
) -> None:
    plan = committed(tmp_path)
    for name in PEOPLE:
        answer(first_item(plan), name)
    assert len(look_at(plan).state.labelled) == 1
    DO_NOT_COUNT[how]()
    look = look_at(plan)
    assert (len(look.state.labelled), look.waiting) == (0, 4)


def test_the_first_answer_counts_and_no_revision_of_it(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    for name in PEOPLE:
        answer(first_item(plan), name)
    before = look_at(plan).state.labelled
    row = Assignment.objects.get(rater__name="ada")
    units = {unit: {"relevant": "no", "use": None} for unit in row.asked}
    submit(row, {"units": units}, "page")
    assert Response.objects.filter(assignment=row).count() == 2
    after = look_at(plan).state.labelled
    assert {q: w.tolist() for q, w in after.items()} == {q: w.tolist() for q, w in before.items()}


def test_a_late_query_is_wrong_as_a_whole_whenever_its_answers_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = committed(tmp_path)
    later = timezone.now() + timedelta(days=15)
    monkeypatch.setattr("analysis.trust.labels.timezone.now", lambda: later)
    look = record_look(plan)
    assert len(look.state.labelled) == 4
    for query, wrong in look.state.labelled.items():
        assert wrong.tolist() == look.state.plan.accepted[query].tolist()
    for name in PEOPLE:
        answer(first_item(plan), name)
    Response.objects.filter(assignment__rater__kind="human").update(created_at=later)
    again = look_at(plan)
    assert again.answers.late == look.answers.late
    assert not again.stale


def test_a_query_that_is_drawn_out_of_turn_is_not_counted(tmp_path: Path) -> None:
    plan = committed(tmp_path, drawn=1)
    last = look_at(plan).cells.pks[look_at(plan).state.to_draw()[-1]]
    TrustDraw.objects.create(plan=plan, place=2, cut=0, query_id=last)
    items = Item.objects.filter(campaign=plan.campaign, query__in=plan.draws.values("query"))
    items.update(quota=3)
    all_answer(plan)
    look = look_at(plan)
    assert len(look.state.labelled) == 1
    assert look.waiting == 1


def other_batch(plan: TrustPlan) -> None:
    plan.campaign.batch.digest = "another"
    plan.campaign.batch.save()


def other_verdict(plan: TrustPlan) -> None:
    judged = Label.objects.filter(response__assignment__rater=plan.judge, variable=VARIABLE)
    Label.objects.filter(pk=judged.earliest("pk").pk).update(value="no")


def rerun(plan: TrustPlan, **manifest: object) -> None:
    judge, _ = Judge.objects.get_or_create(rater=plan.judge, defaults={"backend": "scripted"})
    JudgeRun.objects.create(campaign=plan.campaign, judge=judge, manifest=manifest, state="done")


CHANGES: dict[str, Callable[[TrustPlan], object]] = {
    "batch": other_batch,
    "verdicts": other_verdict,
    "prompt": lambda plan: rerun(plan, prompt={"sha256": "another"}),
    "model": lambda plan: rerun(plan, judge={"model": "another"}),
    "fingerprint": lambda plan: rerun(plan, fingerprint="another"),
}


@pytest.mark.every_case
@pytest.mark.parametrize("what", CHANGES)
def test_a_plan_is_stale_once_what_it_committed_to_has_changed(tmp_path: Path, what: str) -> None:
    plan = committed(tmp_path)
    assert not look_at(plan).stale
    CHANGES[what](plan)
    plan.refresh_from_db()
    look = look_at(plan)
    assert look.stale == (STALE[what],)
    assert look.verdict == "stale"


def test_labels_that_no_longer_count_make_a_plan_stale_for_good(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    all_answer(plan)
    assert not record_look(plan).stale
    exclusion = Exclusion.objects.create(
        campaign=plan.campaign, rater=Rater.objects.get(name="ada"), reason="asleep"
    )
    assert record_look(plan).stale == (STALE["truth"],)
    assert record_look(plan).stale == (STALE["truth"],)
    Exclusion.objects.filter(pk=exclusion.pk).update(undone_at=timezone.now())
    assert record_look(plan).stale == (STALE["truth"],)


def test_a_changed_cut_table_is_no_longer_the_plan_that_was_committed(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    plan.document["cuts"][0]["threshold"] = 0.99
    assert look_at(plan).stale == (STALE["plan"],)


def test_cells_that_the_judge_left_out_are_accepted_by_no_cut(tmp_path: Path) -> None:
    campaign = world(tmp_path, queries=QUERIES)
    lost = Label.objects.filter(unit__item__campaign=campaign, unit__key__endswith="-0")
    lost.filter(variable=VARIABLE).delete()
    run("trust", "plan", "c", "--variable", VARIABLE, "--judge", JUDGE)
    document = TrustPlan.objects.get().document
    assert document["population"]["cells"] == [6] * QUERIES
    assert [row[-1] for row in document["accepted"]] == [5] * QUERIES


def test_where_people_differ_a_query_waits_for_the_adjudicator(tmp_path: Path) -> None:
    plan = committed(tmp_path, "--truth", "adjudicated", "--people", "2")
    item = first_item(plan)
    answer(item, "ada", {0})
    answer(item, "bram")
    assert not look_at(plan).state.labelled
    dora = User.objects.create_user("dora")
    add_member(plan.campaign, dora, "adjudicator")
    unit = item.units.get(key__endswith="-0")
    case = find_case(dora, Campaign.objects.get(), unit.pk)
    assert case is not None
    said = {"relevant": "yes", "use": "related-information"}
    payload = {"units": {unit.name: said}, "comment": "It is."}
    decide(case, dora, payload, Circumstances(), "page")
    look = look_at(plan)
    assert [wrong.tolist() for wrong in look.state.labelled.values()] == [[0, 0]]
