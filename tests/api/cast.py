"""API clients for tests; each sends the token of one account."""

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
    """An API client with the token of one account. Paths are relative to /api/v1/."""

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
    """Return a client with these scopes, or with all that the account's role may have."""
    return Script(make_token(user, scopes or MOST[user.role])[1])


def stranger() -> Script:
    """Return a client without a token."""
    return Script("")


def body(*codes: str, quote: tuple[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """Return an answer in the study of `tests.page_cast`; each yes is supported by one quote."""
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
    """Return the address of an assignment, or of something below it."""
    return f"assignments/{assignment.uid}/{rest}"


def assert_error(answer: Any, status: int) -> list[dict[str, Any]]:
    """Require an error with this status, in the API's form, and return its problems."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/json"
    error = json.loads(answer.content)
    assert error["error"]
    assert "\n" not in error["error"]
    assert all(problem.keys() == PROBLEM for problem in error["problems"])
    problems: list[dict[str, Any]] = error["problems"]
    return problems
