"""People's answers as references (CLAPnq, GaRAGe)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from annotation.derivation.answers import REFERENCES, AnswerWork, WrittenAnswer, sentences_of
from annotation.derivation.base import Rule
from tandem.files import rows


@dataclass(frozen=True)
class Options:
    people: int = field(
        default=1,
        metadata={
            "help": "only queries that at least this many people answered; CLAPnq keeps answers "
            "that two people saw",
            "least": 1,
            "most": 1000,
        },
    )


class References(AnswerWork):
    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        self.tally.keep("queries")
        answers = self.answers(pk)
        people = frozenset[int]().union(*(answer.people for answer in answers))
        if not answers:
            self.tally.drop("queries with references", query.id, "no answer")
            return query
        if len(people) < self.job.options.people:
            reason = f"answered by fewer than {self.job.options.people} people"
            self.tally.drop("queries with references", query.id, reason)
            return query
        known = {(each.text, bool(each.deflected)) for each in query.references}
        made = tuple(
            _reference(query, answer)
            for answer in answers
            if (answer.text, answer.deflected) not in known
        )
        self.tally.keep(REFERENCES, len(made))
        self.tally.keep("deflections", sum(bool(each.deflected) for each in made))
        return replace(query, references=query.references + made)


def _reference(query: rows.Query, answer: WrittenAnswer) -> rows.Reference:
    return rows.Reference(
        answer.text,
        answer.citations or None,
        sentences_of(query, answer),
        answer.deflected,
        {"descriptor": answer.descriptor} if answer.descriptor else None,
    )


RULE = Rule(
    "references",
    "References",
    "People’s written answers as references, deflections included.",
    References,
    ("grounded-answer",),
    Options,
)
