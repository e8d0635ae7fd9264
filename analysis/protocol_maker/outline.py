"""What follows from a protocol: the prompt of an item, and the figures of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.evaluation.declared import describe
from annotation.campaign_setup.page_preview import PreviewedItem
from annotation.protocols.base import Protocol
from judging.backends.base import Message
from judging.judge_backends import build_backend
from judging.judges import Definition, draft
from judging.prompts.request import Preparer
from judging.prompts.template import read_prompt
from tandem.protocols.base import Declaration, Variable
from tandem.statistics import AMONG, KAPPA, WEIGHTED
from tandem.statistics.estimate import Scale

OF_SETS = ("Krippendorff's alpha, MASI distance", "alpha of each code", "share of equal sets")
"""The coefficients of variables with several codes."""


@dataclass(frozen=True)
class Figures:
    """What a report says of one variable: coefficients among people, and how a judge compares."""

    variable: Variable
    coefficients: tuple[str, ...]

    @property
    def answers(self) -> list[tuple[str, str, str, bool]]:
        """Each answer: its code, its word, its meaning, and whether it is an escape."""
        of = self.variable
        return [
            (code, of.word(code), of.meanings.get(code, ""), code in of.escapes)
            for code in of.answers
        ]


def figures_of(declared: Declaration) -> list[Figures]:
    """Return the figures of each variable, which follow from its level."""
    return [Figures(each, tuple(_coefficients(each))) for each in declared.variables]


def _coefficients(variable: Variable) -> Iterator[str]:
    if variable.several:
        yield from OF_SETS
        return
    scale = Scale(len(variable.codes), variable.level)
    named = [
        each for each in (*AMONG.values(), KAPPA) if each.name and (each.rank or each == KAPPA)
    ]
    ordered = [WEIGHTED] if variable.level != "nominal" else []
    for each in sorted(named, key=lambda each: each.rank or len(AMONG)) + ordered:
        if not (variable.scale and each.needs == "categories"):
            yield each.method_on(scale)


def measures_of(declared: Declaration) -> list[tuple[str, str]]:
    """Return each declared measure with a sentence about it."""
    return [(measure.name, describe(measure)) for measure in declared.measures]


def prompt_of(previewed: PreviewedItem, protocol: Protocol) -> tuple[Message, ...]:
    """Return the messages that a judge with the protocol's prompt gets. Raises PromptError."""
    judge = draft(Definition("preview", "lexical", "", ""))
    campaign = previewed.assignment.item.campaign
    preparer = Preparer(campaign, judge, read_prompt(protocol.prompt), build_backend(judge))
    return preparer.prepare(previewed.assignment).request.messages
