"""Read a judge file: TOML with the messages, the parser, the parameters and fixtures of a judge.

Everything is checked before a request is sent. An error names the line and says what to correct.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, get_args
from uuid import UUID

from annotation.protocol_files import ProtocolError, find_task
from annotation.protocols.base import Protocol
from annotation.registry import DECLARED, stored_protocol
from datasets.models import Team
from judging.backends.base import JSON, Message
from judging.judge_file import answer, written
from judging.judge_file.answer import BY_POSITION
from judging.judge_file.context import fields_for
from judging.judge_file.template import FileError, MessageTemplate
from judging.models import Judge
from judging.parsers.base import STEPS, Fault, Parser
from judging.parsers.codes import PLAIN
from judging.parsers.written import WrittenParser
from tandem.files.toml import Lines, TomlError, read_toml

MAX_LENGTH = 1_000_000
MAX_MESSAGES = 50
MAX_FIXTURES = 200
ISOLATION = ("unit", "item", "response", "query")
ORDERS = ("given", "both", "shuffled")
DRAWS = ("any", "same-category", "chosen")
ROLES = ("system", "user", "assistant")
TABLES = {
    "judge": (
        "title",
        "source",
        "protocol",
        "isolate",
        "order",
        "weaknesses",
        "validated",
        "scale",
    ),
    "messages": ("role", "text"),
    "examples": ("k", "draw"),
    "fixture": ("completion", "units", "labels", "fault", "step", "finish_reason"),
}
WITH_LOGPROBS = ("first-token", "expected")
OPEN_TABLES = ("answer", "params", "extra_body")
"""Tables whose keys their own readers check."""


@dataclass(frozen=True)
class Fixture:
    """A completion and the expected reading: the labels of each unit, or a missing reason.

    Texts and points that a judge writes are among the labels, each point as its words, or as its
    `text` and the quotes of its `evidence`.

    `units` are the texts of the units, for a parser that compares them with the completion.
    """

    completion: str
    labels: tuple[Mapping[str, Any], ...]
    fault: str = ""
    step: str = ""
    line: int | None = None
    units: tuple[str, ...] = ()


@dataclass(frozen=True)
class Examples:
    """The number of development units shown as examples, and how they are sampled."""

    k: int
    draw: str = "any"


@dataclass(frozen=True)
class JudgeFile:
    """A checked judge file. `isolate` is empty if the file leaves it to the protocol."""

    text: str
    protocol: Protocol
    messages: tuple[tuple[str, MessageTemplate], ...]
    parser: Parser
    parser_name: str = "schema"
    title: str = ""
    source: str = ""
    isolate: str = ""
    order: str = "given"
    examples: Examples | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    extra_body: JSON = field(default_factory=dict)
    fixtures: tuple[Fixture, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    shortcomings: tuple[FileError, ...] = ()
    """What keeps its parser from reading only whole statements; see `judging.judge_file.answer`."""

    @property
    def as_published(self) -> bool:
        """Whether answers are read as the file's authors published it, without Tandem's rule."""
        return getattr(self.parser, "verdicts", PLAIN).as_published

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def render(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the messages, filled in. Raises FileError."""
        return tuple(
            Message(role, template.render(values))  # type: ignore[arg-type]
            for role, template in self.messages
        )


def file_of(judge: Judge) -> JudgeFile:
    """Return the judge file of a judge that has one."""
    return read_file(judge.file, judge.protocol_file_id)


def own_protocol(text: str, team: Team | None) -> UUID | None:
    """Return the stored protocol of a team that a judge file is about; None for one of the site.

    Raises FileError if the team has none of that name.
    """
    try:
        judge = read_toml(text[:MAX_LENGTH]).get("judge")
    except TomlError:
        return None
    name = judge.get("protocol") if isinstance(judge, Mapping) else None
    if team is None or not isinstance(name, str) or name in DECLARED:
        return None
    try:
        return find_task(name, team).stored
    except ProtocolError as error:
        raise FileError(str(error), Lines(text).of("judge", "protocol")) from error


@lru_cache(maxsize=64)
def read_file(text: str, stored: UUID | None = None) -> JudgeFile:
    """Read the text of a judge file. Raises FileError with the line where something is wrong.

    `stored` is the team's protocol that it is about, if it is about one.
    """
    if len(text) > MAX_LENGTH:
        raise FileError(f"the file has over {MAX_LENGTH:,} characters; shorten it")
    try:
        document = read_toml(text)
    except TomlError as error:
        raise FileError(str(error), error.line) from error
    lines = Lines(text)
    _check_keys(document, lines)
    return _Reader(text, document, lines, stored).read()


def _check_keys(document: Mapping[str, Any], lines: Lines) -> None:
    known = (*TABLES, *OPEN_TABLES)
    for name, table in document.items():
        if name not in known:
            names = ", ".join(known)
            raise FileError(
                f"{name!r} is not a table of a judge file; it has {names}",
                lines.of(name, name) or lines.of("", name),
            )
        several = name in ("messages", "fixture")
        rows = table if several else [table]
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            form = f"[[{name}]]" if several else f"[{name}]"
            raise FileError(
                f"{name} is not written as {form}", lines.of(name) or lines.of("", name)
            )
        for number, row in enumerate(rows):
            for key in row:
                if name in TABLES and key not in TABLES[name]:
                    names = ", ".join(TABLES[name])
                    raise FileError(
                        f"{key!r} is not a key of [{name}]; it has {names}",
                        lines.of(name, key, number),
                    )


class _Reader:
    def __init__(
        self, text: str, document: Mapping[str, Any], lines: Lines, stored: UUID | None
    ) -> None:
        self.text, self.document, self.lines, self.stored = text, document, lines, stored

    def read(self) -> JudgeFile:
        judge = self._texts("judge", self.document.get("judge", {}))
        protocol = self._protocol(judge)
        parser = self.document.get("answer", {}).get("parser")
        if parser in WITH_LOGPROBS and not self.document.get("params", {}).get("logprobs"):
            wrong = f"{parser} needs log probabilities; give logprobs = 20 in [params]"
            raise self.wrong(wrong, "params")
        file = JudgeFile(
            text=self.text,
            protocol=protocol,
            messages=tuple(self._messages(protocol)),
            parser=self._parser(protocol),
            parser_name=str(self.document.get("answer", {}).get("parser", "schema")),
            title=judge.get("title", ""),
            source=judge.get("source", ""),
            isolate=self._choice("judge", judge, "isolate", ISOLATION, ""),
            order=self._choice("judge", judge, "order", ORDERS, "given"),
            examples=self._examples(),
            params=dict(self.document.get("params", {})),
            extra_body=dict(self.document.get("extra_body", {})),
            fixtures=tuple(self._fixtures()),
            about={
                name: judge[name] for name in ("scale", "validated", "weaknesses") if name in judge
            },
        )
        read = [each.completion for each in file.fixtures if each.labels]
        texts = [*(template.source for _, template in file.messages), *read] if read else []
        writes = isinstance(file.parser, WrittenParser)
        found = answer.shortcomings(self._answer, texts, writes)
        return replace(file, shortcomings=tuple(map(self._placed, found)))

    @property
    def _answer(self) -> Mapping[str, Any]:
        table = self.document.get("answer", {})
        assert isinstance(table, Mapping)
        return table

    def _placed(self, error: FileError) -> FileError:
        """Return an error about the table `answer` with its line."""
        *above, key = ("answer", *(error.path or ("parser",)))
        error.line = self.lines.of(".".join(above), key)
        return error

    def wrong(self, message: str, table: str, key: str = "", number: int = 0) -> FileError:
        return FileError(message, self.lines.of(table, key, number))

    def _texts(self, name: str, table: Mapping[str, Any], number: int = 0) -> dict[str, str]:
        for key, value in table.items():
            if not isinstance(value, str):
                raise self.wrong(f"{key} is not text; put it in quotation marks", name, key, number)
        return dict(table)

    def _choice(
        self, table: str, values: Mapping[str, Any], key: str, choices: Sequence[str], other: str
    ) -> str:
        value = values.get(key, other)
        if value not in (*choices, other):
            raise self.wrong(f"{key} is {value!r}; give one of {', '.join(choices)}", table, key)
        return str(value)

    def _protocol(self, judge: Mapping[str, str]) -> Protocol:
        name = judge.get("protocol")
        if name is None:
            raise self.wrong(
                "protocol is missing; name the protocol whose items it judges", "judge"
            )
        if self.stored is not None:
            return stored_protocol(self.stored)
        if name not in DECLARED:
            names = ", ".join(DECLARED)
            raise self.wrong(
                f"{name!r} is not a protocol; give one of {names}", "judge", "protocol"
            )
        return DECLARED[name]

    def _messages(self, protocol: Protocol) -> Iterator[tuple[str, MessageTemplate]]:
        rows = self.document.get("messages", [])
        if not 0 < len(rows) <= MAX_MESSAGES:
            raise self.wrong(f"give 1 to {MAX_MESSAGES} [[messages]]", "messages")
        for number, row in enumerate(rows):
            texts = self._texts("messages", row, number)
            if texts.get("role") not in ROLES:
                wrong = f"role is {texts.get('role')!r}; give one of {', '.join(ROLES)}"
                raise self.wrong(wrong, "messages", "role", number)
            if not texts.get("text", "").strip():
                raise self.wrong("the message has no text", "messages", "text", number)
            template = MessageTemplate(texts["text"])
            self._check_template(template, number, protocol)
            yield texts["role"], template
        if rows[-1]["role"] == "system":
            raise self.wrong(
                "the last message is of the system; end with the user's",
                "messages",
                "role",
                len(rows) - 1,
            )

    def _check_template(self, template: MessageTemplate, number: int, protocol: Protocol) -> None:
        begin = self.lines.of("messages", "text", number)
        try:
            template.check(fields_for(protocol))
        except FileError as error:
            # A text in three quotation marks begins on the line after them.
            row = template.source.splitlines()
            several = begin is not None and len(row) > 1
            error.line = begin + (error.line or 1) if several and begin else begin
            raise

    def _parser(self, protocol: Protocol) -> Parser:
        texts = (row.get("text", "") for row in self.document.get("messages", []))
        try:
            return written.build(self._answer, protocol, "\n".join(texts))
        except FileError as error:
            raise self._placed(error) from error

    def _examples(self) -> Examples | None:
        table = self.document.get("examples")
        if table is None:
            return None
        k = table.get("k", 0)
        if not isinstance(k, int) or isinstance(k, bool) or not 0 <= k <= MAX_MESSAGES:
            raise self.wrong(
                f"k is {k!r}; give a whole number up to {MAX_MESSAGES}", "examples", "k"
            )
        return Examples(k, self._choice("examples", table, "draw", DRAWS, "any"))

    def _fixtures(self) -> Iterator[Fixture]:
        rows = self.document.get("fixture", [])
        if len(rows) > MAX_FIXTURES:
            raise self.wrong(f"there are over {MAX_FIXTURES} fixtures; leave some out", "fixture")
        for number, row in enumerate(rows):
            labels = row.get("labels", {})
            if not isinstance(row.get("completion"), str):
                raise self.wrong("the fixture has no completion", "fixture", "completion", number)
            if bool(labels) == bool(row.get("fault")):
                raise self.wrong(
                    "a fixture has either labels or a fault", "fixture", "labels", number
                )
            tables = labels if isinstance(labels, list) else [labels]
            if not all(isinstance(each, Mapping) for each in tables):
                wrong = 'labels are a table such as { relevant = "yes" }, or a list of tables'
                raise self.wrong(wrong, "fixture", "labels", number)
            if row.get("fault", "unreadable") not in get_args(Fault):
                names = ", ".join(get_args(Fault))
                wrong = f"fault is {row['fault']!r}; give one of {names}"
                raise self.wrong(wrong, "fixture", "fault", number)
            if not set(str(row.get("step", "as-is")).split("+")) <= set(STEPS):
                raise self.wrong(
                    f"step has values other than {', '.join(STEPS)}", "fixture", "step", number
                )
            each = tuple(labels) if isinstance(labels, list) else (labels,) if labels else ()
            line = self.lines.of("fixture", "", number)
            yield Fixture(
                row["completion"],
                each,
                row.get("fault", ""),
                row.get("step", ""),
                line,
                self._units(row, number),
            )

    def _units(self, row: Mapping[str, Any], number: int) -> tuple[str, ...]:
        """Return the texts of a fixture's units, which a parser needs that matches them."""
        units = row.get("units", [])
        if not isinstance(units, list) or not all(isinstance(text, str) for text in units):
            raise self.wrong("units is not a list of texts", "fixture", "units", number)
        if not units and self._answer.get("match", BY_POSITION) != BY_POSITION:
            wrong = "the fixture has no units; give the texts that its sentences should match"
            raise self.wrong(wrong, "fixture", "completion", number)
        return tuple(units)
