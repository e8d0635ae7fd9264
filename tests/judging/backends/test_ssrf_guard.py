"""Judges defined in the browser reach no internal server, whatever their address is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web

from judging.backends.base import (
    BackendError,
    Facts,
    FinalError,
    Message,
    RejectedError,
    Request,
    Setup,
    SetupError,
    TransientError,
)
from judging.backends.openai import OpenAICompatible
from judging.backends.ssrf_guard import NO_CONNECTION, Guard, check_address, guard_for, is_public

PRIVATE = (
    "127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.0.1", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "240.0.0.1", "255.255.255.255", "169.254.169.254", "192.0.0.192", "100.100.100.200",
    "168.63.129.16", "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:7f00:1",
    "64:ff9b::7f00:1", "64:ff9b:1::808:808", "2002:7f00:1::", "2001:0:1::1", "fd00:ec2::254",
    "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "64:ff9b::a9fe:a9fe", "4000::1",
)  # fmt: skip
PUBLIC = ("8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::", "::ffff:8.8.8.8")
REFUSED = (
    "http://127.1", "http://127.0.0.1:8000", "http://2130706433", "http://0177.0.0.1",
    "http://0x7f.1", "http://0x7f000001:8000", "http://[::ffff:127.0.0.1]", "http://localhost",
    "http://localhost.", "HTTP://LOCALHOST:8000", "http://127.0.0.1.:8000", "http://vllm",
    "http://printer.local", "http://metadata.google.internal", "http://169.254.169.254/latest",
    "http://①②⑦.⓪.⓪.①", "http://exämple.org", "http://user:word@example.org",
    "http://example.org\\@10.0.0.1", "http://example.org:22",
    "http://example.org:99999", "http://example.org /", "file:///etc/passwd",
    "gopher://example.org:80/", "ftp://example.org", "example.org", "http://", "",
    "ttp://example.org:80", "http://user@example.org", "http://:word@example.org",
    "http://127.0x1", "http://printer.localhost",
)  # fmt: skip
REQUEST = Request((Message("user", "?"),), {}, Facts("", (), (), unit_by_unit=True))


@pytest.mark.every_case
@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_recognised_in_every_encoding(address: str) -> None:
    assert not is_public(address)


@pytest.mark.every_case
@pytest.mark.parametrize("address", PUBLIC)
def test_an_external_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.every_case
@pytest.mark.parametrize("url", REFUSED)
def test_a_private_address_is_refused_before_any_connection(url: str) -> None:
    with pytest.raises(SetupError):
        check_address(url, ())


@pytest.mark.every_case
@pytest.mark.parametrize("port", [80, 443, 8000, 8080, 8443])
def test_only_web_ports_are_allowed(port: int) -> None:
    check_address(f"http://example.org:{port}", ())
    assert opens(Guard(watched=True), "8.8.8.8", port)
    with pytest.raises(SetupError, match=f"80, 443, 8000, 8080, 8443, and not {port + 1}; the"):
        check_address(f"http://example.org:{port + 1}", ())
    assert not opens(Guard(watched=True), "8.8.8.8", port + 1)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "url",
    ["https://api.openai.com/v1", "http://8.8.8.8:8000", "http://a.b.", "http://example.org/~v1"],
)
def test_an_address_that_may_be_public_is_accepted(url: str) -> None:
    check_address(url, ())
    assert guard_for(url, ()) == Guard(watched=True, listed=False)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "url", ["http://vllm:9000", "http://VLLM.:9000/v1", "http://[fd00::5]:8000", "http://10.0.0.1"]
)
def test_a_host_listed_by_the_operator_is_allowed_only_with_its_port(url: str) -> None:
    listed = ("Vllm:9000", "[fd00::5]:8000", "10.0.0.1:80")
    assert guard_for(url, listed).listed
    with pytest.raises(SetupError):
        check_address("http://vllm:9001", listed)
    with pytest.raises(SetupError):
        check_address("http://10.0.0.1:8000", listed)


def opens(guard: Guard, address: str, port: int) -> bool:
    try:
        guard._open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port))).close()
    except OSError:
        return False
    return True


def test_every_connection_is_checked_again_against_rebinding() -> None:
    guard = guard_for("http://rebinding.example:8000", ())
    assert opens(guard, "8.8.8.8", 8000)
    assert not opens(guard, "127.0.0.1", 8000)
    assert not opens(guard, "8.8.8.8", 22)


def test_a_listed_host_may_be_private_but_never_a_metadata_service() -> None:
    guard = guard_for("http://vllm:9000", ("vllm:9000",))
    assert opens(guard, "10.0.0.1", 9000)
    assert not opens(guard, "169.254.169.254", 9000)
    for hidden in ("64:ff9b:1::a9fe:a9fe", "2001:0:1::1", "64:ff9b::a9fe:a9fe"):
        assert not opens(guard, hidden, 9000)


@pytest.mark.parametrize("watched", [True, False])
def test_the_connector_does_not_limit_simultaneous_calls(watched: bool) -> None:
    async def limit() -> int:
        async with Guard(watched=watched).connector() as connector:
            return connector.limit

    assert asyncio.run(limit()) == 0


class House:
    """An internal server that records requests; names resolve to it as a test says."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.status, self.body, self.headers = 200, "{}", {}  # type: ignore[var-annotated]

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        return web.Response(status=self.status, text=self.body, headers=self.headers)

    def ask(self, url: str = "http://{}", listed: Any = None) -> BackendError:
        """Return the failure of a request; `{}` in the address stands for this server's."""

        async def inside() -> BackendError:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", self.answer)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            port = runner.addresses[0][1]
            hosts = None if listed is None else tuple(each.format(port) for each in listed)
            setup = Setup("m", url.format(port), "", {"timeout": 5.0}, listed_hosts=hosts)
            try:
                async with OpenAICompatible(setup) as backend:
                    with pytest.raises(BackendError) as caught:
                        await backend.ask(REQUEST)
                return caught.value
            finally:
                await runner.cleanup()

        return asyncio.run(inside())


@contextmanager
def leading_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> Iterator[None]:
    """Let every name resolve to these addresses."""
    inet = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
    with monkeypatch.context() as patched:
        patched.setattr(
            socket,
            "getaddrinfo",
            lambda host, port, *_, **__: [(*inet, (each, port)) for each in addresses],
        )
        yield


def test_a_name_that_resolves_to_a_private_address_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = House()
    monkeypatch.setattr("judging.backends.ssrf_guard.PORTS", frozenset(range(65536)))
    with leading_to(monkeypatch, "127.0.0.1", "127.0.0.2"):
        error = house.ask("http://looks.public.example:{}", listed=())
        assert error.message == NO_CONNECTION
        assert house.asked == []
        trusted = house.ask("http://looks.public.example:{}")
    assert trusted.state == "no-choices"
    assert house.asked == ["/v1/chat/completions"]


def test_a_redirect_is_not_followed() -> None:
    house = House()
    house.status, house.headers = 302, {"Location": "http://169.254.169.254/latest"}
    error = house.ask("http://127.0.0.1:{}", listed=("127.0.0.1:{}",))
    assert error.status == 302
    assert house.asked == ["/v1/chat/completions"]


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    house = House()
    house.ask("http://127.0.0.1:{}", listed=("127.0.0.1:{}",))
    assert house.asked == ["/v1/chat/completions"]


def test_failures_of_listed_hosts_are_reported_in_full() -> None:
    house = House()
    house.status, house.body = 404, '{"error": {"message": "no such model"}}'
    error = house.ask("http://127.0.0.1:{}", listed=("127.0.0.1:{}",))
    assert "no such model" in error.message


def failure_shown(error: BackendError) -> tuple[str, str, str, int | None]:
    guard_for("https://example.org", ()).redact(error)
    return error.state, str(error), error.body, error.status


def test_all_connection_failures_look_the_same() -> None:
    ways = ("refused-connection", "connect-timeout", "dns", "tls")
    assert (
        len(
            {failure_shown(TransientError(way, f"it says {way}", unreachable=True)) for way in ways}
        )
        == 1
    )


def test_only_the_status_class_of_a_refusal_is_reported() -> None:
    first = failure_shown(
        RejectedError("status-400", "the server answered 400: x", status=400, body="root")
    )
    second = failure_shown(RejectedError("status-499", "the server answered 499", status=499))
    said = "the server answered 4xx, and no completion"
    assert first == second == ("status-4xx", said, "", 400)


def test_a_server_that_does_not_speak_http_is_not_quoted() -> None:
    _, said, *_ = failure_shown(
        TransientError("bad-http", "the answer is not HTTP: SSH-2.0-OpenSSH")
    )
    assert "SSH" not in said


def test_a_final_state_of_the_model_is_reported_without_quoting_the_server() -> None:
    long = FinalError("too-long", "the server answered 400: secret", status=400, body="secret")
    state, said, *_ = failure_shown(long)
    assert state == "too-long"
    assert "secret" not in said


def test_an_address_of_the_operator_is_trusted() -> None:
    assert guard_for("http://127.0.0.1:9", None) == Guard(watched=False, listed=False)
    with pytest.raises(SetupError):
        guard_for("http://127.0.0.1:9", ())
