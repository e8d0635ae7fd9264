"""The interface of a backend: request and answer as plain data, and the errors of a call.

A backend knows neither Django nor a protocol.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, Self

from tandem.labels.file.rows import Reason

JSON = dict[str, Any]
ANY_FORM: JSON = {}
"""The schema of an answer whose form is not enforced."""
Conditions = Mapping[str, tuple[str, ...]]
SplitSentences = Callable[[str], Sequence[tuple[int, int]]]
STARTING = "server-starting"
"""The state of an error while the server is being started."""


class SetupError(ValueError):
    """The backend cannot work with the judge's definition."""


@dataclass(frozen=True)
class Message:
    """A chat message. The first `shared` characters recur in many requests, as a hint."""

    role: Literal["system", "user", "assistant"]
    content: str
    shared: int = field(default=0, compare=False)


@dataclass(frozen=True)
class AskedVariable:
    """A variable of a unit. Its value is null unless `asked_if` holds for the unit's other values.

    `codes` are all permitted answers, including the `escapes`. `criteria` describe codes, where the
    guideline does. If it takes `several` codes, its value is a list of them, or an escape alone.
    """

    name: str
    codes: tuple[str, ...]
    level: str
    asked_if: Conditions = field(default_factory=dict)
    escapes: tuple[str, ...] = ()
    question: str = ""
    criteria: Mapping[str, str] = field(default_factory=dict)
    several: bool = False


@dataclass(frozen=True)
class Quotable:
    """Texts of one kind that may be quoted for a unit: `fields` are their names and numbers.

    `codes` require a quote. `within` allows only the unit's own words.
    """

    codes: tuple[str, ...]
    fields: tuple[tuple[str, int], ...]
    within: bool


@dataclass(frozen=True)
class AskedUnit:
    """A unit and the fields of its answer.

    `about` is the number of the unit's text, or of the text that contains the sentence. For a
    passage that is judged beside an answer, `answer` is the answer's number. `evidence` names the
    variable that quotes support, and the code that requires them, if any. `written` is the key of a
    text that must be written where `written_if` holds. `listed` is the key of a list of points.
    `matches` names the key for the numbers of such points, and the variable and code that they
    belong to. `contradictions` are answers that cannot all be given. `key` is the unit's own key,
    where `name` is what the judge is shown. `fields` are attributes that are shown with it. If
    quotes may be of two texts, `quotable` has a rule for each.
    """

    name: str
    kind: str
    text: str
    variables: tuple[AskedVariable, ...]
    about: int | None = None
    answer: int | None = None
    evidence: tuple[str, tuple[str, ...]] | None = None
    written: str | None = None
    written_if: Conditions = field(default_factory=dict)
    listed: str | None = None
    listed_if: Conditions = field(default_factory=dict)
    matches: tuple[str, str, str] | None = None
    contradictions: tuple[Conditions, ...] = ()
    key: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    quotable: tuple[Quotable, ...] = ()


@dataclass(frozen=True)
class Facts:
    """The presented item as data, for backends that do not read the prompt.

    `item` is the item's key, which no prompt shows.
    """

    query: str
    texts: tuple[str, ...]
    units: tuple[AskedUnit, ...]
    unit_by_unit: bool
    item: str = ""


@dataclass(frozen=True)
class Request:
    """One question to a judge: as messages with the JSON schema of the answer, and as facts.

    `sample` counts repetitions of the same question from 0. It is added to the seed. In `written`,
    a backend may cache the bytes that it sends, or a partly received answer, under a key of its
    own. Where those bytes are all that is needed, the messages may be left out, and only their
    length in `characters` is kept (`without_messages`).
    """

    messages: tuple[Message, ...]
    schema: JSON
    facts: Facts
    sample: int = 0
    written: dict[object, bytes] = field(default_factory=dict, repr=False, compare=False)
    characters: int | None = field(default=None, repr=False, compare=False)

    @property
    def length(self) -> int:
        """The number of characters of the messages."""
        if self.characters is not None:
            return self.characters
        return sum(len(message.content) for message in self.messages)

    def without_messages(self) -> Request:
        return Request((), self.schema, self.facts, self.sample, characters=self.length)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has other backends.
        return Request, (self.messages, self.schema, self.facts, self.sample, {}, self.characters)


@dataclass(frozen=True)
class Answer:
    """A judge's reply, verbatim. `status` is the HTTP status; `model` is the server's own claim.

    `reasoning` is the model's reasoning before the answer, if the server returns it separately.
    """

    text: str
    finish_reason: str = "stop"
    usage: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    status: int | None = None
    logprobs: Any = None
    reasoning: str = ""


class BackendError(Exception):
    """A call without a usable answer.

    `state` is a short code for the error, `message` a line for people. `body` is the beginning of
    the server's response.
    """

    def __init__(
        self, state: str, message: str, *, status: int | None = None, body: str = ""
    ) -> None:
        super().__init__(message)
        self.state, self.message, self.status, self.body = state, message, status, body

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args, vars(self))


def _remade(kind: type[BackendError], given: tuple[Any, ...], state: JSON) -> BackendError:
    """Rebuild an error in another process."""
    error = kind.__new__(kind, *given)
    vars(error).update(state)
    return error


class TransientError(BackendError):
    """Transport failed, and another attempt may succeed.

    `unreachable` is true if no connection was established.
    """

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
    """The server limits the rate. `wait` is how many seconds it asked for, if it did."""

    def __init__(
        self, message: str, *, wait: float | None, status: int | None = None, body: str = ""
    ) -> None:
        super().__init__("rate", message, status=status, body=body)
        self.wait = wait


class RejectedError(BackendError):
    """The server rejects this request, and a retry would not help."""


class FatalError(BackendError):
    """No request to this server can succeed until a person corrects the setup."""


class FinalError(BackendError):
    """The call is final: its result is a missing reason instead of an answer."""

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
class UnassignedReply:
    """What came of a request that answers no assignment, such as one of a probe.

    `seconds` is how long it took. A reply without an answer is an error.
    """

    sent_at: datetime
    seconds: float
    reply: Answer | BackendError


@contextmanager
def note_reply(found: list[UnassignedReply]) -> Iterator[Callable[[Answer], object]]:
    """Add the reply of a request within the block to a list: the answer noted, or the error."""
    sent_at, begun = datetime.now(UTC), time.monotonic()

    def note(reply: Answer | BackendError) -> None:
        found.append(UnassignedReply(sent_at, time.monotonic() - begun, reply))

    try:
        yield note
    except BackendError as error:
        note(error)
        raise
    except asyncio.CancelledError:
        note(BackendError("abandoned", "the request was abandoned"))
        raise


@dataclass(frozen=True)
class Setup:
    """A judge's definition as its backend needs it.

    `listed_hosts` are the private hosts with ports that the operator listed. All others must be
    public. None turns the guard off, since the operator entered the address.
    """

    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    split_sentences: SplitSentences = lambda text: [(0, len(text))]
    listed_hosts: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Findings:
    """The result of a probe: facts for the manifest, and warnings for people.

    No run can start if there is a `refusal`.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    refusal: str = ""


class Serverless:
    """The part of a backend that asks no server: there is nothing to open and to close."""

    endpoint: str = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


class Backend(Protocol):
    """An object that answers requests inside its `async with` block.

    `endpoint` is the server that it asks, empty if there is none. A backend that sends requests
    without an assignment lists them in `unassigned`, of the type `list[UnassignedReply]`. One that
    is `forkable` has nothing that a forked process could not use.
    """

    endpoint: str

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...

    def identity(self, request: Request) -> JSON:
        """Everything that decides the answer, to be hashed: no keys, timeouts or concurrency."""
        ...

    async def ask(self, request: Request) -> Answer:
        """Make one attempt. Raises BackendError."""
        ...

    async def probe(self) -> Findings:
        """Find out before a run what the server can do. Raises BackendError."""
        ...


class Addressed(Backend, Protocol):
    """A backend whose server may be at several addresses."""

    def at(self, base_url: str) -> Self:
        """Return a backend that asks the same at another address. Raises SetupError.

        A request has one identity at all addresses, and they share the list `unassigned`.
        """
        ...


def written_key(backend: Backend) -> object:
    """Return the key in `Request.written` of the bytes that a backend sends."""
    return getattr(backend, "written_key", backend)
