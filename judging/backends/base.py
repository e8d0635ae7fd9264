"""What a backend is: request and answer as plain data, and the ways in which a call can fail.

A backend is one module here and one line in the registry. It knows neither Django nor a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

JSON = dict[str, Any]
ANY_FORM: JSON = {}
"""The schema of an answer whose form nobody enforces."""
Conditions = Mapping[str, tuple[str, ...]]
SplitSentences = Callable[[str], Sequence[tuple[int, int]]]
Reason = Literal["unreadable", "refused", "truncated", "filtered", "too-long", "timeout", "error"]


class SetupError(ValueError):
    """A judge's definition that its backend cannot work with."""


@dataclass(frozen=True)
class Message:
    """Of `content` the first `shared` characters are the same in many requests, as a hint."""

    role: Literal["system", "user", "assistant"]
    content: str
    shared: int = field(default=0, compare=False)


@dataclass(frozen=True)
class AskedVariable:
    """A variable of a unit, null where `asked_if` does not hold of the unit's other values.

    `codes` are all that may be answered; `escapes` are those of them that are no category.
    """

    name: str
    codes: tuple[str, ...]
    level: str
    asked_if: Conditions = field(default_factory=dict)
    escapes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskedUnit:
    """A unit, and what its answer holds.

    `about` is the number of the text that the unit itself is, or is a sentence of; of a passage
    that is judged beside an answer, `answer` is the number of the latter. `evidence` names the
    variable that quotes are for, and the code with which they are owed, if any. `written` is the
    key of a text that is to be written where `written_if` holds, `listed` that of a list of points.
    `matches` names the key for numbers of such points, and the variable and code with which they
    are given.
    """

    name: str
    kind: str
    text: str
    variables: tuple[AskedVariable, ...]
    about: int | None = None
    answer: int | None = None
    evidence: tuple[str, str | None] | None = None
    written: str | None = None
    written_if: Conditions = field(default_factory=dict)
    listed: str | None = None
    listed_if: Conditions = field(default_factory=dict)
    matches: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class Facts:
    """The presentation itself, for backends that read no prose."""

    query: str
    texts: tuple[str, ...]
    units: tuple[AskedUnit, ...]
    unit_by_unit: bool


@dataclass(frozen=True)
class Request:
    """One question to a judge: as messages with the JSON schema of the answer, and as facts.

    Where the same is asked several times, `sample` counts from 0; it is added to the seed. In
    `written` a backend may keep the bytes that it sends, under itself, to make them once.
    """

    messages: tuple[Message, ...]
    schema: JSON
    facts: Facts
    sample: int = 0
    written: dict[object, bytes] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Answer:
    """What a judge wrote, verbatim. `status` is HTTP's; `model` is what the server says it ran."""

    text: str
    finish_reason: str = "stop"
    usage: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    status: int | None = None
    logprobs: Any = None


class BackendError(Exception):
    """A call without a usable answer.

    `state` is a short word for what happened, `message` a line for people. `body` is the beginning
    of what the server sent.
    """

    def __init__(
        self, state: str, message: str, *, status: int | None = None, body: str = ""
    ) -> None:
        super().__init__(message)
        self.state, self.message, self.status, self.body = state, message, status, body


STARTING = "server-starting"


class TransientError(BackendError):
    """Transport failed: worth another attempt. `unreachable` where no connection came about."""

    def __init__(
        self,
        state: str,
        message: str,
        *,
        status: int | None = None,
        body: str = "",
        unreachable: bool = False,
    ) -> None:
        super().__init__(state, message, status=status, body=body)
        self.unreachable = unreachable


class RateError(BackendError):
    """The server asks for patience; `wait` in seconds, where it said how long."""

    def __init__(
        self, message: str, *, wait: float | None, status: int | None = None, body: str = ""
    ) -> None:
        super().__init__("rate", message, status=status, body=body)
        self.wait = wait


class RejectedError(BackendError):
    """The server will not take this request, however often it is sent."""


class FatalError(BackendError):
    """No request to this server can succeed until somebody mends something."""


class FinalError(BackendError):
    """The item has its result, and it is a reason instead of an answer."""

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        answer: Answer | None = None,
        status: int | None = None,
        body: str = "",
    ) -> None:
        super().__init__(reason, message, status=status, body=body)
        self.reason: Reason = reason
        self.answer = answer


@dataclass(frozen=True)
class Setup:
    """A judge's definition as its backend needs it.

    `listed_hosts` guards the address: only public ones may be asked, and private ones with their
    port that the operator listed. None where the operator wrote the address himself.
    """

    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    split_sentences: SplitSentences = lambda text: [(0, len(text))]
    listed_hosts: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Findings:
    """What a probe found out: facts for the manifest, warnings in plain words.

    Where `refusal` says something, no run can begin.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    refusal: str = ""


class Backend(Protocol):
    """Something that answers requests, in an `async with` block of its own.

    `endpoint` is the server that it asks, empty where there is none.
    """

    endpoint: str

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...

    def identity(self, request: Request) -> JSON:
        """All that decides the answer, without keys, time limits or concurrency: it is hashed."""
        ...

    async def ask(self, request: Request) -> Answer:
        """One attempt. Raises BackendError."""
        ...

    async def probe(self) -> Findings:
        """Finds out before a run what the server can do. Raises BackendError."""
        ...
