"""What the trail records about a change, and what it must never record."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.test import Client

from annotation.answers.submission import submit
from annotation.audit_log import count_answers
from annotation.models import Assignment, User
from annotation.people import accounts
from audit.models import Event
from audit.recording import Actor, address_class, folded, on_behalf, record
from audit.seals import find_broken_seals, seal
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload

pytestmark = pytest.mark.django_db
COMMENT = "a comment that nobody else should read"


@once
def study() -> Study:
    return make_study()


def recorded() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("event", flat=True))


@pytest.mark.postgresql
def test_an_event_is_rolled_back_with_its_change() -> None:
    def fails() -> None:
        record("login", by=1)
        raise RuntimeError

    with pytest.raises(RuntimeError), transaction.atomic():
        fails()
    assert recorded() == []


def test_a_change_that_is_part_of_a_larger_one_is_not_recorded() -> None:
    with folded():
        record("account.off")
    record("account.forgotten")
    assert recorded() == ["account.forgotten"]


def test_an_event_records_the_request_and_the_class_of_its_address() -> None:
    with on_behalf(Actor(lambda: 4, "id-of-the-request", address_class("10.0.0.7"))):
        record("account.on", of=("account", 5))
    record("account.off", of=("account", 5))
    asked, by_command = Event.objects.order_by("pk")
    assert (asked.who, asked.request, asked.address) == (4, "id-of-the-request", "private")
    assert (by_command.who, by_command.request, by_command.address) == (None, "", "command")
    assert asked.at <= by_command.at


def test_recording_an_unknown_event_raises_an_error() -> None:
    with pytest.raises(ValueError, match="is not an event of"):
        record("something.happened")


def test_a_changed_answer_is_an_event_and_a_first_answer_is_not(study: Study) -> None:
    mine = study.assignment(study.ada)
    before = len(recorded())
    submit(mine, payload("no", COMMENT), "page")
    submit(mine, payload("no", COMMENT), "page")
    assert recorded()[before:] == []
    submit(mine, payload("no", COMMENT + "!"), "page")
    assert recorded()[before:] == ["answer.changed"]
    event = Event.objects.get(event="answer.changed")
    assert (event.campaign, event.object_id) == (study.campaign.pk, str(mine.pk))
    assert event.before != event.after
    assert COMMENT not in str(list(Event.objects.values()))
    submit(mine, payload("no", COMMENT), "page")
    assert Event.objects.filter(event="answer.changed").first().after == event.before  # type: ignore[union-attr]


@pytest.mark.postgresql
def test_each_count_covers_the_answers_since_the_last_one(study: Study) -> None:
    assert count_answers() == 0
    submit(study.assignment(study.ada), payload("no"), "page")
    submit(study.assignment(study.ben), payload("no"), "api")
    assert count_answers() == 1
    assert count_answers() == 0
    facts = Event.objects.get(event="answers.counted").facts
    assert {name: facts[name] for name in ("page", "api")} == {"page": 1, "api": 1}


class TestLoggingIn:
    def test_a_wrong_password_is_recorded_without_the_text_that_was_typed(
        self, study: Study
    ) -> None:
        for name in ("ada", "my-password-in-the-wrong-field"):
            Client().post("/login/", {"username": name, "password": "guess-guess"})
        known, unknown = Event.objects.filter(event="login.failed").order_by("pk")
        assert (known.object_id, unknown.object_id) == (str(study.ada.pk), "")
        whole = str(list(Event.objects.values()))
        assert "guess" not in whole
        assert "wrong-field" not in whole

    def test_attempts_on_a_locked_account_do_not_fill_the_trail(self, study: Study) -> None:
        for _ in range(14):
            Client().post("/login/", {"username": "ada", "password": "guess-guess"})
        assert Event.objects.filter(event="login.failed").count() < 11


@pytest.mark.postgresql
def test_a_forgotten_account_leaves_its_number_and_an_intact_chain(study: Study) -> None:
    mine = study.assignment(study.ada)
    submit(mine, payload("no"), "page")
    client_of(study.ada).post("/logout/")
    seal()
    pk, name = study.ada.pk, accounts.forget(study.ada)
    seal()
    assert not User.objects.filter(pk=pk).exists()
    assert Assignment.objects.get(pk=mine.pk).rater.name == name
    assert list(find_broken_seals()) == []
    assert recorded()[-1] == "account.forgotten"
