"""While a plan runs, nothing reads people's labels of the queries that it draws, except a look."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import pytest

from analysis.campaigns.cache import labels_since
from analysis.campaigns.cache import state_of as report_state
from analysis.campaigns.frames import campaign_frame
from analysis.campaigns.reports import campaign_report
from analysis.cockpit.views import answers_of
from analysis.disagreements.detail import detail_of
from analysis.disagreements.votes import votes_of
from analysis.drafts.effect import people_of
from annotation.adjudication.disputes import (
    adjudicated_labels,
    counted_labels,
    disputes,
    select_sendable,
)
from annotation.adjudication.gold import decided_values, goldable
from annotation.derivation.answers import people_responses
from annotation.exports.bundles import counts
from annotation.exports.rows import label_rows, responses
from annotation.models import Campaign, Label, QuerySampling, Rater, Response, TrustPlan, Unit
from annotation.presentation import schema
from annotation.progress.flags import LabelFilter, filter_labels
from annotation.trust import roles
from judging.prompts.examples import agreed_examples, selectable_units
from tandem.labels.selection import ReportOptions
from tests.analysis.trust.cast import JUDGE, VARIABLE, all_answer, answer, world
from tests.cast import campaign_of, run

pytestmark = pytest.mark.django_db

NUMBER = 20


def plan_of(folder: Path, *options: str) -> TrustPlan:
    """A plan whose twenty queries are drawn and answered; people call each last passage wrong."""
    world(folder, queries=NUMBER)
    run("trust", "plan", "c", "--variable", VARIABLE, "--judge", JUDGE, *options)
    run("trust", "draw", "c", "--queries", NUMBER)
    plan = TrustPlan.objects.get()
    all_answer(plan, {5})
    # Only labels of development queries become examples. A plan draws no such query, so its
    # queries are made that only here.
    QuerySampling.objects.filter(campaign=plan.campaign).update(role="development")
    return plan


def units(campaign: Campaign) -> list[int]:
    return list(Unit.objects.filter(item__campaign=campaign).values_list("pk", flat=True))


def in_frame(campaign: Campaign) -> Iterable[str]:
    return [each.name for each in campaign_frame(campaign).raters if each.kind == "human"]


def in_detail(campaign: Campaign) -> Iterable[str]:
    unit = Unit.objects.filter(item__campaign=campaign)[0]
    return [each.name for each in detail_of(campaign, unit).answers if each.kind == "human"]


def in_effect(campaign: Campaign) -> Collection[int]:
    variable = next(v for v in schema(campaign).variables if v.name == VARIABLE)
    return people_of(campaign, variable, units(campaign))


def in_items(campaign: Campaign) -> Iterable[str]:
    shown = answers_of(campaign, campaign.items.all()[0])
    return [name for name, kind in shown.raters if kind == "human"]


def in_gold(campaign: Campaign) -> Collection[int]:
    return decided_values(campaign, units(campaign), VARIABLE)


def in_flags(campaign: Campaign) -> Iterable[object]:
    return list(filter_labels(campaign, Rater.objects.get(name="ada"), LabelFilter()))


def in_derivation(campaign: Campaign) -> Iterable[object]:
    queries = campaign.items.values_list("query", flat=True)
    return list(people_responses(campaign, list(queries), None))


def newer(campaign: Campaign) -> Iterable[object]:
    """One for each label that is newer than the judge's."""
    judged = Response.objects.filter(assignment__rater__kind="judge").latest("pk")
    return range(labels_since(campaign, judged.pk))


def carried(campaign: Campaign) -> Iterable[object]:
    name = f"next-{Campaign.objects.count()}"
    campaign_of("grounding-relevance", "--raters", "3", "--continues", "c", name=name)
    people = Label.objects.filter(response__assignment__rater__kind="human")
    return list(people.filter(response__assignment__item__campaign__name=name))


DOORS: dict[str, Callable[[Campaign], Iterable[object]]] = {
    "the report, its cuts and calibration": in_frame,
    "labels that are newer than the report": newer,
    "the list of disagreements": lambda c: range(votes_of(c, VARIABLE).people),
    "one disagreement": in_detail,
    "the effect of a draft": in_effect,
    "examples of a prompt": lambda c: agreed_examples(c, ()),
    "the items with their answers": in_items,
    "gold answers": in_gold,
    "disputes": lambda c: disputes(adjudicated_labels(c)),
    "labels behind a flag": in_flags,
    "an export of labels": lambda c: [r for r in label_rows(c) if r.rater_kind == "human"],
    "an export of answers": lambda c: [r for r in responses(c) if r["rater_kind"] == "human"],
    "decisions from which a batch is derived": in_derivation,
    "a campaign that continues this one": carried,
}


@pytest.mark.parametrize("door", DOORS)
def test_labels_that_certify_a_judge_come_through_no_door_before_the_end(
    tmp_path: Path, door: str
) -> None:
    plan, read = plan_of(tmp_path), DOORS[door]
    plan.campaign.refresh_from_db()
    assert not list(read(plan.campaign))
    run("trust", "end", "c")
    plan.campaign.refresh_from_db()
    assert list(read(plan.campaign))


def test_judges_labels_of_these_queries_are_read_as_before(tmp_path: Path) -> None:
    campaign = Campaign.objects.get(pk=plan_of(tmp_path).campaign_id)
    assert [rater.name for rater in campaign_frame(campaign).raters] == [JUDGE]
    assert {row.rater for row in label_rows(campaign)} == {JUDGE}
    assert counts(campaign)["labels"] == len(list(label_rows(campaign)))


def test_a_report_says_how_many_queries_it_leaves_out(tmp_path: Path) -> None:
    campaign = Campaign.objects.get(pk=plan_of(tmp_path).campaign_id)
    report = campaign_report(campaign, ReportOptions(resamples=2))
    warnings = {each["code"]: each["text"] for each in report["warnings"]}
    assert warnings["labels_certify"] == (
        f"People's labels of {NUMBER} queries are left out until the plan that drew them has ended."
    )


def test_other_queries_are_read_as_before(tmp_path: Path) -> None:
    campaign = world(tmp_path, queries=NUMBER + 1)
    answer(campaign.items.get(query__key="q0"), "ada", {5})
    run("trust", "plan", "c", "--variable", VARIABLE, "--judge", JUDGE)
    run("trust", "draw", "c", "--queries", NUMBER)
    all_answer(TrustPlan.objects.get(), {5})
    campaign.refresh_from_db()
    assert {row.item for row in label_rows(campaign) if row.rater == "ada"} == {"q0"}
    assert in_frame(campaign) == ["ada"]


@pytest.mark.parametrize("action", ["adjudicate", "gold", "examples"])
def test_an_action_on_such_units_says_why_it_leaves_them_out(tmp_path: Path, action: str) -> None:
    campaign = Campaign.objects.get(pk=plan_of(tmp_path).campaign_id)
    chosen = units(campaign)
    found = {
        "adjudicate": lambda: select_sendable(campaign, chosen),
        "gold": lambda: goldable(campaign, chosen, VARIABLE, campaign),
        "examples": lambda: selectable_units(campaign, chosen),
    }[action]()
    assert not found.units
    assert found.refused == {roles.REASON: len(chosen)}


def test_what_was_computed_before_the_end_is_computed_again_after_it(tmp_path: Path) -> None:
    campaign = Campaign.objects.get(pk=plan_of(tmp_path).campaign_id)
    before = report_state(campaign)
    assert report_state(campaign) == before
    run("trust", "end", "c")
    campaign.refresh_from_db()
    assert report_state(campaign) != before


def test_adjudicators_of_a_plan_see_people_differ_but_not_the_judge(tmp_path: Path) -> None:
    world(tmp_path, queries=NUMBER)
    plan = ("--variable", VARIABLE, "--judge", JUDGE, "--truth", "adjudicated")
    run("trust", "plan", "c", *plan)
    run("trust", "draw", "c", "--queries", "2")
    items = [draw.query.key for draw in TrustPlan.objects.get().draws.all()]
    campaign = Campaign.objects.get()
    tied, judged = (campaign.items.get(query__key=key) for key in items)
    for name, wrong in (("ada", {0}), ("bram", set[int]())):
        answer(tied, name, wrong)
        answer(judged, name, {0})
    assert {each.item for each in disputes(adjudicated_labels(campaign))} == {tied.pk}
    assert not disputes(counted_labels(campaign))
