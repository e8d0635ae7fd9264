"""Tokens: created on the command line, shown once, stored as hashes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management.base import CommandError
from django.utils import timezone
from knox.models import AuthToken

from tests.api.cast import Script, assert_error
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


def test_a_token_lasts_a_year_by_default(study: Study) -> None:
    for days, arguments in ((365, ()), (2, ("--days", "2"))):
        AuthToken.objects.all().delete()
        run("create_token", "ada", *arguments)
        left = AuthToken.objects.get().expiry - timezone.now()
        assert timedelta(days=days) - timedelta(minutes=5) < left <= timedelta(days=days)


def test_an_expired_token_gives_no_access(study: Study) -> None:
    script = Script(run("create_token", "ada", "--days", "1").strip())
    AuthToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert_error(script.get(""), 401)


def test_all_tokens_of_an_account_can_be_revoked_at_once(study: Study) -> None:
    scripts = [Script(run("create_token", "ada").strip()) for _ in range(2)]
    other = Script(run("create_token", "ben").strip())
    assert run("create_token", "ada", "--revoke") == "Revoked 2 tokens of 'ada'.\n"
    for script in scripts:
        assert_error(script.get(""), 401)
    assert other.get("").status_code == 200


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody",), "There is no account"),
        (("ada", "--days", "0"), "is valid for 1 to 3650 days"),
        (("ada", "--days", "99999999"), "is valid for 1 to 3650 days"),
        (("ada", "--days", "1", "--revoke"), "not allowed with"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(
    study: Study, arguments: tuple[str, ...], said: str
) -> None:
    with pytest.raises(CommandError, match=said):
        run("create_token", *arguments)
    assert not AuthToken.objects.exists()


def test_a_disabled_account_gets_no_token(study: Study) -> None:
    study.ada.is_active = False
    study.ada.save()
    with pytest.raises(CommandError, match="is disabled"):
        run("create_token", "ada")
