"""People's answers as reports of a system, so that they are judged like any other."""

from __future__ import annotations

from dataclasses import replace

from annotation.derivation.answers import AnswerWork
from annotation.derivation.base import Rule
from tandem.files import rows

SYSTEM = "people"


class Reports(AnswerWork):
    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        answers = self.answers(pk)
        several = len(answers) > 1
        context = tuple(passage.id for passage in query.passages) or None
        made = tuple(
            rows.Report(
                f"{query.id}/{SYSTEM}/{number}" if several else f"{query.id}/{SYSTEM}",
                answer.text,
                SYSTEM,
                context=context,
                citations=answer.citations or None,
                deflected=answer.deflected,
            )
            for number, answer in enumerate(answers, start=1)
        )
        if not made:
            self.tally.drop("reports", query.id, "no answer")
        self.tally.keep("queries")
        self.tally.keep("reports", len(made))
        return replace(query, reports=query.reports + made)


RULE = Rule(
    "reports",
    "Answers as reports",
    "People’s written answers as reports of the system “people”.",
    Reports,
    ("grounded-answer",),
)
