"""`letter`: a single option, by its letter, number or text, as in multiple choice."""

from __future__ import annotations

import re
from dataclasses import dataclass

from judging.backends.base import Answer, AskedVariable
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.codes import Verdicts, reading_of, variables_of
from judging.parsers.ladder import body_of

_LEAD = re.compile(
    r"^(?:the |my |final )*(?:answer|option|choice|verdict)\s*(?:is\b)?\s*:?\s*", re.IGNORECASE
)
_MARKS = " \t\r\n*_`\"'“”‘’()[]{}.,:;!"


@dataclass(frozen=True)
class LetterParser:
    """Reads one variable. The keys of its map are the options, as letters and as texts.

    An option stands alone, after words such as “Answer:”, or before its own text: `B. The second`.
    """

    variable: str
    verdicts: Verdicts
    whole = several = False

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.variable,)

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        body = body_of(answer.text)
        (unit,) = expected.units
        (variable,) = variables_of(unit, (self.variable,))
        option = self._option(body.inside, variable)
        self.verdicts.check_refusal(body.inside, option is not None)
        if option is None:
            raise UnreadError("the completion is none of the options")
        verdict = self.verdicts.verdict(variable, [option])
        return reading_of([(unit, {variable.name: verdict})], body.steps)

    def _option(self, text: str, variable: AskedVariable) -> str | None:
        """Return the option that a text names, or None if it names none."""
        table = self.verdicts.table(variable)
        options = {option.strip(_MARKS).casefold(): option for option in table}
        bare = _LEAD.sub("", text.strip(_MARKS), count=1).strip(_MARKS)
        if bare.casefold() in options:
            return options[bare.casefold()]
        head, mark, rest = bare.partition(".")
        if not mark or ")" in head:
            head, mark, rest = bare.partition(")")
        option = options.get(head.strip(_MARKS).casefold())
        if option is None or not mark or rest[:1] not in " \t*":
            return None
        # A letter may be followed by its own text or a reason, but not by another verdict.
        others = [other for other in table if table[other] != table[option]]
        if any(re.search(rf"(?<!\w){re.escape(other)}(?!\w)", rest) for other in others):
            raise UnreadError("the completion names another option, too", "ambiguous")
        return option
