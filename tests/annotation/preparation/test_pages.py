"""The pages of preparation: status of the steps, review of an answer, and the new batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Campaign, Membership, Response, User
from audit.models import Event
from datasets.material import batch_rows
from datasets.models import Batch
from judging.backends.base import Answer
from judging.models import Judge, Review
from tests.annotation.preparation.cast import (
    EMPTY,
    INQUIRY,
    TOPIC,
    Json,
    author,
    load,
    point,
    prepare,
    researcher,
)
from tests.annotation.preparation.test_preparation import WROTE
from tests.once import once
from tests.page_cast import client_of
from tests.team_cast import join_team

pytestmark = pytest.mark.django_db


@once
def researching(folder: Path) -> User:
    """A researcher who has begun the step, for which an author has written."""
    load(folder, TOPIC, EMPTY)
    who, writer = researcher(), author()
    sent = {"judge": writer.pk}
    begun = client_of(who).post(address("preparation-begin", "key-points"), sent)
    assert begun.status_code == 302
    prepare("key-points", "documents", writer, WROTE)
    return who


@pytest.fixture
def rosa(researching: User, client: Client) -> User:
    client.force_login(researching)
    return researching


def address(name: str, *more: object) -> str:
    return reverse(name, args=[Batch.objects.get(name="documents").pk, *more])


def answers() -> list[Response]:
    return list(Response.objects.order_by("assignment__item__position"))


def page_of(response: Response) -> str:
    return reverse("review", args=[response.assignment.uid])


FIELDS = {
    "0.holds_points": "yes",
    "0.point.0": "The bow door was left open.",
    "0.point.0.quote": ["A door in the bow had been left open.", ""],
    "0.point.1": "The Aurora carried 61 people.",
    "0.point.1.quote": ["It carried 61 people.", ""],
    "0.point.2": "",
    "0.point.2.quote": [""],
    "seen": "",
}
"""What a browser sends of the first answer when nobody has touched it."""


class TestOverview:
    def test_beginning_a_step_leads_to_the_judges_estimate(
        self, rosa: User, client: Client
    ) -> None:
        judge, campaign = Judge.objects.get(), Campaign.objects.get()
        begun = client.post(address("preparation-begin", "key-points"), {"judge": judge.pk})
        assert begun["Location"] == f"/judges/{judge.pk}/start/?campaign={campaign.pk}"
        assert client.get(begun["Location"]).status_code == 200

    def test_a_researcher_who_begins_a_step_may_read_its_campaign(
        self, rosa: User, client: Client
    ) -> None:
        assert Membership.objects.get(user=rosa).role == "researcher"
        other = researcher("olga")
        join_team(other, role="member")
        client.force_login(other)
        shown = client.get(address("preparation")).content.decode()
        assert "another researcher’s work" in shown
        assert client.get(page_of(answers()[0])).status_code == 404
        begun = client.post(address("preparation-begin", "key-points"), {"judge": 1})
        assert not Membership.objects.filter(user=other).exists()
        assert begun.status_code in (403, 422)
        assert client.get(address("preparation-build", "key-points")).status_code == 404

    def test_a_researcher_who_begins_a_step_gets_no_items_to_label(
        self, rosa: User, client: Client
    ) -> None:
        work = client.get(reverse("work")).context
        assert (work["first"], list(work["rest"])) == (None, [])
        assert not Campaign.objects.get().takes_answers

    def test_the_overview_counts_reviewed_answers_by_verdict(
        self, rosa: User, client: Client
    ) -> None:
        before = client.get(address("preparation")).content.decode()
        assert "<b>0</b> of 3 reviewed" in before
        assert "Review 3" in before
        client.post(page_of(answers()[2]), {"verdict": "rejected", "seen": ""})
        after = client.get(address("preparation")).content.decode()
        assert "<b>1</b> of 3 reviewed" in after
        assert "1 rejected" in after

    def test_the_overview_counts_missing_answers_by_reason(
        self, rosa: User, client: Client
    ) -> None:
        prepare("key-points", "documents", author("other"), {**WROTE, INQUIRY: Answer("Sorry.")})
        assert "1 missing: unreadable" in client.get(address("preparation")).content.decode()

    def test_all_answers_without_a_problem_are_accepted_at_once(
        self, rosa: User, client: Client
    ) -> None:
        writer = Judge.objects.get().rater_id
        done = client.post(address("preparation-accept", "key-points"), {"author": writer})
        assert done["Location"] == address("preparation")
        assert list(Review.objects.values_list("verdict", flat=True)) == ["accepted"] * 3


class TestReview:
    def test_a_review_shows_the_text_with_the_quotes_marked(
        self, rosa: User, client: Client
    ) -> None:
        shown = client.get(page_of(answers()[0])).content.decode()
        assert "<mark>It carried 61 people.</mark>" in shown
        assert "Answer 1 of 3" in shown

    def test_accepting_an_unchanged_answer_leads_to_the_next_one(
        self, rosa: User, client: Client
    ) -> None:
        first, second, _ = answers()
        done = client.post(page_of(first), {**FIELDS, "verdict": "accepted"})
        assert done["Location"] == page_of(second)
        made = Review.objects.get()
        assert (made.verdict, made.answer, made.by.user) == ("accepted", None, rosa)
        assert Event.objects.filter(event="preparation.reviewed").count() == 1

    def test_a_point_can_be_added(self, rosa: User, client: Client) -> None:
        more = {"0.point.2": "It sank off Tarn.", "0.point.2.quote": ["off Tarn"]}
        client.post(page_of(answers()[0]), {**FIELDS, **more, "verdict": "accepted"})
        made = Review.objects.get().answer
        assert made is not None
        assert made["t1/d1"]["points"][2] == point("It sank off Tarn.", "off Tarn")

    def test_a_quote_must_be_in_the_text_and_typed_input_is_kept(
        self, rosa: User, client: Client
    ) -> None:
        wrong = {**FIELDS, "0.point.0.quote": ["It burnt."], "note": "hm", "verdict": "accepted"}
        refused = client.post(page_of(answers()[0]), wrong)
        assert refused.status_code == 422
        shown = refused.content.decode()
        assert "was not found" in shown
        assert "It burnt.</textarea>" in shown
        assert not Review.objects.exists()

    def test_the_last_review_leads_back_to_the_overview(self, rosa: User, client: Client) -> None:
        for each in answers():
            done = client.post(page_of(each), {"verdict": "rejected", "seen": ""})
        assert done["Location"] == address("preparation")

    def test_a_review_by_another_person_meanwhile_is_not_overwritten(
        self, rosa: User, client: Client
    ) -> None:
        first = page_of(answers()[0])
        client.post(first, {"verdict": "rejected", "seen": ""})
        late = client.post(first, {**FIELDS, "verdict": "accepted"})
        assert late.status_code == 409
        assert Review.objects.get().verdict == "rejected"

    @pytest.mark.parametrize("sent", [{}, {"verdict": "fine"}, {"verdict": "changed"}])
    def test_an_unknown_verdict_is_refused(self, rosa: User, client: Client, sent: Json) -> None:
        assert client.post(page_of(answers()[0]), {**sent, "seen": ""}).status_code == 422
        assert not Review.objects.exists()

    def test_an_answer_outside_a_preparation_campaign_cannot_be_reviewed(
        self, rosa: User, client: Client
    ) -> None:
        Campaign.objects.update(name="a study")
        assert client.get(page_of(answers()[0])).status_code == 404


def _sent(units: Any) -> Json:
    return {name: values for unit in units for name, values in unit.sent()}


class TestABatch:
    def build(self, client: Client, **fields: Any) -> Any:
        given = {"name": "pointed", "author": Judge.objects.get().rater_id} | fields
        return client.post(address("preparation-build", "key-points"), given)

    def test_a_batch_is_built_from_accepted_answers(self, rosa: User, client: Client) -> None:
        client.post(
            address("preparation-accept", "key-points"), {"author": Judge.objects.get().rater_id}
        )
        assert client.get(address("preparation-build", "key-points")).status_code == 200
        made = self.build(client)
        batch = Batch.objects.get(name="pointed")
        assert made["Location"] == reverse("batch", args=[batch.pk])
        assert [len(query.key_points) for query in batch_rows(batch)] == [3, 0]

    def test_a_batch_needs_a_new_name(self, rosa: User, client: Client) -> None:
        assert self.build(client, name="documents", partial="on").status_code == 422
