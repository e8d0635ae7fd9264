"""Backends with prepared answers: from a labels file, or in tests from a script.

`Replay` is the backend `scripted` of the registry. `Scripted` serves tests and benchmarks.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, get_args

from judging.backends.base import (
    JSON,
    Answer,
    AskedUnit,
    Conditions,
    FinalError,
    Findings,
    Request,
    Serverless,
    Setup,
    SetupError,
)
from judging.backends.completeness import complete
from tandem.labels.file.rows import Reason
from tandem.protocols.base import names_code, split_codes

Reply = str | Answer | BaseException
Script = Callable[[Request], Reply] | Mapping[str, Reply] | Iterable[Reply]


class Scripted(Serverless):
    """Answers from a function of the request, by unit name, or from a list in order.

    A reply that is an exception is raised. `asked` holds the requests in order. `most` is the
    largest number of requests in flight at once.
    """

    def __init__(self, script: Script, seconds: float = 0.0) -> None:
        self._line = _reader(script)
        self.seconds = seconds
        self.asked: list[Request] = []
        self.under_way = self.most = 0

    def identity(self, request: Request) -> JSON:
        messages = [[m.role, m.content] for m in request.messages]
        asked = {"messages": messages, "schema": request.schema, "sample": request.sample}
        return {"backend": "scripted", **asked}

    async def ask(self, request: Request) -> Answer:
        self.asked.append(request)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
            line = self._line(request)
        finally:
            self.under_way -= 1
        if isinstance(line, BaseException):
            raise line
        return complete(line if isinstance(line, Answer) else Answer(line, model="scripted"))

    async def probe(self) -> Findings:
        return Findings()


def _reader(script: Script) -> Callable[[Request], Reply]:
    if callable(script):
        return script
    if isinstance(script, Mapping):
        lines: Mapping[str, Reply] = script
        return lambda request: lines[request.facts.units[0].name]
    rest = iter(script)
    return lambda request: next(rest)


UnitKey = tuple[str, str, int]
"""The keys of an item and of one of its units, and the replicate."""
VERSION = "1"
COMPLETION = ""
"""The variable of a line whose value is a whole completion instead of a label."""
NO_LABEL = "the file has no label of {name} for unit {unit} of item {item}"


@dataclass(frozen=True)
class Line:
    """A label of an answers file: its `value`, or the reason why it is `missing`.

    `kind` is None if the file does not say what its units are. `quotes` are the label's evidence,
    and `reason` is replayed as what the judge thought before it answered. `written` has what the
    judge writes for the unit besides labels: texts and lists, by their keys in the answer.
    """

    item: str
    unit: str
    kind: str | None
    replicate: int
    variable: str
    value: str | None
    missing: str | None
    quotes: tuple[str, ...] = ()
    reason: str = ""
    written: JSON = field(default_factory=dict)


@dataclass(frozen=True)
class Answers:
    """The lines of an answers file by unit, and the SHA-256 of their text.

    `whole` tells whether the values are completions.
    """

    lines: Mapping[UnitKey, tuple[Line, ...]]
    sha256: str
    whole: bool = False

    def of(self, item: str, unit: AskedUnit, sample: int) -> dict[str, Line]:
        """Return the lines of a unit by variable. Without a line for a sample, the first counts."""
        found = self.lines.get((item, unit.key, sample)) or self.lines.get((item, unit.key, 0), ())
        return {line.variable: line for line in found if line.kind in (None, unit.kind)}


def pack(lines: Iterable[Line]) -> tuple[str, str]:
    """Return lines as a parameter of a judge, compressed, and the SHA-256 of their plain text."""
    # What a line does not have is stored as before there was any, so that such judges stay equal.
    rows = [_columns(line)[: 10 if line.written else 9 if line.reason else 8] for line in lines]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    # With a fixed time, since equal files must give equal judges.
    packed = base64.b64encode(gzip.compress(text, mtime=0)).decode("ascii")
    return packed, hashlib.sha256(text).hexdigest()


_columns = attrgetter(*(each.name for each in fields(Line)))


def _line(*columns: Any) -> Line:
    item, unit, kind, replicate, variable, value, missing, quotes, *reason = columns
    return Line(item, unit, kind, replicate, variable, value, missing, tuple(quotes), *reason)


@lru_cache(maxsize=4)
def unpack(packed: str) -> Answers:
    """Read what `pack` returned. Raises SetupError."""
    try:
        text = gzip.decompress(base64.b64decode(packed, validate=True))
        rows: list[Any] = json.loads(text)
        read = [_line(*row) for row in rows]
    except (ValueError, TypeError, OSError, EOFError, zlib.error) as error:
        raise SetupError("the stored answers of the scripted judge cannot be read") from error
    lines: dict[UnitKey, tuple[Line, ...]] = {}
    for line in read:
        key = line.item, line.unit, line.replicate
        lines[key] = (*lines.get(key, ()), line)
    whole = any(line.variable == COMPLETION for line in read)
    return Answers(lines, hashlib.sha256(text).hexdigest(), whole)


class Replay(Serverless):
    """A fake judge, which replays the labels of a file by item and unit.

    The labels are part of the judge's parameters, so the judge does not change with the file. If a
    unit lacks a label for a variable that applies to it, its answer is missing, for the reason in
    the file or with an error that names the label. The labels of a judge with a judge file are
    completions that its parser reads, one for each unit.
    """

    def __init__(self, setup: Setup) -> None:
        self.params = {name: v for name, v in setup.params.items() if name != "answers"}
        packed = setup.params.get("answers")
        if not isinstance(packed, str) or not packed:
            raise SetupError("a scripted judge replays a file; give it with --answers FILE")
        self.answers = unpack(packed)

    def identity(self, request: Request) -> JSON:
        facts = request.facts
        asked = [[u.kind, u.key, [v.name for v in u.variables]] for u in facts.units]
        of = {"item": facts.item, "units": asked, "sample": request.sample}
        return {"backend": "scripted", "version": VERSION, "answers": self.answers.sha256} | of

    async def ask(self, request: Request) -> Answer:
        facts = request.facts
        if self.answers.whole:
            (unit,) = facts.units
            return _completion(facts.item, unit, self.answers.of(facts.item, unit, request.sample))
        found = [(u, self.answers.of(facts.item, u, request.sample)) for u in facts.units]
        replies = {unit.name: _reply(facts.item, unit, lines) for unit, lines in found}
        reply: Any = next(iter(replies.values())) if facts.unit_by_unit else replies
        reasons = (line.reason for _, lines in found for line in lines.values() if line.reason)
        text = json.dumps(reply, ensure_ascii=False)
        return Answer(text, model="scripted", reasoning="\n".join(reasons))

    async def probe(self) -> Findings:
        warning = "The answers are replayed from a file, and no model is asked."
        return Findings({"answers_sha256": self.answers.sha256}, (warning,))


def _completion(item: str, unit: AskedUnit, lines: Mapping[str, Line]) -> Answer:
    """Return the completion about a unit. Raises FinalError if there is none."""
    if (line := lines.get(COMPLETION)) and line.value is not None:
        return Answer(line.value, model="scripted")
    name, lost = next(iter(lines.items()), ("any variable", None))
    raise _missing(item, unit, name, lost)


def _reply(item: str, unit: AskedUnit, lines: Mapping[str, Line]) -> JSON:
    """Return the answer to a unit. Raises FinalError if a label that applies is missing."""
    reply: JSON = {"evidence": []} if unit.evidence else {}
    for variable in unit.variables:
        line = lines.get(variable.name)
        if line is not None and line.value is not None:
            codes = split_codes(line.value) if variable.several else None
            reply[variable.name] = line.value if codes is None else sorted(codes)
        elif _holds(variable.asked_if, lines):
            raise _missing(item, unit, variable.name, line)
        else:
            reply[variable.name] = None
    if unit.evidence and (owner := lines.get(unit.evidence[0])):
        reply["evidence"] = [{"quote": quote, "start": None} for quote in owner.quotes]
    written = {key: value for line in lines.values() for key, value in line.written.items()}
    reply |= {name: written.get(name) for name in (unit.written, unit.listed) if name}
    return reply | ({(key := unit.matches[0]): written.get(key, [])} if unit.matches else {})


def _holds(conditions: Conditions, lines: Mapping[str, Line]) -> bool:
    return all(
        name in lines and names_code(lines[name].value, codes) for name, codes in conditions.items()
    )


def _missing(item: str, unit: AskedUnit, name: str, line: Line | None) -> FinalError:
    if line is not None and line.missing:
        known: tuple[Reason, ...] = get_args(Reason)
        reason: Reason = next((each for each in known if each == line.missing), "error")
        return FinalError(reason, f"the file says that {name} is missing: {line.missing}")
    return FinalError("error", NO_LABEL.format(name=name, unit=unit.key, item=item))
