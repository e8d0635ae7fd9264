"""Requests over a limit are refused, with a sentence that names the limit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from annotation.models import Assignment, Draft, Response
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from config.middleware import BodyGuard
from datasets.access import takes_files
from datasets.api.routes import Resource
from judging.display import LONGEST_SHOWN, is_cut, make_displayable
from tandem.protocols.base import UnitSpec
from tandem.protocols.validation import Channel, RefusedError, check
from tests.once import once
from tests.page_cast import Study, answers, client_of, make_study, page

MAX_QUOTE = 200_000
MAX_QUOTES = 200
MAX_CITATIONS = 200
MAX_COMMENT = 10_000
MAX_TEXT = 50_000

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"
MB = 1024 * 1024


@once
def study() -> Study:
    return make_study()


@pytest.fixture
def mine(study: Study) -> Assignment:
    return study.assignment(study.ada)


@pytest.fixture
def client(study: Study) -> Client:
    client = client_of(study.ada)
    client.raise_request_exception = False
    return client


def error_text(answer: Any) -> str:
    return str(json.loads(answer.content))


@pytest.mark.parametrize("name", ["draft", "submit"])
def test_a_body_above_the_limit_is_refused_before_it_is_read(
    client: Client, mine: Assignment, name: str
) -> None:
    for accept in ("application/json", "text/html"):
        answer = client.generic(
            "POST", page(name, mine), "comment=" + "x" * (8 * MB), FORM, headers={"accept": accept}
        )
        assert answer.status_code == 413
        assert "more than 8 MB; send less" in answer.content.decode()
    assert not Draft.objects.exists()
    assert not Response.objects.exists()


@pytest.mark.parametrize("kind", [FORM, "multipart/form-data; boundary=b", "application/json"])
def test_a_visitor_without_an_account_has_the_same_body_limit(kind: str) -> None:
    answer = Client().generic("POST", "/login/", b"x" * (8 * MB + 1), kind)
    assert answer.status_code == 413


@pytest.mark.parametrize("address", ["/api/v1/campaigns/", "/login/"])
def test_json_bodies_have_a_lower_limit_than_forms(address: str) -> None:
    answer = Client().generic("POST", address, b" " * (5 * MB // 2 + 1), "application/json")
    assert answer.status_code == 413
    assert "more than 2.5 MB" in answer.content.decode()
    fits = Client().generic("POST", address, b" " * (5 * MB // 2), "application/json")
    assert fits.status_code != 413


def test_a_body_without_a_length_is_refused(client: Client, mine: Assignment) -> None:
    answer = client.post(page("draft", mine), headers={"transfer-encoding": "chunked"})
    assert answer.status_code == 411
    assert "Content-Length" in answer.content.decode()


def test_uploads_have_a_limit_of_their_own(settings: Settings) -> None:
    settings.TANDEM_MAX_UPLOAD_MB = 20

    def plain(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    @takes_files
    def upload(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    guard = BodyGuard(plain)
    for view, limit in ((plain, 8), (upload, 20)):
        for size, status in ((limit * MB, None), (limit * MB + 1, 413)):
            request = RequestFactory().post("/", CONTENT_LENGTH=str(size))
            refused = guard.process_view(request, view)
            assert (refused and refused.status_code) == status
    settings.TANDEM_MAX_UPLOAD_MB = 1
    request = RequestFactory().post("/", CONTENT_LENGTH=str(MB + 1))
    assert guard.process_view(request, plain) is not None


def test_a_request_without_a_body_passes() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    assert BodyGuard(view).process_view(HttpRequest(), view) is None


def test_too_many_fields_are_refused(client: Client, mine: Assignment) -> None:
    body = "&".join(f"f{n}=1" for n in range(20_001))
    answer = client.generic("POST", page("draft", mine), body, FORM)
    assert answer.status_code == 400
    assert "cannot be read" in answer.content.decode()


@pytest.mark.every_case
@pytest.mark.parametrize(
    "evidence",
    [
        "[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, "NaN", "1" * 5_000,
        '[{"quote": "Zoë", "start": 1e400}]', '[{"quote": "Zoë", "start": -1}]',
        '[{"quote": "Zoë", "start": ' + "9" * 4_000 + "}]", '[{"quote": "\\ud800", "start": 0}]',
        '[{"quote": "\\u0000", "start": 0}]', '[{"quote": {"a": 1}, "start": 0}]', '"text"', "{}",
        '[{"quote": "Zoë", "start": true}]', '[{"quote": "Zoë", "start": 0, "__class__": 1}]',
        json.dumps([{"quote": "Zoë", "start": 0}] * (MAX_QUOTES + 1)),
        json.dumps([{"quote": "x" * (MAX_QUOTE + 1), "start": 0}]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["draft", "submit"])
def test_malformed_evidence_is_refused(
    client: Client, mine: Assignment, name: str, evidence: str
) -> None:
    form = answers("yes", "no", "no") | {"unit-0-evidence": evidence}
    answer = client.post(page(name, mine), form)
    assert answer.status_code == 422
    assert json.loads(answer.content)["problems"]
    assert not Draft.objects.exists()
    assert not Response.objects.exists()


@pytest.mark.parametrize("name", ["draft", "submit"])
def test_a_comment_has_a_maximum_length(client: Client, mine: Assignment, name: str) -> None:
    form = answers("no", "no", "no", comment="🌉" * (MAX_COMMENT + 1))
    answer = client.post(page(name, mine), form)
    assert answer.status_code == 422
    assert "longer than 10,000 characters; shorten it" in error_text(answer)
    form["comment"] = "🌉" * MAX_COMMENT
    assert client.post(page(name, mine), form).status_code == 200


def test_a_draft_may_contain_only_asked_units(client: Client, mine: Assignment) -> None:
    for stranger in ("x" * 10_000, "\0", "q:9"):
        answer = client.post(page("draft", mine), answers("no") | {"unit-1": stranger})
        assert answer.status_code == 422
    long = answers("no") | {"unit-0-answerable": "x" * (MAX_TEXT + 1)}
    assert client.post(page("draft", mine), long).status_code == 422
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    "kind",
    [
        f"{FORM}; charset={charset}"
        for charset in ("utf-7", "base64", "rot13", "idna", "unicode_escape", "utf-16", "no-such")
    ]
    + [
        f"multipart/form-data; boundary=b; charset={charset}"
        for charset in ("utf-7", "base64", "rot13", "idna", "unicode_escape", "utf-16")
    ]
    + ["multipart/form-data", "multipart/form-data; boundary=" + "b" * 300, "multipart/mixed",
       "application/json", "text/xml", "x" * 5_000, ""],
)  # fmt: skip
def test_no_kind_of_body_breaks_a_page(client: Client, mine: Assignment, kind: str) -> None:
    part = b'--b\r\nContent-Disposition: form-data; name="username"\r\n\r\n\xff\\ud800\r\n--b--\r\n'
    for address in ("/login/", page("draft", mine), page("submit", mine)):
        for body in (part, b"username=%ff&unit-0=%00&comment=%ED%A0%80", b"", b"{"):
            for browser in (client, Client(raise_request_exception=False)):
                assert browser.generic("POST", address, body, kind).status_code < 500
        assert client.generic("GET", address + "?a=%ff%00&page=x", b"", kind).status_code < 500


@pytest.mark.every_case
@pytest.mark.parametrize("query", ["page=0", "page=-1", "page=" + "9" * 5_000, "page=²", "page=\0"])
def test_no_page_number_breaks_a_list(study: Study, query: str) -> None:
    answer = client_of(study.root).get(f"/batches/{study.campaign.batch_id}/?{query}")
    assert answer.status_code == 200


def test_no_list_of_the_api_has_more_than_200_on_a_page() -> None:
    waiting, most = [Resource], {}
    while waiting:
        view = waiting.pop()
        waiting += view.__subclasses__()
        if field := view.takes().fields.get("page_size"):
            most[view.__name__] = field.max_value  # type: ignore[attr-defined]
    assert len(most) > 8
    assert set(most.values()) == {200}


def test_a_long_prompt_is_shown_truncated_with_a_note() -> None:
    longest = "x" * LONGEST_SHOWN
    assert (make_displayable(longest + "y"), is_cut(longest + "y")) == (longest, True)
    assert (make_displayable(longest), is_cut(longest)) == (longest, False)


PROTOCOL = next(p for p in PROTOCOLS.values() if p.written)


def refusal(text: str, citations: list[str], channel: Channel) -> str:
    """Return why a written answer is refused; empty if it is accepted."""
    rule, schema = PROTOCOL.written, schema_of(PROTOCOL)
    assert rule is not None
    values = {v.name: v.answers[0] for v in schema.variables_of(rule.kind)}
    values |= {name: codes[0] for name, codes in rule.asked_if.items()}
    unit = UnitSpec(rule.kind, "u", "?")
    answer = {"u": {**values, rule.name: {"text": text, "citations": citations}}}
    try:
        check(schema, {"u": unit}, answer, channel)
    except RefusedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("channel", ["page", "api", "judge"])
def test_a_written_answer_has_a_maximum_length(channel: Channel) -> None:
    assert "longer than 50,000 characters" not in refusal("x" * MAX_TEXT, [], channel)
    assert "longer than 50,000 characters" in refusal("x" * (MAX_TEXT + 1), [], channel)
    assert "more than 200 citations" in refusal("x", ["p"] * (MAX_CITATIONS + 1), channel)


def test_imported_texts_are_stored_unchanged(study: Study) -> None:
    assert "longer" not in refusal("x" * (MAX_TEXT + 1), ["p"] * 300, "import")


def test_a_word_of_a_megabyte_can_be_displayed(
    study: Study, mine: Assignment, client: Client
) -> None:
    word = "w" * MB
    mine.item.query.text = word
    mine.item.query.save()
    shown = client.get(page("item", mine)).content.decode()
    assert word in shown
    assert len(client.get("/tasks/").content) < 100_000
