"""The contexts of the pages of a person's work: the list, the end of a campaign, practice."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.gold.scoring import Score
from annotation.models import Assignment, Campaign, Draft, GoldAnswer, Response, User
from annotation.people.leases import Ended, release
from annotation.people.membership import add_member
from annotation.progress.person import Progress
from annotation.views import work
from annotation.views.work import FeedbackRow, in_order
from tests.blind_cast import blind_study, swapped_pair
from tests.cast import FULL, SHORT
from tests.page_cast import QUESTIONS, TEXT, Study, client_of, make_study, page, payload

pytestmark = pytest.mark.django_db
SOON, LATER = datetime(2030, 5, 1, tzinfo=UTC), datetime(2030, 5, 2, tzinfo=UTC)


@pytest.fixture
def study() -> Study:
    return make_study()


def another(study: Study, name: str, **options: Any) -> Study:
    """The same people before a second campaign over the same batch."""
    batch, design = study.campaign.batch, Design(raters_per_item=2, **options)
    made = create_campaign(name, "report-coverage", batch, design, pool="open").campaign
    return Study(made, study.ada, study.ben, study.rita, study.root)


def done(study: Study, user: User) -> Assignment:
    mine = study.assignment(user)
    submit(mine, payload("no"), "page")
    return mine


def could_not(study: Study, user: User) -> Assignment:
    mine = study.assignment(user)
    client_of(user).post(page("cannot-judge", mine), {"reason": "unreadable"})
    return mine


def context_of(user: User, name: str = "work", *place: object) -> Any:
    answer = client_of(user).get(reverse(name, args=place))
    assert answer.status_code == 200
    return answer.context


def test_campaigns_are_sorted_by_deadline_and_then_by_begun_work() -> None:
    def campaign(name: str, numbers: Progress, deadline: datetime | None = None) -> dict[str, Any]:
        return {"campaign": Campaign(name=name, deadline=deadline), "progress": numbers}

    new, begun, continued = Progress(free=2), Progress(begun=1), Progress(done=1, free=1)
    studies = [
        campaign("last", Progress(waiting=2), SOON), campaign("7", new),
        campaign("3", begun, LATER), campaign("2", new, SOON),
        campaign("6", continued), campaign("8", new), campaign("5", begun),
        campaign("1", continued, SOON), campaign("4", new, LATER),
    ]  # fmt: skip
    assert [each["campaign"].name for each in in_order(studies)] == [*"12345678", "last"]


def test_finished_campaigns_leave_the_list_and_keep_ones_answers_on_their_page(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ben's work, Ada's closed campaign, and a campaign without an item of hers are not listed."""
    other, closed, empty = (another(study, name) for name in ("Other", "Closed", "Empty"))
    empty.campaign.items.update(quota=0)
    submitted = [done(study, study.ada), done(study, study.ada)]
    draft = Draft.objects.create(assignment=submitted[1], payload=payload("yes"))
    again = submit(submitted[0], payload("invalid"), "page").response
    done(study, study.ben)
    done(closed, study.ada)
    declined = [could_not(other, study.ada) for _ in range(2)]
    could_not(closed, study.ada)
    Campaign.objects.filter(pk=closed.campaign.pk).update(is_open=False)
    Assignment.objects.filter(rater__user=study.ada, status="open").delete()
    # An answer that was changed and not sent is work that is left.
    work_page = context_of(study.ada)
    assert (work_page["first"]["campaign"], work_page["rest"]) == (study.campaign, [])
    assert work_page["first"]["title"] == "Report coverage"
    assert [each.name for each in work_page["finished"]] == ["Other"]
    draft.delete()
    work_page = context_of(study.ada)
    assert (work_page["first"], work_page["rest"]) == (None, [])
    assert [each.name for each in work_page["finished"]] == ["Other", "Pilot"]

    def own(campaign: Campaign) -> Any:
        found = context_of(study.ada, "finished", campaign.pk)["study"]
        return found["done"], found["declined"]

    assert own(study.campaign) == (submitted[::-1], [])
    assert own(other.campaign) == ([], declined[::-1])
    assert [each.has_draft for each in own(study.campaign)[0]] == [False, False]
    first, second = (Response.objects.get(assignment=each, current=True) for each in submitted)
    assert first == again
    stored = [each.submitted_at for each in own(study.campaign)[0]]
    assert stored == [second.created_at, first.created_at]
    page = client_of(study.ada).get(reverse("finished", args=[study.campaign.pk]))
    assert reverse("item", args=[submitted[0].uid]) in page.content.decode()
    monkeypatch.setattr(work, "RECENT", 1)
    assert own(study.campaign) == (submitted[1:], [])
    assert own(other.campaign) == ([], declined[1:])


def test_at_most_two_hundred_items_of_each_kind_are_listed(study: Study) -> None:
    study.assignment(study.ada)
    client = client_of(study.ada)
    with CaptureQueriesContext(connection) as asked:
        assert client.get(reverse("work")).status_code == 200
    assert len([each for each in asked if each["sql"].endswith(" LIMIT 200")]) == 2


def test_the_minutes_left_follow_from_ones_own_pace_or_else_the_campaigns() -> None:
    study = make_study(reports=7)
    other, untimed = another(study, "Other"), another(study, "Untimed")
    for _ in range(3):
        done(study, study.ada)
        done(study, study.ben)
        done(other, study.ben)
        done(untimed, study.ben)
    done(other, study.ada)
    done(untimed, study.ada)
    by_ada = Q(rater__user=study.ada)
    Assignment.objects.filter(by_ada, status="done").update(seconds=90.0)
    Assignment.objects.filter(~by_ada, status="done").update(seconds=110.0)
    Assignment.objects.filter(~by_ada, item__campaign=untimed.campaign).update(seconds=None)
    context = context_of(study.ada)
    minutes = {
        each["campaign"].name: each["minutes"] for each in (context["first"], *context["rest"])
    }
    # 4 items at 1.5 minutes; 6 at (90 + 3 * 110) / 4 seconds; one timed item says nothing.
    assert minutes == {"Pilot": 6, "Other": 10, "Untimed": None}


def test_my_work_lists_languages_adjudication_and_consents(
    study: Study,
) -> None:
    other = another(study, "Other").campaign
    add_member(other, study.ben, "adjudicator")
    of_ben, of_ada = context_of(study.ben), context_of(study.ada)
    nothing = {"open": 0, "decided": 0, "all": 0}
    assert (of_ben["adjudicating"], of_ada["adjudicating"]) == ([(other, nothing)], [])
    assert of_ada["languages"] == settings.LANGUAGES
    assert list(of_ada["consents"]) == []


class TestFinishedPage:
    """The page after the last item of a campaign."""

    def test_the_page_counts_items_left_here_and_in_other_campaigns(self, study: Study) -> None:
        other = another(study, "Other")
        done(study, study.ada)
        done(other, study.ada)
        study.assignment(study.ada)
        closed = another(study, "Closed").campaign
        Campaign.objects.filter(pk=closed.pk).update(is_open=False)
        context = context_of(study.ada, "finished", study.campaign.pk)
        assert context["campaign"] == study.campaign
        assert context["progress"] == Progress(done=1, begun=1)
        assert (context["waiting"], context["completion"], context["agreed"]) == (1, None, False)

    def test_in_a_closed_campaign_only_ones_own_items_are_counted(self, study: Study) -> None:
        another(study, "Other")
        done(study, study.ada)
        study.assignment(study.ada)
        Campaign.objects.filter(pk=study.campaign.pk).update(is_open=False)
        context = context_of(study.ada, "finished", study.campaign.pk)
        assert context["progress"] == Progress(done=1, begun=1)
        assert context["waiting"] == 2

    def test_free_items_count_while_the_campaign_is_open(self, study: Study) -> None:
        context = context_of(study.ada, "finished", study.campaign.pk)
        assert (context["progress"], context["waiting"]) == (Progress(free=2), 0)


class TestCannotJudge:
    @pytest.mark.first_case
    @pytest.mark.parametrize("reason", [{}, {"reason": "boring"}])
    def test_without_a_listed_reason_the_item_stays_open(
        self, study: Study, reason: dict[str, str]
    ) -> None:
        mine = study.assignment(study.ada)
        sent = client_of(study.ada).post(page("cannot-judge", mine), reason)
        assert sent.headers["Location"] == page("item", mine)
        mine.refresh_from_db()
        assert mine.status == "open"

    def test_an_answered_item_cannot_be_declined_and_an_open_one_leads_on(
        self, study: Study
    ) -> None:
        client, answered = client_of(study.ada), done(study, study.ada)
        mine = study.assignment(study.ada)
        sent = client.post(page("cannot-judge", answered), {"reason": "unreadable"})
        assert sent.headers["Location"] == page("item", answered)
        sent = client.post(page("cannot-judge", mine), {"reason": "unreadable"})
        assert sent.headers["Location"] == reverse("finished", args=[study.campaign.pk])

    def test_the_address_of_a_released_item_leads_to_work_which_says_so(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        assert release(mine, Ended.FREED)
        answer = client_of(study.ada).get(page("item", mine), follow=True)
        assert "That item is no longer yours" in answer.content.decode()
        assert "no longer yours" not in client_of(study.ada).get(reverse("work")).content.decode()
        assert client_of(study.ben).get(page("item", mine)).status_code == 404

    def test_only_a_declined_item_can_be_taken_up_again(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        assert client_of(study.ada).post(page("take-up", mine)).status_code == 404


def test_feedback_on_a_pair_numbers_the_answers_as_on_its_page(tmp_path: Path) -> None:
    study = blind_study("answer-preference", tmp_path, reports=2)
    study.campaign.items.update(use="practice")
    Campaign.objects.update(practice_of=study.campaign.pk)
    study.campaign.refresh_from_db()
    mine = swapped_pair(study, study.ada, yes=True)
    submit(mine, {"units": {mine.asked[0]: {"preferred": "first"}}, "comment": None}, "page")
    texts = [
        (heading, text.text)
        for heading, text in context_of(study.ada, "feedback", mine.uid)["texts"]
    ]
    assert texts == [("Answer 1", SHORT), ("Answer 2", FULL)]


class TestPractice:
    @pytest.fixture
    def practice(self, study: Study) -> Assignment:
        """Ada's first item is practice, and two of its questions have gold answers."""
        item = study.campaign.items.get(position=0)
        item.use = "practice"
        item.save()
        units = {unit.name: unit for unit in item.units.all()}
        for name, value, reason in (("q:0", "yes", "It says so."), ("q:2", "no", "")):
            GoldAnswer.objects.create(
                unit=units[name], variable="answerable", value=value, reason=reason
            )
        Campaign.objects.filter(pk=study.campaign.pk).update(practice_of=study.campaign.pk)
        study.campaign.refresh_from_db()
        mine = study.assignment(study.ada)
        assert mine.item == item
        return mine

    def test_feedback_shows_each_gold_answer_beside_ones_own_in_words(
        self, study: Study, practice: Assignment
    ) -> None:
        submit(practice, payload("no"), "page")
        context = context_of(study.ada, "feedback", practice.uid)
        question = "Can the report answer it?"
        assert context["rows"] == [
            FeedbackRow("answerable", QUESTIONS[0], question, "No", "Yes", "It says so.", False),
            FeedbackRow("answerable", QUESTIONS[2], question, "No", "No", "", True),
        ]
        assert [(heading, text.text) for heading, text in context["texts"]] == [("", TEXT)]
        assert (context["assignment"], context["campaign"]) == (practice, study.campaign)
        assert context["score"] == Score(items=1, of=1, right=1, asked=2)
        assert (context["percent"], context["passed"], context["pass_mark"]) == (50, True, None)

    def test_feedback_is_available_only_for_answered_practice_items(
        self, study: Study, practice: Assignment
    ) -> None:
        ada = client_of(study.ada)
        assert ada.get(page("feedback", practice)).status_code == 404
        submit(practice, payload("no"), "page")
        assert ada.get(page("feedback", practice)).status_code == 200
        assert client_of(study.ben).get(page("feedback", practice)).status_code == 404
        plain = done(study, study.ada)
        assert ada.get(page("feedback", plain)).status_code == 404
