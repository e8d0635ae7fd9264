"""The required passages P** of CRUX: enough to answer every answerable question.

As in the paper, passages are ranked by the number of questions that they answer, and from the top
down a passage is kept if it answers a question that none above it did. Stepwise, the passage that
answers most new questions comes next. In both cases, ties are in the order of identifiers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from annotation.derivation.base import Rule
from annotation.derivation.decisions import YES
from annotation.derivation.rules import answerable_questions
from annotation.derivation.rules.answerable_questions import Cells, CellWork
from datasets.derivation import DerivationError
from tandem.files import rows

REQUIRED, ORACLE = "required", "oracle"
Greedy = Literal["ranked", "stepwise"]


@dataclass(frozen=True)
class Options(answerable_questions.Options):
    greedy: Greedy = field(
        default="ranked",
        metadata={
            "help": "`ranked`, as in the paper: down the passages ranked by the number of "
            "questions that they answer; `stepwise`: each time the passage with the most new "
            "questions"
        },
    )


def choose_passages(answers: Mapping[str, frozenset[str]], greedy: Greedy = "ranked") -> list[str]:
    """Return the required passages in the order in which they were chosen.

    `answers` are the questions that each passage answers.
    """
    ranked = sorted(answers, key=lambda passage: (-len(answers[passage]), passage))
    seen: set[str] = set()
    kept: list[str] = []
    while ranked:
        if greedy == "stepwise":
            ranked.sort(key=lambda passage: (-len(answers[passage] - seen), passage))
        best = ranked.pop(0)
        if answers[best] - seen:
            kept.append(best)
            seen |= answers[best]
    return kept


class RequiredPassages(CellWork):
    plural = answerable_questions.QUESTIONS

    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        if any(ranking.system == REQUIRED for ranking in query.rankings):
            raise DerivationError(
                f"query {query.id!r} has a ranking of {REQUIRED!r} already; derive from the batch "
                "before it"
            )
        cells = self.cells(pk, query)
        questions = {question.id for question in self.kept_questions(query, cells)}
        chosen = tuple(choose_passages(_answers(cells, questions), self.job.options.greedy))
        self._count(query, chosen)
        ranking = (rows.Ranking(REQUIRED, chosen),)
        reports = tuple(self._with_context(report, chosen) for report in query.reports)
        return replace(query, rankings=query.rankings + ranking, reports=reports)

    def _with_context(self, report: rows.Report, chosen: tuple[str, ...]) -> rows.Report:
        """Give a report of the oracle setting its context, unless it has one."""
        if ORACLE not in (report.setting, report.system) or report.context is not None:
            return report
        self.tally.keep("contexts of the oracle setting")
        return replace(report, context=chosen)

    def _count(self, query: rows.Query, chosen: tuple[str, ...]) -> None:
        texts = {passage.id: passage.text for passage in query.passages}
        tokens = sum(len(texts[each].split()) for each in chosen)
        self.tally.keep("required passages", len(chosen))
        facts = self.tally.facts
        for name, number in (("passages", len(chosen)), ("tokens", tokens)):
            facts[name] = facts.get(name, 0) + number
            facts[f"most_{name}"] = max(facts.get(f"most_{name}", 0), number)

    def finish(self) -> None:
        super().finish()
        queries = self.tally.kept["queries"]
        if queries:
            for name in ("passages", "tokens"):
                self.tally.facts[f"mean_{name}"] = round(self.tally.facts[name] / queries, 2)


def _answers(cells: Cells, questions: set[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for (passage, question), decision in cells.items():
        if decision.value == YES and question in questions:
            found.setdefault(passage, set()).add(question)
    return {passage: frozenset(answered) for passage, answered in found.items()}


RULE = Rule(
    "required-passages",
    "Required passages",
    "The smallest greedy set of passages that answers all answerable questions, as the ranking "
    "“required”.",
    RequiredPassages,
    ("rubric-passage",),
    Options,
)
