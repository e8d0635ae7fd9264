"""Drafts, answers and conflicts from the item page are handled."""

from __future__ import annotations

import html
import json
import re
import uuid

import pytest
from django.db import OperationalError
from django.urls import reverse

from annotation.models import Assignment, Draft, Label, Response, Span
from annotation.presentation import ForgottenItemError
from tests.once import once
from tests.page_cast import TEXT, Study, answers, client_of, make_study, page

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study()


def test_a_draft_is_stored_and_restored(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    sent = client.post(page("draft", mine), answers("yes", None, None, version=0, comment="odd 🛶"))
    assert sent.json()["version"] == 1
    shown = client.get(page("item", mine)).content.decode()
    assert re.search(r'name="unit-0-answerable" value="yes" checked', shown)
    assert html.escape(json.dumps([{"quote": "Zoë 🛶", "start": 0}], ensure_ascii=False)) in shown
    assert "odd 🛶" in shown
    assert not Label.objects.exists()


def test_a_stale_draft_is_a_conflict_with_both_versions(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    client.post(page("draft", mine), answers("no", None, None, version=0))
    answer = client.post(page("draft", mine), answers("invalid", None, None, version=0))
    assert answer.status_code == 409
    body = answer.json()
    assert body["mine"]["units"]["q:0"]["answerable"] == "invalid"
    assert body["theirs"]["units"]["q:0"]["answerable"] == "no"
    assert body["version"] == 1
    kept = client.post(page("draft", mine), answers("invalid", None, None, version=1))
    assert kept.json()["version"] == 2


def test_the_same_draft_twice_is_one_version(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    form = answers("no", None, None, version=0)
    versions = [client.post(page("draft", mine), form).json()["version"] for _ in range(2)]
    assert versions == [1, 1]


def test_a_draft_over_an_unseen_answer_is_a_conflict(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    client.post(page("submit", mine), answers("no", "no", "no", seen=0))
    late = client.post(page("draft", mine), answers("invalid", "no", "no", version=0, seen=0))
    assert late.status_code == 409
    assert late.json()["revision"] == 1


@pytest.mark.every_case
@pytest.mark.parametrize(
    "evidence",
    [
        "{",
        '"text"',
        '[{"quote": "a\\u0000", "start": 0}]',
        '[{"quote": "\\ud83d", "start": 0}]',
        '[{"quote": "a", "start": true}]',
        '[{"quote": "a", "start": 0, "more": 1}]',
        "[" * 900 + "]" * 900,
    ],
)
def test_a_draft_that_no_page_sends_is_refused(study: Study, evidence: str) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    form = answers("no", None, None, version=0) | {"unit-0-evidence": evidence}
    answer = client.post(page("draft", mine), form)
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["unit"] == "q:0"
    assert not Draft.objects.exists()


@pytest.mark.every_case
@pytest.mark.parametrize("field", ["version", "seen"])
@pytest.mark.parametrize("value", ["-1", "x", "1" * 10, "²"])
def test_a_malformed_version_number_is_refused(study: Study, field: str, value: str) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    answer = client.post(page("draft", mine), answers("no", None, None) | {field: value})
    assert answer.status_code == 422


def test_an_answer_becomes_labels_whose_spans_quote_the_text(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    quote = "👩‍👩‍👧 crew – cafe\u0301 –"
    start = TEXT.index(quote)
    form = answers("yes", "no", "invalid", quote=(quote, start), seen=0, seconds="12.5")
    answer = client.post(page("submit", mine), form)
    assert answer.json()["revision"] == 1
    span = Span.objects.get()
    assert (span.start, span.end) == (start, start + len(quote))
    assert TEXT[span.start : span.end] == span.quote == quote
    assert sorted(Label.objects.values_list("value", flat=True)) == ["invalid", "no", "yes"]
    mine.refresh_from_db()
    assert (mine.status, mine.seconds) == ("done", 12.5)
    assert not Draft.objects.exists()


def test_a_save_repeated_after_a_later_draft_leaves_the_draft(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    form = answers("no", "no", "no", key=uuid.uuid4(), seen=0, version=0)
    client.post(page("submit", mine), form)
    client.post(page("draft", mine), answers("invalid", "no", "no", version=0, seen=1))
    assert client.post(page("submit", mine), form).status_code == 200
    assert Draft.objects.get().payload["units"]["q:0"]["answerable"] == "invalid"


def test_a_second_tab_with_an_old_version_gets_a_conflict_and_loses_nothing(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    client.post(page("submit", mine), answers("no", "no", "no", key=uuid.uuid4(), seen=0))
    late = answers("invalid", "no", "no", key=uuid.uuid4(), seen=0)
    answer = client.post(page("submit", mine), late)
    assert answer.status_code == 409
    assert answer.json()["theirs"]["units"]["q:0"]["answerable"] == "no"
    assert answer.json()["mine"]["units"]["q:0"]["answerable"] == "invalid"
    again = client.post(page("submit", mine), late | {"seen": 1})
    assert again.json()["revision"] == 2
    assert list(mine.responses.order_by("revision").values_list("current", flat=True)) == [
        False,
        True,
    ]


def test_an_answer_over_an_unseen_draft_is_a_conflict(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    client.post(page("draft", mine), answers("invalid", None, None, version=0))
    answer = client.post(page("submit", mine), answers("no", "no", "no", version=0, seen=0))
    assert answer.status_code == 409
    assert Draft.objects.exists()
    assert not Response.objects.exists()


def test_a_refused_answer_names_its_unit_and_keeps_the_draft(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    client.post(page("draft", mine), answers("yes", "no", "no", version=0))
    form = answers("yes", "no", "no", version=1) | {"unit-0-evidence": "[]"}
    client.post(page("draft", mine), form)
    answer = client.post(page("submit", mine), form | {"version": 2})
    assert answer.status_code == 422
    assert [p["unit"] for p in answer.json()["problems"]] == ["q:0"]
    assert Draft.objects.exists()


def test_a_closed_campaign_is_read_only(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    study.campaign.is_open = False
    study.campaign.save()
    assert "This campaign is closed" in client.get(page("item", mine)).content.decode()
    for name in ("draft", "submit"):
        assert client.post(page(name, mine), answers("no", "no", "no")).status_code == 422
    assert client.post(reverse("take-next", args=[study.campaign.pk])).status_code == 404


@pytest.mark.postgresql
class TestNextItem:
    """The next item is assigned in the transaction of the answer."""

    def save(self, study: Study, monkeypatch: pytest.MonkeyPatch, error: Exception) -> int:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr("annotation.views.answers.next_in_transaction", fail)
        mine, client = study.assignment(study.ada), client_of(study.ada)
        client.raise_request_exception = False
        form = answers("no", "no", "no", version=0, seen=0)
        return client.post(page("submit", mine), form).status_code

    def test_an_answer_is_stored_even_if_the_next_item_cannot_be_shown(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.save(study, monkeypatch, ForgottenItemError("gone")) == 500
        assert Response.objects.filter(current=True).count() == 1

    def test_nothing_is_half_stored_if_the_database_becomes_unreachable(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.save(study, monkeypatch, OperationalError("gone")) == 503
        assert not Response.objects.exists()
        assert not Assignment.objects.exclude(status="open").exists()
