"""Bodies in another encoding than the one that was asked for, and answers in a stream."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from judging.backends.base import (
    Answer,
    BackendError,
    FatalError,
    RateError,
    RejectedError,
    TransientError,
)
from judging.backends.encodings import MAX_BODY_BYTES, to_utf8
from judging.backends.openai import ChatCompletions
from judging.backends.streams import join_stream
from judging.backends.transport import read_reply
from tests.fake_openai.server import Behaviour
from tests.judging.backends.test_wires import WIRES, ask, probed

TEXT = '{"a": "café"}'
RAW = TEXT.encode()


def plain(raw: bytes, status: int = 200, /, **headers: str) -> str:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return to_utf8(status, sent, raw).decode()


def wrong(raw: bytes, **headers: str) -> BackendError:
    with pytest.raises(BackendError) as caught:
        plain(raw, **headers)
    return caught.value


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ["gzip", "deflate", "latin-1", "utf-16", "bom", "stream"])
def test_an_answer_in_another_encoding_is_read_on_every_wire(wire: str, fault: str) -> None:
    found, _ = ask(wire, Behaviour(faults={fault: 1.0}))
    expected, _ = ask(wire, Behaviour())
    assert found == expected


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (gzip.compress(RAW), "gzip"),
        (gzip.compress(RAW), "x-gzip"),
        (gzip.compress(RAW), ""),
        (zlib.compress(RAW), "deflate"),
        (zlib.compress(RAW)[2:-4], "deflate"),
        (zlib.compress(gzip.compress(RAW)), "gzip, deflate"),
        (RAW, "gzip"),
        (RAW, "identity"),
        (RAW, "UTF-8"),
    ],
)
def test_compression_is_undone_and_a_leftover_header_is_ignored(raw: bytes, encoding: str) -> None:
    assert plain(raw, content_encoding=encoding) == TEXT


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, br"])
def test_a_compression_that_is_not_read_is_named_and_not_retried(encoding: str) -> None:
    error = wrong(b"\x0b\x01", content_encoding=encoding)
    assert (type(error), error.state, error.status) == (RejectedError, "encoding", 200)
    assert repr(encoding.rpartition(" ")[2]) in error.message
    assert plain(b"\x0b\x01", 502, content_encoding=encoding) == "", "the status says enough"


def test_a_compressed_body_may_be_neither_cut_nor_a_bomb() -> None:
    assert wrong(gzip.compress(RAW)[:-9], content_encoding="gzip").state == "broken-body"
    assert wrong(gzip.compress(b" " * (MAX_BODY_BYTES + 1))).state == "too-large"


@pytest.mark.parametrize(
    ("charset", "declared"),
    [
        ("utf-8", ""), ("utf-8-sig", ""), ("utf-16", ""), ("utf-16-le", ""), ("utf-16-be", ""),
        ("utf-32", ""), ("utf-8", "iso-8859-1"), ("latin-1", "iso-8859-1"), ("latin-1", "latin1"),
        ("cp1252", "windows-1252"), ("iso8859-15", "ISO-8859-15"), ("utf-16", "utf-16"),
    ],
)  # fmt: skip
def test_a_charset_is_read_from_the_bytes_or_the_headers(charset: str, declared: str) -> None:
    kind = f"application/json; charset={declared}" if declared else "application/json"
    assert plain(TEXT.encode(charset), content_type=kind) == TEXT


def test_an_asian_charset_is_read_if_it_is_declared() -> None:
    text = '{"a": "日本語"}'
    for charset in ("shift_jis", "euc-jp", "iso-2022-jp", "gb18030"):
        assert plain(text.encode(charset), content_type=f"text/plain; charset={charset}") == text


@pytest.mark.parametrize("declared", ["", "; charset=nonsense", "; charset=punycode"])
def test_bytes_in_no_named_charset_are_named(declared: str) -> None:
    with pytest.raises(TransientError, match="names no charset that is read: byte 0xe9 at 10"):
        read_reply(
            200,
            {"content-type": f"application/json{declared}"},
            TEXT.encode("latin-1"),
            ChatCompletions().read,
        )


def test_a_page_instead_of_an_answer_is_named_by_its_title() -> None:
    page = b"<!DOCTYPE html><html><head><title>\n Sign in </title></head></html>"
    with pytest.raises(TransientError, match="a page titled 'Sign in' instead of JSON; check"):
        read_reply(200, {"content-type": "text/html"}, page, ChatCompletions().read)
    with pytest.raises(TransientError, match="is not JSON; its type is text/plain"):
        read_reply(200, {"content-type": "text/plain"}, b"ok", ChatCompletions().read)


def test_the_probe_names_an_encoding_that_is_not_read() -> None:
    found = probed("chat", Behaviour(faults={"brotli": 1.0}))
    assert "compressed its answer with 'br'" in found.refusal
    assert "parameters" not in found.refusal


def streamed(text: str, kind: str = "text/event-stream") -> Answer:
    return read_reply(200, {"content-type": kind}, text.encode(), ChatCompletions().read)


def chunk(text: str | None = None, **more: Any) -> str:
    delta = {} if text is None else {"content": text}
    return "data: " + json.dumps({"choices": [{"delta": delta, **more}]})


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r", "\n"])
def test_events_end_in_any_line_end_and_need_no_type(end: str) -> None:
    lines = [chunk("y"), chunk("es"), chunk(finish_reason="stop"), "data: [DONE]"]
    for kind in ("text/event-stream", "application/json", ""):
        assert streamed(end.join([*lines, ""]), kind).text == "yes"


def test_a_line_separator_within_a_text_ends_no_line() -> None:
    text = "a\u2028b\x85c"
    choice = {"delta": {"content": text}, "finish_reason": "stop"}
    raw = f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n"
    assert streamed(raw).text == text


def test_usage_logprobs_reasoning_and_the_reason_are_collected() -> None:
    token = {"token": "yes", "logprob": -0.1}
    events = [
        chunk("yes", logprobs={"content": [token]}),
        'data: {"choices": [{"delta": {"reasoning": "hm"}}]}',
        chunk(finish_reason="length"),
        'data: {"choices": [], "usage": {"prompt_tokens": 3}, "model": "m"}',
        "data: [DONE]",
    ]
    whole = join_stream("\n\n".join(events), json.loads)
    assert whole["usage"] == {"prompt_tokens": 3}
    assert whole["choices"] == [
        {
            "finish_reason": "length",
            "message": {"content": "yes", "reasoning": "hm"},
            "logprobs": {"content": [token]},
        }
    ]


@pytest.mark.parametrize(
    ("events", "kind", "state"),
    [
        ([chunk("y")], TransientError, "broken-body"),
        ([chunk("y"), 'data: {"choices": [{"de'], TransientError, "not-json"),
        ([": PROCESSING", "data: [DONE]"], TransientError, "empty-body"),
        (['data: {"error": {"code": 429, "message": "slow"}}'], RateError, "rate"),
        (["event: error", 'data: {"error": {"code": "401"}}'], FatalError, "status-401"),
        ([chunk("y"), 'data: {"error": {"code": 502}, "choices": [{"delta": {}, '
          '"finish_reason": "error"}]}'], TransientError, "status-502"),
    ],
)  # fmt: skip
def test_a_stream_that_fails_is_a_failure(
    events: list[str], kind: type[BackendError], state: str
) -> None:
    with pytest.raises(kind) as caught:
        streamed("\n\n".join([*events, ""]))
    assert caught.value.state == state


def test_an_error_with_a_bad_status_is_read_from_a_stream() -> None:
    raw = b'data: {"error": {"message": "maximum context is 8"}}\n\n'
    with pytest.raises(BackendError, match="maximum context") as caught:
        read_reply(400, {"content-type": "text/event-stream"}, raw, ChatCompletions().read)
    assert caught.value.state == "too-long"
