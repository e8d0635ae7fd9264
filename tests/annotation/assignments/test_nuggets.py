"""A rater's own nuggets are shown beside a rating, and corrected by a revision."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.answers import storage
from annotation.answers.submission import submit
from annotation.assignments.context import editable, nuggets_for
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Draft, Label, Response, Span, rater_of
from annotation.people.membership import end_membership
from annotation.presentation import present
from tests.cast import FULL, SHORT
from tests.once import once
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db

BUILT = " blank "
PLACE = 1
MARKED, OTHER = "Anna Lee\u0301 built it 🌉.", "שלום לכולם!"
CODES = {"a/b#1": "no", BUILT: "yes", "🌉": "invalid"}


@once
def study(folder: Path) -> Study:
    """Ada and Ben may answer the two reports of `q/1`; a rating campaign follows."""
    study = study_of("report-coverage", folder, Design(raters_per_item=2))
    design = Design(raters_per_item=2, prerequisite="Study", sampling="own")
    create_campaign("Ratings", "rubric-passage", study.campaign.batch, design, pool="open")
    return study


def quote(text: str) -> dict[str, Any]:
    return {"quote": text, "start": FULL.index(text)}


def payload(*quotes: str) -> dict[str, Any]:
    units = {
        name: {"answerable": code, "evidence": [quote(q) for q in quotes] if code == "yes" else []}
        for name, code in CODES.items()
    }
    return {"units": units, "comment": "odd"}


def answered(study: Study, name: str = "ada") -> Assignment:
    """Answer both reports of the first query; return the one with the highlight."""
    user = getattr(study, name)
    first = study.assignment(user)
    submit(first, payload(MARKED), "page")
    second = study.assignment(user)
    no = {unit: {"answerable": "no", "evidence": []} for unit in CODES}
    submit(second, {"units": no, "comment": None}, "page")
    return first


def to_rate(study: Study, name: str = "ada") -> Assignment:
    ratings = Campaign.objects.get(name="Ratings")
    found = next_assignment(ratings, rater_of(getattr(study, name)))
    assert found is not None
    return found


def address(held: Assignment, place: int = PLACE) -> str:
    return reverse("nugget", args=[held.uid, place])


def mend(client: Client, held: Assignment, *quotes: dict[str, Any], **more: Any) -> Any:
    form = {"evidence": json.dumps(quotes), "seen": 1, "key": str(uuid.uuid4()), **more}
    return client.post(address(held), {k: v for k, v in form.items() if v is not None})


def spans(held: Assignment) -> list[tuple[str, int | None]]:
    found = Span.objects.filter(label__response__assignment=held, label__response__current=True)
    return list(found.values_list("quote", "start"))


class TestShownNuggets:
    def test_own_nuggets_are_listed_by_question_with_report_numbers(self, study: Study) -> None:
        held = answered(study)
        found = nuggets_for(to_rate(study))
        assert set(found) == set(CODES)
        (nugget,) = found[BUILT].found
        assert (nugget.uid, nugget.unit, nugget.report) == (held.uid, PLACE, 1)
        assert nugget.quotes == (MARKED,)
        assert nugget.is_open
        assert [found[name].found for name in ("a/b#1", "🌉")] == [(), ()]
        assert {each.reports for each in found.values()} == {2}

    def test_nuggets_are_in_the_order_of_the_reports(self, study: Study) -> None:
        first = study.assignment(study.ada)
        Assignment.objects.filter(pk=first.pk).update(status="leased")
        second = study.assignment(study.ada)
        marked = {"quote": "Perhaps Anna.", "start": SHORT.index("Perhaps")}
        units = {unit: {"answerable": "yes", "evidence": [marked]} for unit in CODES}
        submit(second, {"units": units, "comment": None}, "page")
        Assignment.objects.filter(pk=first.pk).update(status="open")
        first.refresh_from_db()
        submit(first, payload(MARKED), "page")
        found = nuggets_for(to_rate(study))[BUILT].found
        assert [(n.report, n.quotes) for n in found] == [(1, (MARKED,)), (2, ("Perhaps Anna.",))]

    def test_nuggets_of_other_raters_are_not_shown(self, study: Study) -> None:
        answered(study)
        held = answered(study, "ben")
        submit(held, payload(OTHER), "page")
        assert [n.quotes for n in nuggets_for(to_rate(study))[BUILT].found] == [(MARKED,)]
        assert [n.quotes for n in nuggets_for(to_rate(study, "ben"))[BUILT].found] == [(OTHER,)]

    def test_nuggets_come_only_from_whole_first_answers(self, study: Study) -> None:
        held = answered(study)
        rating = to_rate(study)
        whole = nuggets_for(rating)
        assert [n.quotes for n in whole[BUILT].found] == [(MARKED,)]
        elsewhere = create_campaign(
            "Elsewhere", "report-coverage", study.campaign.batch, Design(), pool="open"
        ).campaign
        fields = {"rater": held.rater, "asked": held.asked}
        for row in (
            Assignment(item=held.item, replicate=1, **fields),
            Assignment(item=held.item, scope=BUILT, **fields),
            Assignment(item=elsewhere.items.get(key=held.item.key), **fields),
        ):
            row.save()
            submit(row, payload(OTHER), "page")
        of_next = study.assignment(study.ada)
        assert of_next.item.query_id != held.item.query_id
        text = present(of_next.item).texts[0].text
        yes = {"answerable": "yes", "evidence": [{"quote": text[:9], "start": 0}]}
        submit(of_next, {"units": dict.fromkeys(of_next.asked, yes), "comment": None}, "page")
        label = Label.objects.get(response__assignment=held, unit__name=BUILT)
        label.pk, label.variable, label.value = None, "rating", "3"
        label.save()
        assert nuggets_for(rating) == whole
        rating.item = rating.item.campaign.items.filter(query=of_next.item.query_id)[0]
        for each in nuggets_for(rating).values():
            assert [(n.uid, n.report, n.quotes) for n in each.found] == [
                (of_next.uid, 1, (text[:9],))
            ], "reports are counted query by query"
        rating.item = rating.item.campaign.items.filter(query=held.item.query_id)[0]
        Assignment.objects.filter(pk=held.pk).update(status="cancelled")
        assert {(each.found, each.reports) for each in nuggets_for(rating).values()} == {((), 1)}

    def test_nuggets_follow_the_current_revision(self, study: Study) -> None:
        submit(answered(study), payload(MARKED, OTHER), "page")
        assert nuggets_for(to_rate(study))[BUILT].found[0].quotes == (MARKED, OTHER)

    def test_a_campaign_without_a_prerequisite_has_no_nuggets(self, study: Study) -> None:
        batch = study.campaign.batch
        plain = create_campaign("Plain", "rubric-passage", batch, Design(), pool="open").campaign
        held = next_assignment(plain, rater_of(study.ada))
        assert held is not None
        assert nuggets_for(held) == {}

    def test_the_editor_shows_only_highlights_of_its_question(self, study: Study) -> None:
        held = study.assignment(study.ada)
        of_other = {"a/b#1": {"answerable": "yes", "evidence": [quote(OTHER)]}}
        submit(held, {"units": payload(MARKED)["units"] | of_other, "comment": None}, "page")
        there = editable(held, PLACE)
        assert there is not None
        assert (there.unit, there.question, there.text) == (BUILT, "Who built it?", FULL)
        assert (there.answer, there.quotes) == ("yes", [quote(MARKED)])
        label = there.response.labels.get(unit__name=BUILT)
        label.pk, label.variable, label.value = None, "rating", "3"
        label.save()
        Span.objects.create(label=label, field="report", quote="Anna", start=0, end=4)
        assert there.quotes == [quote(MARKED)]

    def test_a_rating_has_no_nuggets_to_edit(self, study: Study) -> None:
        answered(study)
        mine = to_rate(study)
        units = {name: {"rating": "1", "evidence": []} for name in mine.asked}
        submit(mine, {"units": units, "comment": None}, "import")
        assert [editable(mine, place) for place in range(3)] == [None] * 3

    def test_the_editor_shows_the_report_and_current_highlights(self, study: Study) -> None:
        held = answered(study)
        shown = client_of(study.ada).get(address(held)).content.decode()
        assert FULL.replace("\r", "&#13;") in shown
        assert "Who built it?" in shown
        assert 'data-seen="1"' in shown
        for system in ("one", "top"):
            assert f">{system}<" not in shown


class TestEditing:
    def test_editing_a_nugget_only_revises_ones_own_answer(self, study: Study) -> None:
        held = answered(study)
        sent = mend(client_of(study.ada), held, quote(MARKED), quote(OTHER))
        assert sent.status_code == 200
        assert sent.json()["revision"] == 2
        now = held.responses.get(current=True)
        assert (now.revision, now.door, now.comment) == (2, "page", "odd")
        assert now.payload == payload(MARKED, OTHER)
        assert spans(held) == [(q, FULL.index(q)) for q in (MARKED, OTHER)]
        before = held.responses.get(revision=1)
        assert (before.current, before.payload) == (False, payload(MARKED))

    def test_the_same_save_twice_is_stored_once(self, study: Study) -> None:
        held, key = answered(study), str(uuid.uuid4())
        for _ in range(2):
            sent = mend(client_of(study.ada), held, quote(OTHER), key=key)
            assert (sent.status_code, sent.json()["revision"]) == (200, 2)
        assert held.responses.count() == 2

    def test_a_failed_edit_leaves_the_answer_unchanged(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any, **__: Any) -> Any:
            raise OSError("no space left")

        held = answered(study)
        monkeypatch.setattr(storage._finish, "call", broken)
        with pytest.raises(OSError, match="no space"):
            mend(client_of(study.ada), held, quote(OTHER))
        (now,) = held.responses.all()
        assert (now.revision, now.current) == (1, True)

    def test_a_revision_meanwhile_is_a_conflict_with_the_current_one(self, study: Study) -> None:
        held = answered(study)
        submit(held, payload(MARKED, OTHER), "page")
        sent = mend(client_of(study.ada), held, quote("It opened in 1901."), seen=1)
        assert sent.status_code == 409
        assert sent.json()["revision"] == 2
        assert sent.json()["quotes"] == [quote(MARKED), quote(OTHER)]
        assert spans(held) == [(q, FULL.index(q)) for q in (MARKED, OTHER)]

    def test_editing_a_nugget_keeps_a_draft_of_the_report(self, study: Study) -> None:
        held = answered(study)
        Draft.objects.create(assignment=held, payload=payload(OTHER))
        sent = mend(client_of(study.ada), held, quote(OTHER))
        assert sent.status_code == 422
        assert "submit that first" in sent.json()["problems"][0]["message"]
        assert Draft.objects.get().payload == payload(OTHER)
        assert held.responses.count() == 1

    def test_a_draft_conflict_is_reported_before_quote_errors(self, study: Study) -> None:
        held = answered(study)
        Draft.objects.create(assignment=held, payload=payload(OTHER))
        sent = mend(client_of(study.ada), held, {"quote": "no such words", "start": 0})
        assert sent.status_code == 422
        assert "submit that first" in sent.json()["problems"][0]["message"]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("form", "said"),
        [
            ({"evidence": "[]"}, "quote the report for it"),
            ({"evidence": "{"}, "is not JSON"),
            ({"evidence": "[1]"}, "is not a list of {quote, start}"),
            ({"evidence": '[{"quote": "no such words", "start": 0}]'}, ""),
            ({"evidence": None}, "is not JSON"),
            ({"seen": "x"}, "is not a revision number"),
            ({"seen": None}, "is not a revision number"),
            ({"key": "x"}, "is not a UUID"),
        ],
    )
    def test_an_invalid_nugget_is_refused_with_the_reason(
        self, study: Study, form: dict[str, Any], said: str
    ) -> None:
        held = answered(study)
        sent = mend(client_of(study.ada), held, quote(OTHER), **form)
        assert sent.status_code == 422
        assert said in sent.json()["problems"][0]["message"]
        assert Response.objects.filter(assignment=held).count() == 1

    def test_an_unanswered_question_has_no_nuggets_to_edit(self, study: Study) -> None:
        held = answered(study)
        form = {"evidence": "[]", "seen": 1, "key": str(uuid.uuid4())}
        sent = client_of(study.ada).post(address(held, 0), form)
        assert sent.status_code == 422
        assert "did not find it answered" in sent.json()["problems"][0]["message"]

    def test_a_closed_report_campaign_is_left_as_it_is(self, study: Study) -> None:
        held = answered(study)
        Campaign.objects.filter(name="Study").update(is_open=False)
        assert not nuggets_for(to_rate(study))[BUILT].found[0].is_open
        sent = mend(client_of(study.ada), held, quote(OTHER))
        assert "campaign is closed" in sent.json()["problems"][0]["message"]

    def test_a_former_participant_cannot_edit_nuggets(self, study: Study) -> None:
        held = answered(study)
        end_membership(study.campaign, study.ada)
        sent = mend(client_of(study.ada), held, quote(OTHER))
        assert sent.status_code == 422
        assert "no longer take part" in sent.json()["problems"][0]["message"]
        assert spans(held) == [(MARKED, FULL.index(MARKED))]

    def test_only_an_answered_question_of_a_report_has_an_editor(self, study: Study) -> None:
        held = answered(study)
        mine = to_rate(study)
        client = client_of(study.ada)
        assert client.get(address(held, 99)).status_code == 404
        assert client.get(address(mine)).status_code == 404
        unanswered = study.assignment(study.ada)
        assert client.get(address(unanswered, 0)).status_code == 404


class TestWaiting:
    def words(self, study: Study, name: str) -> str:
        client = client_of(study.ada)
        ratings = Campaign.objects.get(name="Ratings")
        path = reverse(name, args=[ratings.pk] if name == "finished" else [])
        return " ".join(client.get(path).content.decode().split())

    def test_the_work_list_says_what_items_wait_for(self, study: Study) -> None:
        said = self.words(study, "work")
        ratings = said.partition("Ratings")[2].partition("</section>")[0]
        assert "0 of 4 · 4 waiting" in ratings
        assert "4 items wait for your own answers in “Study”" in ratings
        assert "All done" not in ratings
        assert "<form" not in ratings

    def test_asking_for_the_next_item_says_what_items_wait_for(self, study: Study) -> None:
        ratings = Campaign.objects.get(name="Ratings")
        sent = client_of(study.ada).post(reverse("take-next", args=[ratings.pk]))
        assert sent["Location"] == reverse("finished", args=[ratings.pk])
        said = self.words(study, "finished")
        assert "4 items wait" in said
        assert "<strong>Ratings</strong> waits for your own answers in “Study”" in said
        assert "All done" not in said

    def test_progress_counts_available_and_waiting_items_separately(self, study: Study) -> None:
        answered(study)
        said = self.words(study, "work")
        assert "0 of 4 · 2 waiting" in said
        mine = to_rate(study)
        bar = client_of(study.ada).get(page("progress", mine)).content.decode()
        assert 'max="4" value="0"' in bar
