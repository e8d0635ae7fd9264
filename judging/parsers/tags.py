"""`tags`: a verdict between two marks, such as `<verdict>…</verdict>` or `[[A]]`.

Each opening mark is a statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from judging.backends.base import Answer, AskedVariable
from judging.parsers.base import ExpectedAnswer, Reading
from judging.parsers.codes import PLAIN, CodeMap, Statement, Verdicts, read_statements, variables_of
from judging.parsers.ladder import body_of
from judging.parsers.statements import sole_word

MAX_VERDICT = 200


@dataclass(frozen=True)
class TagsParser:
    """Reads the text between an opening and a closing marker, for each variable."""

    marks: Mapping[str, tuple[str, str]]
    verdicts: Verdicts = PLAIN
    whole = several = False

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.marks)

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        own = [mark for marks in self.marks.values() for mark in marks]
        body = body_of(answer.text, own)
        (unit,) = expected.units
        variables = variables_of(unit, self.marks)
        normal = self.verdicts.normal(body, own)
        found = chain(*(self._statements(variable, normal.text) for variable in variables))
        return read_statements(self.verdicts, unit, variables, body, normal, found)

    def _said(self, inside: str, table: CodeMap) -> str | None:
        """Return the word between two marks, which may be followed by the option's own text."""
        head, mark, text = inside.partition(":")
        own = self.verdicts.texts.get(head.strip().casefold())
        if mark and own and text.strip(" .").casefold() == own.casefold():
            return head
        return sole_word(inside, table)

    def _statements(self, variable: AskedVariable, text: str) -> Iterator[Statement]:
        """Yield a statement for each opening mark, whether it can be read or not."""
        opening, closing = self.marks[variable.name]
        end_mark = re.compile(re.escape(closing), re.IGNORECASE)
        begin_mark = re.compile(re.escape(opening), re.IGNORECASE)
        at, table = 0, self.verdicts.table(variable)
        for mark in begin_mark.finditer(text):
            if mark.start() < at:
                continue
            begin = mark.end()
            end = end_mark.search(text, begin, begin + MAX_VERDICT + len(closing))
            if end is None or begin_mark.search(text, begin, end.start()):
                if not self.verdicts.as_published:
                    wrong = f"{text[mark.start() : begin + 40]!r} has no end"
                    yield Statement(mark.start(), begin, (variable.name,), wrong=wrong)
                continue
            at, inside = end.end(), text[begin : end.start()]
            said = inside if self.verdicts.as_published else self._said(inside, table)
            word = None if said is None else self.verdicts.word(variable, said)
            wrong = "" if word else f"{inside[:80]!r} is not a verdict on {variable.name}"
            words = {variable.name: word} if word else {}
            yield Statement(mark.start(), at, (variable.name,), words, wrong)
