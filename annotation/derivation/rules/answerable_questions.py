"""Sub-questions that a passage or the oracle's report answers (CRUX, section 3: filtering)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from annotation.derivation.base import Job, LabelWork, Rule
from annotation.derivation.decisions import NO, YES, Cut, Decision
from annotation.derivation.labels import LabelledUnit
from annotation.models import Campaign
from annotation.presentation import schema
from datasets.derivation import DerivationError
from tandem.files import rows

QUESTIONS = "questions"
RATING, ANSWERABLE = "rating", "answerable"
Cells = dict[tuple[str, str], Decision]
"""Decisions by the id of a passage or report, and of a question."""


@dataclass(frozen=True)
class Options:
    eta: int = field(
        default=3,
        metadata={
            "help": "the lowest rating at which a text answers a question",
            "least": 1,
            "most": 5,
        },
    )
    oracle: str = field(
        default="",
        metadata={
            "help": "of report coverage, the system whose reports count; of passages, the system "
            "or setting whose context counts (by default all passages)"
        },
    )


def at_least(eta: int) -> Cut:
    return lambda value: YES if value.isdigit() and int(value) >= eta else NO


class CellWork(LabelWork):
    """Decides the cells of texts and questions: does this text answer this question?"""

    plural = QUESTIONS

    def __init__(self, job: Job) -> None:
        asked = {name for each in job.campaigns for name in _names(each)}
        self._variable = ANSWERABLE if ANSWERABLE in asked else RATING
        self.variables = (self._variable,)
        self.of_reports = job.campaigns[0].protocol == "report-coverage"
        self._cut = at_least(job.options.eta) if self._variable == RATING else _yes
        if self.of_reports and not job.options.oracle:
            raise DerivationError(
                "reports answer questions for the oracle’s system only; name it with --set "
                "oracle=SYSTEM",
                "set",
            )
        super().__init__(job)
        self._seen_oracle = not job.options.oracle

    def cells(self, pk: int, query: rows.Query) -> Cells:
        """Return the decided cells of a query: of all texts that count, with each question.

        A cell that nobody rated is undecided, unless the batch calls its passage not relevant.
        """
        texts = self._texts(query)
        nobody = Decision(None, "nobody")
        found: Cells = {(text, q.id): nobody for text in texts for q in query.questions}
        for unit in self.units(pk):
            cell = (unit.report if self.of_reports else unit.passage) or "", unit.key
            if cell in found:
                found[cell] = self._decide(unit)
        if not self.of_reports:
            outside = {p.id for p in query.passages if p.relevant is False}
            for cell, decision in found.items():
                if decision.state == "nobody" and cell[0] in outside:
                    found[cell] = Decision(NO, "decided")
        return found

    def _decide(self, unit: LabelledUnit) -> Decision:
        return self.job.decider.decide(unit, self._variable, self._cut)

    def _texts(self, query: rows.Query) -> list[str]:
        """Return the ids of the reports or passages that count."""
        oracle = self.job.options.oracle
        if self.of_reports:
            reports = [r.id for r in query.reports if r.system == oracle]
            self._seen_oracle |= bool(reports)
            return reports
        passages = [p.id for p in query.passages]
        if not oracle:
            return passages
        context = context_of(query, oracle)
        self._seen_oracle |= context is not None
        return [each for each in passages if each in (context or ())]

    def answerable(self, question: str, texts: Collection[str], cells: Cells) -> Decision:
        """Return whether any text answers a question. One yes is enough."""
        decisions = [cells[text, question] for text in texts]
        if any(decision.value == YES for decision in decisions):
            return Decision(YES, "decided")
        for decision in decisions:
            if decision.state == "open":
                return decision
        return next((d for d in decisions if not d), Decision(NO, "decided"))

    def kept_questions(self, query: rows.Query, cells: Cells) -> tuple[rows.Question, ...]:
        """Return the answerable questions, and note the others."""
        texts = list(dict.fromkeys(text for text, _ in cells))
        kept = []
        for question in query.questions:
            decision = self.answerable(question.id, texts, cells)
            if decision.value == YES or (not decision and self.keeps(decision, question.id)):
                kept.append(question)
            else:
                reason = "unanswerable" if decision else "undecided"
                self.tally.drop(QUESTIONS, question.id, reason)
        self.tally.keep(QUESTIONS, len(kept))
        self.tally.keep("queries")
        if query.questions and not kept:
            self.tally.keep("queries without an answerable question")
        return tuple(kept)

    def finish(self) -> None:
        if not self._seen_oracle:
            what = "report" if self.of_reports else "context"
            raise DerivationError(
                f"no query has a {what} of {self.job.options.oracle!r}; correct --set oracle", "set"
            )


def context_of(query: rows.Query, name: str) -> tuple[str, ...] | None:
    """Return the context of a system or setting: of a report with one, or its ranking."""
    for report in query.reports:
        if name in (report.system, report.setting) and report.context is not None:
            return report.context
    return next((each.passages for each in query.rankings if each.system == name), None)


def _names(campaign: Campaign) -> list[str]:
    return [variable.name for variable in schema(campaign).variables_of("question")]


def _yes(value: str) -> str:
    return YES if value == YES else NO


class AnswerableQuestions(CellWork):
    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        return replace(query, questions=self.kept_questions(query, self.cells(pk, query)))


RULE = Rule(
    "answerable-questions",
    "Answerable questions",
    "Sub-questions that a passage of the query, or a report of the oracle, answers.",
    AnswerableQuestions,
    ("rubric-passage", "report-coverage"),
    Options,
)
