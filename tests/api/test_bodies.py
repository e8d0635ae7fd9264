"""Request bodies and request rates above their limits are refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import override_settings
from rest_framework.exceptions import ParseError
from rest_framework.settings import api_settings

from annotation.models import Response
from datasets.api import concurrency
from datasets.api.concurrency import PerUser
from datasets.api.parsers import MAX_DEPTH, parse_body
from tests.api.cast import Script, as_json, assert_error, body, place, script_of
from tests.page_cast import Study


@pytest.fixture
def ada(study: Study) -> Script:
    return script_of(study.ada)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"units": {}, "units": {}}', "appears twice"),
        (b'{"seconds": NaN}', "not a JSON number"),
        (b'{"seconds": -Infinity}', "not a JSON number"),
        (b'{"seconds": 1e999}', "too large"),
        (b'{"seconds": ' + b"9" * 5000 + b"}", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b'{"comment": "a\\u0000b"}', "half a surrogate pair"),
        (b'{"comment": "\\ud83d"}', "half a surrogate pair"),
        (b'{"\\udead": 1}', "half a surrogate pair"),
        (b"[" * 100_000 + b"]" * 100_000, "levels"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "levels"),
    ],
)
def test_an_ambiguous_or_broken_body_is_refused(sent: bytes, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        parse_body(sent)


def test_any_valid_json_is_read_unchanged() -> None:
    value = {"a": [1, -2.5, None, True, "🌉 שלום\r\n\u2028"], "ключ": {"b": {}}, "big": 10**30}
    assert parse_body(as_json(value)) == value
    assert parse_body(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


@pytest.mark.every_case
@pytest.mark.parametrize("sent", [b"{", b'"text"', b"[]", b"null", b"7", b"[" * 100_000])
def test_the_api_answers_a_broken_body_with_400(study: Study, ada: Script, sent: bytes) -> None:
    mine = study.assignment(study.ada)
    assert_error(ada.put(place(mine, "response/"), sent), 400)
    assert not Response.objects.exists()


def test_a_body_with_another_content_type_than_json_is_refused(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; a=b"):
        sent = ada.put(place(mine, "response/"), body("no", "no", "no"), Content_Type=kind)
        assert assert_error(sent, 415) == []


def test_a_body_above_the_limit_is_refused(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000):
        assert_error(
            ada.put(place(mine, "response/"), body("no", "no", "no", comment="x" * 1000)), 413
        )
        fits = ada.put(place(mine, "response/"), body("no", "no", "no"))
    assert fits.status_code == 201


def test_the_error_for_an_empty_body_names_the_missing_field(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    (problem,) = assert_error(ada.put(place(mine, "response/"), {}), 400)
    assert problem["field"] == "units"


def test_an_account_over_its_limit_is_told_when_to_try_again(
    study: Study, ada: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {**api_settings.DEFAULT_THROTTLE_RATES, "user": "3/min"}
    monkeypatch.setattr(api_settings, "DEFAULT_THROTTLE_RATES", rates)
    monkeypatch.setattr(concurrency, "_now", lambda: 125)
    assert [ada.get("").status_code for _ in range(4)] == [200, 200, 200, 429]
    late = ada.get("")
    assert assert_error(late, 429) == []
    assert late["Retry-After"] == "55"
    assert script_of(study.ben).get("").status_code == 200
    assert script_of(study.ada).get("").status_code == 429, "both tokens share the account's limit"
    monkeypatch.setattr(concurrency, "_now", lambda: 180)
    assert ada.get("").status_code == 200


def test_the_limits_of_each_kind_of_request_are_these() -> None:
    assert api_settings.DEFAULT_THROTTLE_RATES == {
        "user": "600/min",
        "export": "12/h",
        "report": "120/h",
        "import": "60/h",
        "invite": "60/h",
        "join": "20/h",
        "arrive": "60/h",
    }


def test_concurrent_requests_do_not_exceed_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_settings, "DEFAULT_THROTTLE_RATES", {"user": "20/min"})
    monkeypatch.setattr(concurrency, "_now", lambda: 60)

    request: Any = SimpleNamespace(user=SimpleNamespace(pk=1))
    view: Any = None
    with ThreadPoolExecutor(16) as pool:
        passed = list(pool.map(lambda _: PerUser().allow_request(request, view), range(200)))
    assert sum(passed) == 20


def test_answers_are_json_with_every_text_unchanged(study: Study, ada: Script) -> None:
    mine = study.assignment(study.ada)
    sent = body("no", "no", "no", comment="<script>alert(1)</script> \u202e 🌉 e\u0301")
    saved = ada.put(place(mine, "response/"), sent)
    assert saved["Content-Type"] == "application/json"
    assert saved["X-Content-Type-Options"] == "nosniff"
    assert json.loads(saved.content)["comment"] == sent["comment"]
