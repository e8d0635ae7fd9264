"""Who finds judges, runs, calls and answers, and in which order."""

from __future__ import annotations

import pytest
from django.http import Http404
from django.test import RequestFactory

from annotation.access import readable_campaign
from annotation.answers.submission import submit
from annotation.models import Assignment, Rater, Response
from annotation.registry import STEPS
from judging.access import (
    authored_responses,
    blind_page,
    find_authored_answer,
    step_called,
    step_of,
    visible_calls,
    visible_judges,
    visible_run,
    visible_runs,
)
from judging.runs import lifecycle
from tests.judging.cast import judge, run_scripted
from tests.page_cast import Study, make_study, payload
from tests.team_cast import given_away

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study()


def test_judges_are_listed_by_name_for_readers_alone(study: Study) -> None:
    last, first = judge("zoe"), judge("abe")
    for user in (study.rita, study.root):
        assert list(visible_judges(user)) == [first, last]
    assert not visible_judges(study.ada).exists()


def test_runs_come_newest_first_to_whoever_may_read_their_campaign(study: Study) -> None:
    old, new = (lifecycle.start(study.campaign, judge(name)) for name in ("a", "b"))
    assert list(visible_runs(study.rita)) == [new, old]
    request = RequestFactory().get("/")
    request.user = study.rita
    assert visible_run(request, old.pk) == old
    given_away(study.campaign)
    assert not visible_runs(study.rita).exists()
    assert list(visible_runs(study.root)) == [new, old]
    with pytest.raises(Http404):
        visible_run(request, old.pk)


def test_calls_are_those_of_campaigns_that_one_may_read(study: Study) -> None:
    run_scripted(study.campaign, judge())
    assert visible_calls(study.rita).count() == 2
    assert not visible_calls(study.ada).exists()
    given_away(study.campaign)
    assert not visible_calls(study.rita).exists()


def test_labels_are_kept_from_whoever_has_an_open_item(study: Study) -> None:
    request = RequestFactory().get("/")
    request.user = study.rita
    campaign = readable_campaign(request, study.campaign.pk)
    assert blind_page(request, campaign) is None
    study.assignment(study.rita)
    page = blind_page(request, campaign)
    assert page is not None
    assert page.status_code == 403


def test_authored_answers_are_current_ones_and_no_repetitions(study: Study) -> None:
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


def test_a_campaign_that_prepares_nothing_is_no_step(study: Study) -> None:
    with pytest.raises(Http404):
        step_of(study.campaign)
    with pytest.raises(Http404):
        step_called("nothing")
    for name, step in STEPS.items():
        assert step_called(name) is step
