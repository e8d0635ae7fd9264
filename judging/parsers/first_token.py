"""`first-token` and `expected`: the probabilities of the options where the answer begins.

They are read from the log probabilities of the first token, renormalised over the options, and
stored with the options' mass before that. The label is the most probable option. Where its variable
is ordered, its score is the expected level: the mean of the scale under these probabilities (Liu et
al. 2023, G-Eval), for which `expected` is the other name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from judging.backends.base import Answer, AskedVariable
from judging.backends.decision_questions import MASS_FLOOR, Decision, NoLabelError, label_of
from judging.backends.logprobs import Likelihoods, NoLikelihoodError, likelihoods_at, locate_tokens
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.codes import Verdict, Verdicts, reading_of, variables_of
from judging.parsers.decisions import score_from
from judging.parsers.ladder import body_of
from judging.parsers.statements import delimited

_MARKS = " \t\r\n*_`\"'“‘([{"


@dataclass(frozen=True)
class FirstTokenParser:
    """Reads one variable. The keys of its map, or else its codes, are the options.

    If the options' mass is below `floor`, the label is missing as `off-label`.
    """

    variable: str
    verdicts: Verdicts
    floor: float = MASS_FLOOR
    whole = several = False

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.variable,)

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        body = body_of(answer.text)
        (unit,) = expected.units
        (variable,) = variables_of(unit, (self.variable,))
        table = self.verdicts.table(variable)
        normal = self.verdicts.normal(body)
        found = _option(normal.text, table)
        self.verdicts.check_refusal(body.inside, found is not None)
        if found is None:
            raise UnreadError("the answer does not begin with one of the options")
        if not self.verdicts.as_published:
            self._check_whole(normal.text, found, variable)
        span = normal.place(*found)
        try:
            tokens = locate_tokens(answer.text, answer.logprobs)
            likely = likelihoods_at(answer.text, tokens, span, tuple(table))
        except NoLikelihoodError as error:
            raise UnreadError(f"there are no probabilities of the options: {error}") from error
        decision = _decision(likely, table)
        try:
            label = label_of(decision, self.floor)
        except NoLabelError as error:
            raise UnreadError(str(error), error.fault) from error
        option = answer.text[slice(*span)]
        # The most probable code may belong to several options that were not sampled.
        grade = self.verdicts.grade(variable, option) if table[option] == label else ""
        steps = (*body.steps, *normal.steps(*found))
        read = reading_of([(unit, {variable.name: Verdict(label, grade)})], steps)
        score = score_from(variable, decision)
        return replace(read, scores={(unit.name, variable.name): score})

    def _check_whole(self, text: str, span: tuple[int, int], variable: AskedVariable) -> None:
        """Raise UnreadError unless the option is the whole of what the answer says."""
        word = delimited(text, *span, self.verdicts.table(variable))
        if word is None:
            raise UnreadError("the option at the beginning is a part of something else")
        first = self.verdicts.take == "first"
        self.verdicts.check_rest([variable], text[word.end :], [word.text], first=first)


def _option(text: str, table: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the span of the option with which a text begins; the longest if several match."""
    start = len(text) - len(text.lstrip(_MARKS))
    for option in sorted(table, key=len, reverse=True):
        end = start + len(option)
        if text[start:end] == option and not text[end : end + 1].isalnum():
            return start, end
    return None


def _decision(likely: Likelihoods, table: Mapping[str, str]) -> Decision:
    """Sum the probabilities of each code's options."""
    whole = sum(likely.codes.values())
    shares: dict[str, float] = {}
    for option, probability in likely.codes.items():
        code = table[option]
        shares[code] = shares.get(code, 0.0) + (probability / whole if whole else 0.0)
    bounded = tuple(sorted({table[option] for option in likely.bounded}))
    return Decision(shares, None if likely.masked else likely.mass, bounded=bounded)
