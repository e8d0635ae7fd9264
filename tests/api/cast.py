"""Scripts with tokens, as they speak to the API over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from annotation.models import Assignment, User
from datasets.api.permissions import MOST
from datasets.api_tokens import make_token
from tests.page_cast import TEXT

V1 = "/api/v1"
QUOTE = "👩‍👩‍👧 crew – cafe\u0301 –"
PROBLEM = {"unit", "field", "wrong"}


@dataclass
class Script:
    """A client of one account; `path` is relative to /api/v1/."""

    token: str
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def get(self, path: str, **headers: str) -> Any:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.send("POST", path, body, headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.send("PUT", path, body, headers)

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        data = b"" if body is None else body if isinstance(body, bytes) else as_json(body)
        named = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        if self.token:
            named.setdefault("Authorization", f"Token {self.token}")
        address = path if path.startswith("/") else f"{V1}/{path}"
        answer = self.client.generic(method, address, data, "application/json", headers=named)
        assert answer.status_code != 500, f"{method} {path}"
        return answer


def as_json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


def script_of(user: User, *scopes: str) -> Script:
    """A script with all scopes that the role can use, unless some are named."""
    return Script(make_token(user, scopes or MOST[user.role])[1])


def stranger() -> Script:
    return Script("")


def body(*codes: str, quote: tuple[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """An answer in the study of `tests.page_cast`, each yes with one quote."""
    words, start = quote or (QUOTE, TEXT.index(QUOTE))
    return {
        "units": {
            f"q:{n}": {
                "evidence": [{"quote": words, "start": start}] if code == "yes" else [],
                "answerable": code,
            }
            for n, code in enumerate(codes)
        },
        **more,
    }


def place(assignment: Assignment, rest: str = "") -> str:
    return f"assignments/{assignment.uid}/{rest}"


def assert_told(answer: Any, status: int) -> list[dict[str, Any]]:
    """Check the form of an error response and return its problems."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/json"
    error = json.loads(answer.content)
    assert error["error"]
    assert "\n" not in error["error"]
    assert all(problem.keys() == PROBLEM for problem in error["problems"])
    problems: list[dict[str, Any]] = error["problems"]
    return problems
