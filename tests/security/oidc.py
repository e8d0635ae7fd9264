"""A real OpenID Connect server in a process of its own, and steps of a log-in through it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from tests.patience import PATIENCE


@dataclass(frozen=True)
class Provider:
    """The server's address, which is its issuer."""

    issuer: str

    def knows(self, sub: str, **claims: Any) -> None:
        """Tell the server about a person."""
        answer = requests.put(f"{self.issuer}/users/{sub}", json=claims, timeout=PATIENCE)
        assert answer.status_code == 204, answer.text

    def serve(self, settings: Settings, **more: Any) -> None:
        """Make it the provider of the site under test."""
        settings.TANDEM_OIDC_ISSUER = self.issuer
        settings.TANDEM_OIDC_NAME = "the university"
        app = {
            "provider_id": "sso", "name": "the university", "client_id": "tandem",
            "secret": "between-us", "settings": {"server_url": self.issuer},
        }  # fmt: skip
        settings.SOCIALACCOUNT_PROVIDERS = {
            "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}
        }
        for name, value in more.items():
            setattr(settings, name, value)


def leave(client: Client, **given: str) -> str:
    """Press the button of the log-in page; return the address that it leads to."""
    answer = client.post(reverse("openid_connect_login", args=["sso"]), given)
    assert answer.status_code == 200, answer
    return str(answer.context["address"])


def answer_of(address: str, sub: str, **more: str) -> str:
    """Log in at the provider as `sub`; return the path to which the browser is redirected."""
    there = requests.post(
        address, data={"sub": sub, **more}, allow_redirects=False, timeout=PATIENCE
    )
    assert there.status_code == 302, there.text
    back = urlsplit(there.headers["Location"])
    assert back.netloc == "testserver"
    return f"{back.path}?{back.query}"


def come_back(client: Client, sub: str, **given: str) -> Any:
    """Go through the whole log-in; return the site's response."""
    return client.get(answer_of(leave(client, **given), sub))


@contextmanager
def provider() -> Iterator[Provider]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        found = Provider(f"http://127.0.0.1:{port}")
        _wait(found.issuer, server)
        yield found
    finally:
        server.terminate()
        server.wait(PATIENCE)


def _wait(issuer: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        try:
            requests.get(f"{issuer}/.well-known/openid-configuration", timeout=5)
        except requests.ConnectionError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the provider did not come up")
