"""`letter`: a single option, by its letter, number or text, as in multiple choice.

An option is stated at the beginning of a reply, on a line of its own, or after words such as
*Answer:* and *The correct option is*. Every such place is a statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from judging.backends.base import Answer, AskedVariable
from judging.parsers.base import ExpectedAnswer, Reading
from judging.parsers.codes import Statement, Verdicts, read_statements, variables_of
from judging.parsers.ladder import body_of
from judging.parsers.statements import Span, delimited, marker_pattern, sole_word

_NAMES = (
    r"(?:answer|option|choice|verdict|label|rating|score|grade|selection|decision|judge?ment|"
    r"classification|category|conclusion|result|response|antwort|bewertung|réponse|respuesta|"
    r"risposta|resposta|答案|评分|評分|答え|回答)"
)
_ANNOUNCED = re.compile(
    r"(?<![^\W\u3040-\u9fff])"
    r"(?:(?:the|my|our|final|correct|best|right|overall|most \w{1,20})\s+){0,5}"
    + _NAMES
    + r"(?:\s+(?:for|to)\s+this\s+\w+)?(?:\s*\([^()\n]{0,40}\))?"
    r"(?:\s*(?P<mark>[:=])\s*|\s+(?:is|was|would be|must be|should be|ist|est|es)\s*:?\s+|"
    r"\s*[是为為は]\s*:?\s*|\s+[-–—]\s+)"
    r"(?:(?:is|it is|it's|option|choice|answer|letter|a|an)\s+)?",
    re.IGNORECASE,
)
_CHOSEN = re.compile(
    r"(?<!\w)(?:i(?:'d| would|'ll| will)?|we)\s+(?:\w+ly\s+)?"
    r"(?:choose|select|pick|go with|answer|rate|give|score|assign)\s+"
    r"(?:(?:it|(?:the|this) \w+|this|that)\s+)?(?:(?:as|at|with)\s+)?(?:(?:a|an)\s+)?"
    r"(?:(?:rating|score|grade)\s+of\s+)?(?:(?:option|answer|choice)\s+)?:?\s*",
    re.IGNORECASE,
)
# Words that announce an option, but stand before other things, too.
_SO = re.compile(
    r"(?<!\w)(?:therefore|thus|hence|so|conclusion|final|note|nota|punteggio|puntuación|"
    r"calificación|wertung)\s*[:=]\s*",
    re.IGNORECASE,
)
_BEGINNING = re.compile(r"\s*(?:(?:the\s+)?(?:option|answer|choice|letter)\s+)?", re.IGNORECASE)
_LINE = re.compile(r"^.*$", re.MULTILINE)
_OPEN = "\"'“‘«([{ \t"
_AFTER = re.compile(
    r"[\"'”’»)\]}]*(?:\s*$|\s*\n|[.,;:!。，、](?:\s(?!\d)|$|[\u3040-\u9fff])|\s+[-–—(]|\s+(?:because|since|as)\b)|"
    r"[\"'”’»]?[)\]]\s"
)
_LONGEST = 60


@dataclass(frozen=True)
class LetterParser:
    """Reads variables from one option. The keys of the first one's map are the options."""

    variables: tuple[str, ...]
    verdicts: Verdicts
    whole = several = False

    @property
    def reads(self) -> tuple[str, ...]:
        return self.variables

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        body = body_of(answer.text, (self.verdicts.marker,))
        (unit,) = expected.units
        asked = {variable.name: variable for variable in variables_of(unit, self.variables)}
        variables = [asked[name] for name in self.variables if name in asked]
        normal = self.verdicts.normal(body)
        found = self._statements(variables, normal.text)
        return read_statements(self.verdicts, unit, variables, body, normal, found)

    def _statements(self, variables: Sequence[AskedVariable], text: str) -> Iterator[Statement]:
        names = tuple(variable.name for variable in variables)
        options = tuple(self.verdicts.table(variables[0]))
        places: list[tuple[int, int, bool]] = []
        for pattern in (_ANNOUNCED, _CHOSEN, _SO, *self._markers()):
            for found in pattern.finditer(text):
                groups = found.groupdict()
                # *The answer is supported by …* is prose, and so is *Result* above a text.
                must = pattern not in (_ANNOUNCED, _CHOSEN, _SO) or bool(groups.get("mark"))
                places.append((found.start(), found.end(), must))
        if beginning := _BEGINNING.match(text):
            places.append((*beginning.span(), False))
        taken: set[Span] = set()
        for begin, at, must in sorted(places):
            span = self._option(text, at, options)
            if span is None:
                if must:
                    wrong = f"{text[begin : at + 40].strip()!r} names none of the options"
                    yield Statement(begin, at, names, wrong=wrong)
                continue
            if span not in taken:
                taken.add(span)
                spans = dict.fromkeys(names, span)
                yield self.verdicts.statement(variables, text, spans, begin)
        for line in _LINE.finditer(text):
            bare = line[0].strip()
            if (
                0 < len(bare) <= _LONGEST
                and not any(line.start() <= start < line.end() for start, _ in taken)
                and (word := sole_word(bare, options)) is not None
            ):
                at = line.start() + line[0].casefold().rfind(word.casefold())
                spans = {name: (at, at + len(word)) for name in names}
                yield self.verdicts.statement(variables, text, spans, line.start())

    def _markers(self) -> Sequence[re.Pattern[str]]:
        return (marker_pattern(self.verdicts.marker),) if self.verdicts.marker else ()

    def _option(self, text: str, at: int, options: tuple[str, ...]) -> Span | None:
        """Return the span of the option that stands at a place, if nothing is joined to it."""
        while at < len(text) and text[at] in _OPEN:
            at += 1
        found = _pattern(options).match(text, at)
        if found is None:
            return None
        span = found.span("option")
        if self.verdicts.as_published:
            return span
        if (word := delimited(text, *span, options)) is None:
            # It counts as a statement that cannot be read: 4+, 3.5.
            return span if found["option"].isdigit() else None
        return span if _AFTER.match(text, word.end) else None


@lru_cache(maxsize=256)
def _pattern(options: tuple[str, ...]) -> re.Pattern[str]:
    ordered = sorted(options, key=len, reverse=True)
    return re.compile(f"(?P<option>{'|'.join(map(re.escape, ordered))})", re.IGNORECASE)
