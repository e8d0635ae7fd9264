"""`first-token` and `expected`: the probabilities of the options where the answer begins.

They are read from the log probabilities of the first token, renormalised over the options, and
stored with the options' mass before that. The label is the most probable option. Where its variable
is ordered, its score is the expected level: the mean of the scale under these probabilities (Liu et
al. 2023, G-Eval), for which `expected` is the other name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from judging.backends.base import Answer
from judging.backends.decision_questions import MASS_FLOOR, Decision, NoLabelError, label_of
from judging.backends.logprobs import Likelihoods, NoLikelihoodError, likelihoods_at, locate_tokens
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.codes import Verdict, Verdicts, reading_of, variables_of
from judging.parsers.decisions import score_from
from judging.parsers.ladder import Part, body_of

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
        span = _option(body, table)
        self.verdicts.check_refusal(body.inside, span is not None)
        if span is None:
            raise UnreadError("the answer does not begin with one of the options")
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
        read = reading_of([(unit, {variable.name: Verdict(label, grade)})], body.steps)
        score = score_from(variable, decision)
        return replace(read, scores={(unit.name, variable.name): score})


def _option(body: Part, table: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the span of the option with which an answer begins; the longest if several match."""
    start = body.start + len(body.inside) - len(body.inside.lstrip(_MARKS))
    for option in sorted(table, key=len, reverse=True):
        end = start + len(option)
        if body.text[start:end] == option and not body.text[end : end + 1].isalnum():
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
