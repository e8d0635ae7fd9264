"""Who can find judges, runs, calls and answers, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import Http404
from django.test import RequestFactory

from annotation.access import readable_campaign
from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.exposure.ledger import collect_looks
from annotation.models import Assignment, Campaign, Membership, Rater, Response, User
from annotation.registry import STEPS
from datasets.access import NotManagedError, shares_of
from datasets.models import Batch, Team
from judging.access import (
    authored_responses,
    blind_page,
    check_reviewer,
    find_authored_answer,
    find_step,
    manageable_judges,
    managed_judge,
    managed_run,
    may_review,
    note_call_look,
    step_campaign,
    step_of,
    visible_calls,
    visible_judge,
    visible_judges,
    visible_run,
    visible_runs,
)
from judging.judges import Definition, define
from judging.models import Judge, JudgeCall
from judging.runs import lifecycle
from tests.databases import rolling_back
from tests.judging.cast import judge, run_scripted
from tests.once import once
from tests.page_cast import Study, make_study, payload
from tests.team_cast import give_away, join_team, move_to_own_team, share_with

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study()


def test_judges_are_listed_by_name_for_readers_alone(study: Study) -> None:
    last, first = judge("zoe"), judge("abe")
    for user in (study.rita, study.root):
        assert list(visible_judges(user)) == [first, last]
    assert not visible_judges(study.ada).exists()


def test_runs_are_listed_newest_first_for_readers_of_their_campaign(study: Study) -> None:
    old, new = (lifecycle.start(study.campaign, judge(name)) for name in ("a", "b"))
    assert list(visible_runs(study.rita)) == [new, old]
    request = RequestFactory().get("/")
    request.user = study.rita
    assert visible_run(request, old.pk) == old
    give_away(study.campaign)
    assert not visible_runs(study.rita).exists()
    assert list(visible_runs(study.root)) == [new, old]
    with pytest.raises(Http404):
        visible_run(request, old.pk)


def test_calls_are_visible_to_readers_of_their_campaign(study: Study) -> None:
    run_scripted(study.campaign, judge())
    assert visible_calls(study.rita).count() == 2
    assert not visible_calls(study.ada).exists()
    give_away(study.campaign)
    assert not visible_calls(study.rita).exists()


def test_labels_are_hidden_from_a_user_with_an_open_item(study: Study) -> None:
    request = RequestFactory().get("/")
    request.user = study.rita
    campaign = readable_campaign(request, study.campaign.pk)
    assert blind_page(request, campaign) is None
    study.assignment(study.rita)
    page = blind_page(request, campaign)
    assert page is not None
    assert page.status_code == 403


def test_authored_answers_leave_out_earlier_revisions_and_repeated_samples(study: Study) -> None:
    mine = study.assignment(study.ada)
    for code in ("no", "invalid"):
        submit(mine, payload(code), "page")
    rater = Rater.objects.create(name="again")
    Response.objects.create(
        assignment=Assignment.objects.create(
            item=mine.item, rater=rater, asked=[], replicate=1, status="done"
        ),
        revision=1, current=True, payload=payload("no"), door="import",
    )  # fmt: skip
    (found,) = authored_responses(study.rita)
    assert (found.assignment, found.revision) == (mine, 2)
    assert not authored_responses(study.ada).exists()
    with pytest.raises(Http404):
        find_authored_answer(study.rita, mine.uid)


def test_a_campaign_outside_preparation_is_not_a_step(study: Study) -> None:
    with pytest.raises(Http404):
        step_of(study.campaign)
    with pytest.raises(Http404):
        find_step("nothing")
    for name, step in STEPS.items():
        assert find_step(name) is step


@pytest.fixture
def olga(study: Study) -> User:
    """A researcher of another team."""
    olga = User.objects.create(username="olga", role="researcher")
    move_to_own_team(olga)
    return olga


def of_team(name: str, team: Team) -> Judge:
    return define(Definition(name, "lexical"), team=team)[0]


def asked_by(user: User) -> Any:
    request = RequestFactory().get("/")
    request.user = user
    return request


def test_a_judge_is_visible_to_its_team_and_to_readers_of_campaigns_it_ran_in(
    study: Study, olga: User
) -> None:
    made = of_team("one", study.campaign.team)
    guest = User.objects.create(username="guest", role="researcher", is_guest=True)
    join_team(guest, study.campaign.team)
    assert visible_judge(asked_by(study.rita), made.pk) == made
    for user in (guest, olga, study.ada):
        with pytest.raises(Http404):
            visible_judge(asked_by(user), made.pk)
    team = olga.teams.get().team
    share_with(made, team)
    assert list(visible_judges(olga)) == [made]
    lifecycle.start(study.campaign, made)
    shares_of(Judge).objects.all().delete()
    assert not visible_judges(olga).exists()
    share_with(study.campaign, team)
    assert list(visible_judges(olga)) == [made]


def test_only_managers_of_a_judge_may_run_it_and_trials_are_not_listed(
    study: Study, olga: User
) -> None:
    team = study.campaign.team
    last, first, variant = (of_team(name, team) for name in ("zoe", "abe", "bob"))
    Judge.objects.filter(pk=variant.pk).update(base=first)
    assert list(manageable_judges(study.rita)) == list(manageable_judges(study.root)) == [
        first, last
    ]  # fmt: skip
    share_with(first, olga.teams.get().team)
    assert not manageable_judges(olga).exists()
    assert managed_judge(asked_by(study.rita), first.pk) == first
    with pytest.raises(NotManagedError):
        managed_judge(asked_by(olga), first.pk)
    with pytest.raises(Http404):
        managed_judge(asked_by(olga), last.pk)
    shares_of(Judge).objects.update(right="manage")
    assert list(manageable_judges(olga)) == [first]


def test_only_managers_of_its_campaign_control_a_run(study: Study, olga: User) -> None:
    run = lifecycle.start(study.campaign, of_team("one", study.campaign.team))
    assert managed_run(asked_by(study.rita), run.pk) == run
    with pytest.raises(Http404):
        managed_run(asked_by(olga), run.pk)
    share_with(study.campaign, olga.teams.get().team)
    with pytest.raises(NotManagedError):
        managed_run(asked_by(olga), run.pk)


def test_prepared_material_is_reviewed_by_managers_and_researchers_named_in_the_campaign(
    study: Study, olga: User
) -> None:
    other = create_campaign(
        "Other",
        "report-coverage",
        study.campaign.batch,
        Design(),
        team=study.campaign.team,
        pool="open",
    ).campaign
    assert [may_review(u, study.campaign) for u in (study.rita, study.root, study.ada, olga)] == [
        True, True, False, False
    ]  # fmt: skip
    Membership.objects.create(campaign=other, user=olga, role="researcher")
    member = Membership.objects.create(campaign=study.campaign, user=olga, role="adjudicator")
    assert not may_review(olga, study.campaign)
    Membership.objects.filter(pk=member.pk).update(role="researcher")
    assert may_review(olga, study.campaign)
    assert not may_review(study.ada, study.campaign)
    assert check_reviewer(olga, study.campaign) is None  # type: ignore[func-returns-value]
    Membership.objects.filter(pk=member.pk).update(ended_at=member.created_at)
    assert not may_review(olga, study.campaign)
    for user in (olga, study.ada):
        with pytest.raises(NotManagedError):
            check_reviewer(user, study.campaign)


def test_viewing_a_call_is_recorded_as_viewing_the_labels_of_its_judge(study: Study) -> None:
    made = judge()
    run_scripted(study.campaign, made)
    call = JudgeCall.objects.order_by("pk").first()
    assert call is not None
    Assignment.objects.filter(pk=call.assignment_id).update(asked=["q:0", "gone", "q:2"])
    call = visible_calls(study.rita).get(pk=call.pk)
    with collect_looks() as looks:
        note_call_look(call)
    units = dict(call.assignment.item.units.values_list("name", "pk"))
    (look,) = looks
    assert (look["kind"], look["campaign_id"]) == ("judge", study.campaign.pk)
    assert look["rater_id"] == made.rater_id
    assert look["scope"] == {"units": [units["q:0"], units["q:2"]]}


WRITTEN = [step for step in STEPS.values() if step.protocol]


def test_a_step_is_recognized_by_the_protocol_and_name_of_its_campaign(study: Study) -> None:
    batch = study.campaign.batch
    assert len(WRITTEN) > 5
    for step in WRITTEN:
        name = f"harbour: {step.name}"
        assert step_of(Campaign(name=name, protocol=step.protocol, batch=batch)) is step
        for other in (
            Campaign(name=step.name, protocol=step.protocol, batch=batch),
            Campaign(name=name, protocol="report-coverage", batch=batch),
        ):
            with pytest.raises(Http404):
                step_of(other)


def test_texts_written_for_a_step_are_visible_to_readers_of_its_campaign(
    study: Study, olga: User
) -> None:
    step, batch = WRITTEN[0], study.campaign.batch
    mine = study.assignment(study.ada)
    submit(mine, payload("no"), "page")
    with pytest.raises(Http404):
        step_campaign(asked_by(study.rita), batch, step)
    Campaign.objects.update(name=f"harbour: {step.name}", protocol=step.protocol)
    assert step_campaign(asked_by(study.rita), batch, step) == study.campaign
    with collect_looks() as looks:
        found = find_authored_answer(study.rita, mine.uid)
    assert (found.step, found.response.assignment) == (step, mine)
    (look,) = looks
    assert (look["kind"], look["campaign_id"]) == ("prepared", study.campaign.pk)
    assert look["scope"] == {"items": [mine.item_id]}
    for user in (study.ada, olga):
        with pytest.raises(Http404):
            step_campaign(asked_by(user), batch, step)
        with pytest.raises(Http404):
            find_authored_answer(user, mine.uid)
    other = Batch.objects.create(name="other", format="native", digest="1" * 64, team=batch.team)
    for changes in ({"protocol": "report-coverage"}, {"batch": other}, {"name": "harbour"}):
        with rolling_back():
            Campaign.objects.update(**changes)
            with pytest.raises(Http404):
                step_campaign(asked_by(study.rita), batch, step)
