"""Tokens: made on the command line, shown once, kept as hashes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management.base import CommandError
from django.utils import timezone
from knox.models import AuthToken

from annotation.models import User
from datasets import granting
from datasets.granting import TokenError, make_token, take_all_back, take_back, tokens_of
from datasets.models import Grant
from tests.api.cast import Script, assert_told
from tests.cast import run
from tests.page_cast import Study

pytestmark = pytest.mark.django_db


def test_a_token_is_printed_once_and_kept_as_a_hash(study: Study) -> None:
    said = run("create_token", "ada")
    token = said.strip()
    assert token.startswith("tandem_")
    assert said.count("\n") == 1
    assert len(token) > 60
    kept = AuthToken.objects.get()
    assert token not in {kept.digest, kept.token_key}
    assert Script(token).get("").json()["account"] == "ada"


def test_it_lasts_a_year_unless_told_otherwise(study: Study) -> None:
    for days, arguments in ((365, ()), (2, ("--days", "2"))):
        AuthToken.objects.all().delete()
        run("create_token", "ada", *arguments)
        left = AuthToken.objects.get().expiry - timezone.now()
        assert timedelta(days=days) - timedelta(minutes=5) < left <= timedelta(days=days)


def test_a_token_that_has_run_out_opens_nothing(study: Study) -> None:
    script = Script(run("create_token", "ada", "--days", "1").strip())
    AuthToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert_told(script.get(""), 401)


def test_all_tokens_of_an_account_are_taken_back_at_once(study: Study) -> None:
    scripts = [Script(run("create_token", "ada").strip()) for _ in range(2)]
    other = Script(run("create_token", "ben").strip())
    assert run("create_token", "ada", "--revoke") == "Took back 2 tokens of 'ada'.\n"
    for script in scripts:
        assert_told(script.get(""), 401)
    assert other.get("").status_code == 200


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody",), "There is no account"),
        (("ada", "--days", "0"), "lasts from 1 to 3650 days"),
        (("ada", "--days", "99999999"), "lasts from 1 to 3650 days"),
        (("ada", "--days", "1", "--revoke"), "not allowed with"),
    ],
)
def test_what_it_cannot_do_is_one_line(study: Study, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run("create_token", *arguments)
    assert not AuthToken.objects.exists()


@pytest.mark.every_case
@pytest.mark.parametrize(("days", "fits"), [(0, False), (1, True), (3650, True), (3651, False)])
def test_it_lasts_from_a_day_to_ten_years(study: Study, days: int, fits: bool) -> None:
    if not fits:
        with pytest.raises(TokenError, match="lasts from 1 to 3650 days"):
            make_token(study.ada, days=days)
    else:
        assert make_token(study.ada, days=days)
    assert AuthToken.objects.count() == fits


def test_a_note_has_no_more_characters_than_are_kept(study: Study) -> None:
    longest = Grant._meta.get_field("note").max_length or 0
    grant, _ = make_token(study.ada, note="x" * longest)
    assert grant.note == "x" * longest
    with pytest.raises(TokenError, match=f"up to {longest} characters"):
        make_token(study.ada, note="x" * (longest + 1))


def test_an_account_has_fifty_tokens_that_have_not_run_out(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert granting.MOST_TOKENS == 50
    monkeypatch.setattr(granting, "MOST_TOKENS", 2)
    make_token(study.ben)
    make_token(study.ada)
    last, _ = make_token(study.ada)
    with pytest.raises(TokenError, match="has 2 tokens"):
        make_token(study.ada)
    AuthToken.objects.filter(pk=last.token_id).update(expiry=timezone.now() - timedelta(seconds=1))
    assert make_token(study.ada)


@pytest.mark.every_case
@pytest.mark.parametrize("deed", ["make", "take back", "take all back"])
def test_what_is_not_written_down_does_not_happen(
    study: Study, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("no space left")

    grant, _ = make_token(study.ada)
    monkeypatch.setattr(granting, "record", broken)
    deeds = {
        "make": lambda: make_token(study.ada),
        "take back": lambda: take_back(grant),
        "take all back": lambda: take_all_back(study.ada),
    }
    with pytest.raises(OSError, match="no space"):
        deeds[deed]()
    assert tokens_of(study.ada).get() == grant
    assert AuthToken.objects.count() == 1


def test_a_guest_gets_none_and_nobody_a_scope_without_use(study: Study) -> None:
    with pytest.raises(TokenError, match="no use for the scope manage"):
        make_token(study.ada, ["read", "manage"])
    User.objects.filter(pk=study.ada.pk).update(is_guest=True)
    study.ada.refresh_from_db()
    with pytest.raises(TokenError, match="a guest has no token"):
        make_token(study.ada)
    assert not AuthToken.objects.exists()


def test_to_take_one_back_leaves_the_others(study: Study) -> None:
    gone, kept = make_token(study.ada)[0], make_token(study.ada)[0]
    others, _ = make_token(study.ben)
    take_back(gone)
    assert list(tokens_of(study.ada)) == [kept]
    assert take_all_back(study.ada) == 1
    assert list(AuthToken.objects.all()) == [others.token]


def test_an_account_that_is_switched_off_gets_none(study: Study) -> None:
    study.ada.is_active = False
    study.ada.save()
    with pytest.raises(CommandError, match="switched off"):
        run("create_token", "ada")
