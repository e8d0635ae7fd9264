"""When a service is down or broken, errors are useful to a script and reveal no internals."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import InterfaceError, OperationalError

from annotation.api import answers, campaigns
from annotation.models import Response
from tests.api.cast import assert_error, body, place, script_of
from tests.page_cast import Study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_while_the_database_is_down_the_api_says_when_to_try_again(
    study: Study, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def away(*arguments: object) -> None:
        raise error("server closed the connection at 10.0.0.1")

    ada, mine = script_of(study.ada), study.assignment(study.ada)
    monkeypatch.setattr(answers, "submit", away)
    answer = ada.put(place(mine, "response/"), body("no", "no", "no"))
    assert assert_error(answer, 503) == []
    assert int(answer["Retry-After"]) > 0
    assert b"10.0.0.1" not in answer.content
    assert not Response.objects.exists()


def test_a_save_gets_through_once_the_database_is_back(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*arguments: object) -> None:
        raise OperationalError

    ada, mine = script_of(study.ada), study.assignment(study.ada)
    with monkeypatch.context() as patched:
        patched.setattr(answers, "submit", away)
        ada.put(place(mine, "response/"), body("no", "no", "no"), Idempotency_Key="k")
    again = ada.put(place(mine, "response/"), body("no", "no", "no"), Idempotency_Key="k")
    assert again.status_code == 201


def test_an_internal_error_shows_the_request_id_but_no_internals(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr(campaigns, "visible_campaigns", broken)
    ada = script_of(study.ada)
    answer: Any = ada.client.get(
        "/api/v1/campaigns/", headers={"Authorization": f"Token {ada.token}"}
    )
    assert assert_error(answer, 500) == []
    assert answer["X-Request-ID"]
    assert b"inside" not in answer.content
