"""Tokens: created on the command line, shown once, stored as hashes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management.base import CommandError
from django.utils import timezone
from knox.models import AuthToken
from rest_framework.settings import api_settings

from audit.models import Event
from datasets.api import concurrency
from tests.api.cast import Script, assert_error
from tests.api.test_description import description
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


class TestBearer:
    """Many HTTP libraries and notebooks only know `Bearer`."""

    @pytest.fixture
    def token(self, study: Study) -> str:
        return run("create_token", "rita").strip()

    @pytest.mark.parametrize("word", ["Token", "Bearer", "bearer", "BEARER"])
    def test_either_word_gives_the_same_access(self, token: str, word: str) -> None:
        answer = Script("").get("", Authorization=f"{word} {token}")
        assert (answer.status_code, answer.json()["account"]) == (200, "rita")
        assert_error(Script("").get("", Authorization=f"{word} {token[:-1]}"), 401)

    def test_a_refusal_names_the_word_that_was_used(self, token: str) -> None:
        for used, named in (("Bearer x", "Bearer"), ("Token x", "Token"), ("", "Token")):
            answer = Script("").get("", Authorization=used)
            assert (answer.status_code, answer["WWW-Authenticate"]) == (401, named)

    def test_scopes_and_limits_of_the_account_are_the_same(
        self, study: Study, token: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        words = [f"Token {token}", f"Bearer {token}"]
        for word in words:
            assert_error(Script("").post("campaigns/", {}, Authorization=word), 403)
        monkeypatch.setattr(api_settings, "DEFAULT_THROTTLE_RATES", {"user": "3/min"})
        monkeypatch.setattr(concurrency, "_now", lambda: 7200)
        asked = [Script("").get("", Authorization=word).status_code for word in words * 2]
        assert asked == [200, 200, 200, 429]

    def test_an_export_is_recorded_for_the_account(self, study: Study, token: str) -> None:
        path = f"campaigns/{study.campaign.pk}/labels/"
        assert Script("").get(path, Authorization=f"Bearer {token}").status_code == 200
        newest = Event.objects.filter(event="export").latest("pk")
        assert (newest.who, newest.campaign) == (study.rita.pk, study.campaign.pk)

    def test_the_description_offers_both(self) -> None:
        schemes = description()["components"]["securitySchemes"]
        assert (schemes["bearer"]["type"], schemes["bearer"]["scheme"]) == ("http", "bearer")
        assert schemes["token"]["name"] == "Authorization"


def test_an_expired_token_gives_no_access(study: Study) -> None:
    script = Script(run("create_token", "ada", "--days", "1").strip())
    AuthToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert_error(script.get(""), 401)


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
