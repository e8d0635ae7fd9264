"""Run a judge file's fixtures: compare what its parser reads with what it should read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.backends.base import Answer, AskedUnit, AskedVariable
from judging.judge_file.document import Fixture, JudgeFile
from judging.parsers.base import ExpectedAnswer, Step, UnreadError
from judging.parsers.written import WrittenParser
from tandem.protocols.schema import EVIDENCE_KEY, Schema


@dataclass(frozen=True)
class FixtureReading:
    """How the parser reads a fixture, whose `number` counts from 1.

    `labels` has each unit's labels, read after the `steps` of the ladder. Without labels, `fault`
    is the missing reason. `wrong` describes the difference from the file, and is empty if there is
    none.
    """

    number: int
    fixture: Fixture
    labels: Sequence[Mapping[str, Any]] = ()
    steps: tuple[Step, ...] = ()
    fault: str = ""
    wrong: str = ""

    @property
    def labels_text(self) -> str:
        """The labels in words."""
        return _format_labels(self.labels)


def readings(file: JudgeFile) -> Iterator[FixtureReading]:
    """Read each fixture of a file."""
    for number, fixture in enumerate(file.fixtures, start=1):
        yield _reading(file, number, fixture)


def failures(file: JudgeFile) -> Iterator[str]:
    """Yield a line for each fixture whose reading differs from the file."""
    for reading in readings(file):
        if reading.wrong:
            yield f"fixture {reading.number}, line {reading.fixture.line}: {reading.wrong}"


def _reading(file: JudgeFile, number: int, fixture: Fixture) -> FixtureReading:
    texts = fixture.units or ("",) * max(1, len(fixture.labels))
    kinds = _kinds(file, len(texts))
    units = [
        asked_unit(file, number, text, kind)
        for number, (text, kind) in enumerate(zip(texts, kinds, strict=True), start=1)
    ]
    expected = ExpectedAnswer(tuple(units), by_unit=not file.parser.several)
    try:
        read = file.parser.read(Answer(fixture.completion), expected)
    except UnreadError as error:
        wrong = ""
        if not fixture.fault:
            wrong = f"cannot be read ({error.fault}): {error}"
        elif fixture.fault != error.fault:
            wrong = f"is {error.fault}: {error}"
        return FixtureReading(number, fixture, fault=error.fault, wrong=wrong)
    labels = [_labels(read.units.get(unit.name, {})) for unit in units]
    wrong = _difference(fixture, labels, "+".join(read.steps))
    return FixtureReading(number, fixture, labels, read.steps, wrong=wrong)


def _difference(fixture: Fixture, labels: Sequence[Mapping[str, Any]], steps: str) -> str:
    if fixture.fault:
        return f"is read as {_format_labels(labels)} and not {fixture.fault}"
    if labels != [dict(each) for each in fixture.labels]:
        return f"is read as {_format_labels(labels)} and not as {_format_labels(fixture.labels)}"
    return (
        f"is read after {steps} and not {fixture.step}" if fixture.step not in ("", steps) else ""
    )


def _labels(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry as a fixture gives it: texts as texts, and points without quotes, too."""
    found = {name: _plain(value) for name, value in entry.items()}
    return {name: value for name, value in found.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, Mapping):
        return str(value) if isinstance(value, str) else value
    quotes = [each["quote"] for each in value.get(EVIDENCE_KEY, ())]
    return {"text": value["text"], EVIDENCE_KEY: quotes} if quotes else value["text"]


def _format_labels(labels: Sequence[Mapping[str, Any]]) -> str:
    units = (", ".join(f"{name} = {code}" for name, code in each.items()) for each in labels)
    return "; ".join(filter(None, units)) or "nothing"


def _kinds(file: JudgeFile, count: int) -> Sequence[str]:
    """Return the kinds of a fixture's units: for texts the unit of the text, then those matched."""
    if isinstance(file.parser, WrittenParser):
        rule = file.protocol.listed
        return [file.parser.kind, *[rule.match_kind if rule else ""] * (count - 1)]
    reads = file.parser.reads
    asked = [v for v in file.protocol.variables if not reads or v.name in reads]
    # An optional variable may be of another kind than what every campaign asks.
    return [min(asked, key=lambda variable: variable.optional).kind] * count


def asked_unit(file: JudgeFile, number: int, text: str = "", kind: str = "") -> AskedUnit:
    """Return a unit, by default of the first kind with a variable that the parser reads.

    It asks an optional variable only if the parser or a fixture of the file names it.
    """
    named = {
        *file.parser.reads,
        *(name for each in file.fixtures for u in each.labels for name in u),
    }
    schema = Schema(
        file.protocol,
        tuple(v for v in file.protocol.variables if not v.optional or v.name in named),
    )
    kind = kind or _kinds(file, 1)[0]
    asked = tuple(
        AskedVariable(v.name, v.answers, v.level, v.asked_if, v.escapes, several=v.several)
        for v in schema.variables_of(kind)
    )
    return AskedUnit(f"{kind} {number}", kind, text, asked)
