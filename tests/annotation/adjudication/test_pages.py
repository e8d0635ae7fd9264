"""The pages of adjudicators: what they show, to whom, and what they never show."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.models import Assignment, Decision, Item, Rater, Unit, User
from annotation.people.membership import add_member, end_membership
from annotation.presentation import CHANGED
from annotation.progress import counts
from annotation.views import adjudication, work
from tests.annotation.adjudication.cast import (
    BOAT,
    REASON,
    SHALOM,
    Dispute,
    decided,
    form,
    make_dispute,
)
from tests.once import once
from tests.page_cast import TEXT, client_of

pytestmark = pytest.mark.django_db
HIDDEN = ("planted-judge", "hidden-system", "person-", ">ada<", ">ben<", ">cleo<")


@once
def there() -> Dispute:
    return make_dispute()


def address(there: Dispute, unit: Unit, name: str = "adjudication-unit") -> str:
    return reverse(name, args=[there.study.campaign.pk, unit.pk])


def queue_of(there: Dispute) -> str:
    return reverse("adjudication", args=[there.study.campaign.pk])


def shown(there: Dispute, user: User | None = None) -> str:
    answer = client_of(user or there.dora).get(address(there, there.units[0]))
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def opinions_on(page: str) -> dict[str, dict[str, Any]]:
    cards = re.findall(r'data-answer="(.*?)" data-name="(.*?)"', page)
    return {name: json.loads(answer) for answer, name in cards}


class TestTheQueue:
    def test_the_queue_page_lists_disputes_in_order(self, there: Dispute) -> None:
        page = client_of(there.dora).get(queue_of(there)).content.decode()
        places = [page.index(address(there, unit)) for unit in there.units]
        assert places == sorted(places)
        assert "<strong>3 questions</strong> in 1 item." in page

    def test_numbers_count_people_and_no_judge_has_a_vote(self, there: Dispute) -> None:
        """With the judge the second would read 3 : 1, and a judge beside one person a tie."""
        page = client_of(there.dora).get(queue_of(there)).content.decode()
        found = re.findall(r"</i> ([^<]+)</span>", page)
        assert found == ["1 : 1 : 1", "2 : 1", "people agree, a judge differs"]
        assert "Numbers count people." in page

    def test_an_item_whose_texts_were_changed_is_a_row_that_says_so(self, there: Dispute) -> None:
        decided(there, there.units[1], "no")
        Item.objects.filter(pk=there.units[0].item_id).update(key="changed")
        for part in ("", "?state=decided"):
            assert CHANGED in listed(there, part)

    def test_filters_of_the_queue_are_in_the_address(self, there: Dispute) -> None:
        page = client_of(there.dora).get(queue_of(there) + "?of=people").content.decode()
        assert address(there, there.units[0]) + "?of=people" in page
        assert address(there, there.units[2]) not in page

    def test_continue_opens_the_first_dispute_of_the_filtered_queue(self, there: Dispute) -> None:
        there_is = reverse("adjudication-next", args=[there.study.campaign.pk])
        answer = client_of(there.dora).get(there_is + "?of=judges")
        assert answer["Location"] == address(there, there.units[2]) + "?of=judges"

    @pytest.mark.parametrize("part", ["of=names", "variable=rater", "state=x"])
    def test_an_unknown_filter_of_the_queue_is_404(self, there: Dispute, part: str) -> None:
        assert client_of(there.dora).get(f"{queue_of(there)}?{part}").status_code == 404

    def test_my_work_links_to_the_queue_of_disputes(self, there: Dispute) -> None:
        assert queue_of(there) in client_of(there.dora).get("/tasks/").content.decode()
        assert queue_of(there) not in client_of(there.study.ada).get("/tasks/").content.decode()


def listed(there: Dispute, part: str = "", user: User | None = None) -> str:
    """The text of the queue's page."""
    page = client_of(user or there.dora).get(queue_of(there) + part).content.decode()
    (found,) = re.findall(r'<ol class="disputes[^>]*>(.*?)</ol>', page, re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found)).split())


class TestDecidedUnits:
    def test_the_list_shows_value_answers_adjudicator_time_and_reason(self, there: Dispute) -> None:
        decided(there, there.units[1], "no", reason="Only the year is there.")
        shown = listed(there, "?state=decided")
        assert "Decided: No people: Yes ×2 , No ×1 by you," in shown
        assert "Only the year is there." in shown
        made = Decision.objects.get().response.created_at
        assert f"{timezone.localtime(made):%-d %b %Y, %H:%M}" in shown
        page = client_of(there.dora).get(queue_of(there) + "?state=decided").content.decode()
        assert f'href="{address(there, there.units[1])}?state=decided"' in page

    def test_only_people_are_counted_and_nobody_is_named(self, there: Dispute) -> None:
        """On the third question all people say no, and the judge alone yes."""
        decided(there, there.units[2], "invalid", by=there.dirk)
        shown = listed(there, "?state=decided")
        assert "Decided: The question is not valid" not in shown
        assert "people: No ×3 by another adjudicator," in shown
        assert not [name for name in (*HIDDEN, "dirk") if name in shown]

    def test_an_open_dispute_shows_no_answers(self, there: Dispute) -> None:
        shown = listed(there)
        assert "1 : 1 : 1" in shown
        assert not re.search(r"\b(Yes|No)\b", shown)

    def test_a_list_takes_the_same_queries_however_many_units_are_decided(
        self, there: Dispute
    ) -> None:
        numbers = []
        for unit in there.units:
            decided(there, unit)
            with CaptureQueriesContext(connection) as queries:
                listed(there, "?state=decided")
            numbers.append(len(queries))
        # The first view also stores a look.
        assert abs(numbers[2] - numbers[1]) <= 2

    def test_long_queues_have_pages(self, there: Dispute, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adjudication, "PAGE_LINES", 2)
        client = client_of(there.dora)
        first = client.get(queue_of(there) + "?of=all").content.decode()
        assert address(there, there.units[1]) in first
        assert address(there, there.units[2]) not in first
        assert 'rel="next" href="?page=2#disputes"' in first
        second = client.get(queue_of(there) + "?page=2").content.decode()
        assert address(there, there.units[2]) in second
        assert "Page 2 of 2" in second


class TestMyWork:
    def card(self, there: Dispute, user: User | None = None) -> str:
        page = client_of(user or there.dora).get("/tasks/").content.decode()
        found = re.search(r'aria-labelledby="adjudicate-.*?</section>', page, re.DOTALL)
        text = re.sub(r"<[^>]+>", " ", found[0] if found else "")
        return " ".join(html.unescape(text).split())

    def test_the_card_counts_open_and_decided_disputes(self, there: Dispute) -> None:
        assert "3 questions to decide" in self.card(there)
        assert "decided" not in self.card(there)
        decided(there, there.units[0], by=there.dirk)
        assert "2 questions to decide · 1 decided" in self.card(there)
        for unit in there.units[1:]:
            decided(there, unit)
        assert "Nothing to decide here · 3 decided" in self.card(there)

    def test_the_card_counts_like_the_queue_without_ones_own_units(self, there: Dispute) -> None:
        end_membership(there.study.campaign, there.study.ada)
        add_member(there.study.campaign, there.study.ada, "adjudicator")
        assert "No disputes so far" in self.card(there, there.study.ada)

    def test_disputes_of_a_large_campaign_are_counted_once_a_minute(
        self, there: Dispute, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(counts, "MANY", 1)
        assert "3 questions to decide" in self.card(there)
        monkeypatch.setattr(work, "disputed_units", lambda campaign: pytest.fail("again"))
        decided(there, there.units[0])
        assert "2 questions to decide · 1 decided" in self.card(there)
        caches["reports"].clear()


class TestADispute:
    def test_a_dispute_shows_all_labels_with_highlights(self, there: Dispute) -> None:
        said = opinions_on(shown(there)).values()
        assert sorted(each["answerable"] for each in said) == ["invalid", "no", "yes", "yes"]
        (quote, _) = [each["evidence"][0] for each in said if each["answerable"] == "yes"]
        words, start = quote["quote"], quote["start"]
        assert TEXT[start : start + len(words)] == words == BOAT[0]

    def test_raters_go_by_letters_whose_meaning_is_on_the_page(self, there: Dispute) -> None:
        assert sorted(opinions_on(shown(there))) == ["Rater A", "Rater B", "Rater C", "Rater D"]
        key = "Letters stand for people and judges, in an order drawn anew for each unit."
        assert key in shown(there)

    def test_a_dispute_page_is_in_the_readers_language(self, there: Dispute) -> None:
        dora, first = client_of(there.dora), there.units[0]
        dora.post("/account/language/", {"language": "de"})
        assert (
            "<strong>3 Fragen</strong> in 1 Aufgabe." in dora.get(queue_of(there)).content.decode()
        )
        assert "3 Fragen zu entscheiden" in dora.get("/tasks/").content.decode()
        page = dora.get(address(there, first)).content.decode()
        assert "<h3>Stimme A</h3>" in page
        reply = dora.post(address(there, first, "decide"), form(first, reason="")).json()
        assert reply["problems"][0]["message"] == "geben Sie den Grund Ihrer Entscheidung an"

    def test_comments_are_shown_with_their_raters(self, there: Dispute) -> None:
        assert "hard to say" in shown(there)

    @pytest.mark.first_case
    @pytest.mark.parametrize("decide_first", [False, True])
    def test_a_dispute_page_contains_no_names(self, there: Dispute, decide_first: bool) -> None:
        if decide_first:
            decided(there, there.units[0], by=there.dirk)
        client = client_of(there.dora)
        first = there.units[0]
        conflict = client.post(address(there, first, "decide"), form(first, reason="Mine."))
        assert conflict.status_code == (409 if decide_first else 200)
        bodies = [client.get(queue_of(there)).content, conflict.content]
        bodies += [client.get(address(there, unit)).content for unit in there.units]
        bodies.append(client.get(queue_of(there) + "?state=decided").content)
        for body in bodies:
            text = html.unescape(body.decode())
            assert not [name for name in (*HIDDEN, "dirk") if name in text]

    def test_a_decided_dispute_shows_its_history(self, there: Dispute) -> None:
        decided(there, there.units[0], by=there.dirk)
        decided(there, there.units[0], "no", seen=1, reason="No: <b>left</b>.")
        page = client_of(there.dora).get(address(there, there.units[0])).content.decode()
        assert "by you" in page
        assert "by another adjudicator" in page
        assert REASON in page
        assert "No: &lt;b&gt;left&lt;/b&gt;." in page
        assert 'data-seen="2"' in page

    def test_a_dispute_page_is_not_cached(self, there: Dispute) -> None:
        answer = client_of(there.dora).get(address(there, there.units[0]))
        assert "no-store" in answer["Cache-Control"]

    def test_a_dispute_page_shows_the_campaigns_guideline(self, there: Dispute) -> None:
        place = reverse("adjudication-guideline", args=[there.study.campaign.pk])
        assert client_of(there.dora).get(place).status_code == 200


class TestDeciding:
    def test_deciding_leads_to_the_next_dispute_of_the_same_item(self, there: Dispute) -> None:
        first, second, _ = there.units
        sent = client_of(there.dora).post(
            address(there, first, "decide") + "?of=people", form(first, "yes", SHALOM)
        )
        assert sent.status_code == 200
        assert sent.json()["next"] == address(there, second) + "?of=people"
        assert Decision.objects.get().response.payload["comment"] == REASON

    def test_deciding_the_last_dispute_leads_back_to_the_queue(self, there: Dispute) -> None:
        first, second, third = there.units
        decided(there, first)
        decided(there, second)
        sent = client_of(there.dora).post(address(there, third, "decide"), form(third))
        assert sent.json()["next"] == queue_of(there)

    def test_a_conflicting_decision_shows_both_decisions(self, there: Dispute) -> None:
        first = there.units[0]
        place = address(there, first, "decide")
        assert client_of(there.dirk).post(place, form(first, "no")).status_code == 200
        lost = client_of(there.dora).post(place, form(first, "yes", SHALOM, reason="Mine."))
        assert lost.status_code == 409
        reply = lost.json()
        assert reply["revision"] == 1
        assert reply["mine"]["comment"] == "Mine."
        assert reply["theirs"]["units"][first.name]["answerable"] == "no"
        again = form(first, "yes", SHALOM, reason="Mine.", seen=1)
        assert client_of(there.dora).post(place, again).status_code == 200
        assert Decision.objects.count() == 2

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("sent", "message"),
        [
            ({"comment": " "}, "give the reason of your decision"),
            ({"unit-0-answerable": "maybe"}, "not a code"),
            ({"unit-0-answerable": "yes"}, "quote the report"),
            ({"seen": "x"}, "not a whole number"),
            ({"unit-0": "q:1"}, "was not asked"),
        ],
    )
    def test_an_invalid_decision_is_explained(
        self, there: Dispute, sent: dict[str, str], message: str
    ) -> None:
        first = there.units[0]
        answer = client_of(there.dora).post(
            address(there, first, "decide"), {**form(first), **sent}
        )
        assert answer.status_code == 422
        assert any(message in problem["message"] for problem in answer.json()["problems"])
        assert not Decision.objects.exists()

    def test_a_text_changed_since_the_page_opened_is_reported(self, there: Dispute) -> None:
        first = there.units[0]
        answer = client_of(there.dora).post(
            address(there, first, "decide"), form(first, basis="0" * 12)
        )
        assert (answer.status_code, bool(answer.json()["changed"])) == (409, True)


def test_a_long_queue_takes_no_more_queries(there: Dispute) -> None:
    client = client_of(there.dora)

    def queries() -> list[int]:
        counts = []
        for place in (queue_of(there), address(there, there.units[0])):
            with CaptureQueriesContext(connection) as found:
                assert client.get(place).status_code == 200
            counts.append(len(found))
        return counts

    queries()
    before = queries()
    second = there.study.campaign.items.get(position=1)
    for n in range(12):
        rater = Rater.objects.create(name=f"more-{n}")
        for item in (there.item, second):
            made = Assignment.objects.create(item=item, rater=rater, asked=["q:0", "q:1", "q:2"])
            unit: dict[str, Any] = {"answerable": ("no", "invalid")[n % 2], "evidence": []}
            submit(made, {"units": {f"q:{k}": unit for k in range(3)}, "comment": None}, "api")
    queries()  # the first look at new answers is recorded in the ledger
    assert queries() == before
