"""What is written down of a change, and what never is."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.test import Client

from annotation.answers.submission import submit
from annotation.audit_log import count_answers
from annotation.models import Assignment, User
from annotation.people import accounts
from audit.models import Event
from audit.recording import Actor, address_class, digest_of, folded, on_behalf, record
from audit.sealing import broken, seal
from tests.once import once
from tests.page_cast import PASSWORD, Study, client_of, make_study, payload

pytestmark = pytest.mark.django_db
COMMENT = "a comment that nobody else should read"


@once
def study() -> Study:
    return make_study()


def told() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("event", flat=True))


@pytest.mark.postgresql
def test_an_event_stands_or_falls_with_its_change() -> None:
    def fails() -> None:
        record("login", by=1)
        raise RuntimeError

    with pytest.raises(RuntimeError), transaction.atomic():
        fails()
    assert told() == []


def test_what_is_a_part_of_something_is_not_told_by_itself() -> None:
    with folded():
        record("account.off")
    record("account.forgotten")
    assert told() == ["account.forgotten"]


def test_an_event_names_the_request_and_the_class_of_its_address() -> None:
    with on_behalf(Actor(lambda: 4, "id-of-the-request", address_class("10.0.0.7"))):
        record("account.on", of=("account", 5))
    record("account.off", of=("account", 5))
    asked, by_command = Event.objects.order_by("pk")
    assert (asked.who, asked.request, asked.address) == (4, "id-of-the-request", "private")
    assert (by_command.who, by_command.request, by_command.address) == (None, "", "command")
    assert asked.at <= by_command.at


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("address", "found"),
    [("127.0.0.1", "loopback"), ("::1", "loopback"), ("192.168.1.4", "private"),
     ("8.8.8.8", "public"), ("no address", "unknown"), ("", "unknown")],
)  # fmt: skip
def test_of_an_address_only_its_class_is_kept(address: str, found: str) -> None:
    assert address_class(address) == found


@pytest.mark.every_case
@pytest.mark.parametrize("fact", ["two words", "x" * 61, "sk-ü", 1.5, ["a"], {"a": 1}])
def test_no_text_gets_in_as_a_fact(fact: object) -> None:
    with pytest.raises(ValueError, match="neither a whole number nor a plain word"):
        record("export", what=fact)  # type: ignore[arg-type]


def test_an_unknown_event_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="is not an event of"):
        record("something.happened")


def test_equal_states_of_two_objects_have_different_digests() -> None:
    assert digest_of("assignment", "1", "yes") == digest_of("assignment", "1", "yes")
    assert digest_of("assignment", "1", "yes") != digest_of("assignment", "2", "yes")
    assert digest_of("assignment", "1", None) == ""


@pytest.mark.postgresql
def test_a_first_answer_is_no_event_and_a_second_one_is(study: Study) -> None:
    mine = study.assignment(study.ada)
    before = len(told())
    submit(mine, payload("no", COMMENT), "page")
    submit(mine, payload("no", COMMENT), "page")
    assert told()[before:] == []
    submit(mine, payload("no", COMMENT + "!"), "page")
    assert told()[before:] == ["answer.changed"]
    event = Event.objects.get(event="answer.changed")
    assert (event.campaign, event.object_id) == (study.campaign.pk, str(mine.pk))
    assert event.before != event.after
    assert COMMENT not in str(list(Event.objects.values()))
    submit(mine, payload("no", COMMENT), "page")
    assert Event.objects.filter(event="answer.changed").first().after == event.before  # type: ignore[union-attr]


@pytest.mark.postgresql
def test_answers_are_counted_with_each_seal(study: Study) -> None:
    assert count_answers() == 0
    submit(study.assignment(study.ada), payload("no"), "page")
    submit(study.assignment(study.ben), payload("no"), "api")
    assert count_answers() == 1
    assert count_answers() == 0
    facts = Event.objects.get(event="answers.counted").facts
    assert {name: facts[name] for name in ("page", "api")} == {"page": 1, "api": 1}


class TestLoggingIn:
    @pytest.mark.postgresql
    def test_it_is_told_with_who_came(self, study: Study) -> None:
        Client().post("/login/", {"username": "ada", "password": PASSWORD})
        event = Event.objects.get(event="login")
        assert (event.who, event.address) == (study.ada.pk, "loopback")
        assert event.request

    def test_a_wrong_password_is_told_without_what_was_typed(self, study: Study) -> None:
        for name in ("ada", "my-password-in-the-wrong-field"):
            Client().post("/login/", {"username": name, "password": "guess-guess"})
        known, unknown = Event.objects.filter(event="login.failed").order_by("pk")
        assert (known.object_id, unknown.object_id) == (str(study.ada.pk), "")
        whole = str(list(Event.objects.values()))
        assert "guess" not in whole
        assert "wrong-field" not in whole

    def test_whoever_goes_on_while_it_is_locked_fills_nothing(self, study: Study) -> None:
        for _ in range(14):
            Client().post("/login/", {"username": "ada", "password": "guess-guess"})
        assert Event.objects.filter(event="login.failed").count() < 11

    def test_a_log_out_is_told(self, study: Study) -> None:
        client_of(study.ada).post("/logout/")
        assert told()[-2:] == ["login", "logout"]


@pytest.mark.postgresql
def test_who_is_forgotten_leaves_a_number_and_a_chain_that_holds(study: Study) -> None:
    mine = study.assignment(study.ada)
    submit(mine, payload("no"), "page")
    client_of(study.ada).post("/logout/")
    seal()
    pk, name = study.ada.pk, accounts.forget(study.ada)
    seal()
    assert not User.objects.filter(pk=pk).exists()
    assert Assignment.objects.get(pk=mine.pk).rater.name == name
    assert list(broken()) == []
    assert told()[-1] == "account.forgotten"
