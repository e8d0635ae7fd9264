"""Evaluators: named sets of judges of one model, whose labels count as those of one rater.

A judge may read a single variable, so a published judge is often several judges here. A variable of
an evaluator has the labels of the one member that labelled it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ..types import JSON
from .frame import EscapeOrMissing, Frame, RaterFacts, VariableFrame

JUDGE = "judge"
T = TypeVar("T")
Judgements = Mapping[str, str]
"""The judge that labelled each variable."""


class AmbiguousEvaluatorError(ValueError):
    """Two judges of an evaluator labelled the same variable in one campaign."""


@dataclass(frozen=True)
class Evaluator:
    """A name and the judges that it stands for; `is_declared` if it was not derived."""

    name: str
    judges: tuple[str, ...]
    is_declared: bool = False

    def judgements(self, frame: Frame) -> Judgements:
        """Return the member whose labels count, by variable. Raises AmbiguousEvaluatorError.

        If all members failed on a variable, it is the first one that was asked.
        """
        found: dict[str, str] = {}
        for name, variable in frame.variables.items():
            given = [judge for judge in _labelling(variable) if judge in self.judges]
            if len(given) > 1:
                raise AmbiguousEvaluatorError(
                    f"evaluator {self.name!r} has two judges that labelled {name!r} in one "
                    f"campaign, {given[0]!r} and {given[1]!r}; leave one of them out of it"
                )
            failed = {aside.rater for aside in variable.asides}
            for judge in given or [each for each in self.judges if each in failed][:1]:
                found[name] = judge
        return found

    def as_json(self) -> JSON:
        return {"name": self.name, "judges": list(self.judges), "declared": self.is_declared}


def evaluators_from_json(found: JSON) -> tuple[Evaluator, ...]:
    """Return the evaluators of a report of measures. Reports of earlier versions name none."""
    return tuple(
        Evaluator(of["name"], tuple(of["judges"]), of["declared"])
        for of in found.get("evaluators", ())
    )


def kinds_by_name(report: JSON) -> dict[str, str]:
    """Return the kinds of a report's raters and evaluators, by name."""
    everyone = [*report["raters"], *report.get("evaluators", ())]
    return {rater["name"]: rater["kind"] for rater in everyone}


def joint_name(judges: Sequence[str]) -> str:
    """Return the name of a derived evaluator, such as `a and b`."""
    return " and ".join(filter(None, (", ".join(judges[:-1]), judges[-1])))


def derive_evaluators(
    frames: Iterable[Frame], models: Mapping[str, Hashable], others: Collection[str] = ()
) -> list[Evaluator]:
    """Join the judges of each model in the campaigns' frames, except `others`.

    `models` identifies the model of each judge; judges that it lacks stay alone. So do those of a
    model of which two labelled the same variable in one campaign. Members are in the order of the
    frames, and by name within one.
    """
    judges: dict[Hashable, dict[str, None]] = defaultdict(dict)
    places: dict[Hashable, list[tuple[int, str]]] = defaultdict(list)
    for n, frame in enumerate(frames):
        given = {name: _labelling(variable) for name, variable in frame.variables.items()}
        for judge in (rater.name for rater in frame.raters):
            labelled = [(n, name) for name, raters in given.items() if judge in raters]
            if labelled and judge in models and judge not in others:
                judges[models[judge]][judge] = None
                places[models[judge]] += labelled
    return [
        Evaluator(joint_name(list(members)), tuple(members))
        for model, members in judges.items()
        if len(members) > 1 and len(set(places[model])) == len(places[model])
    ]


def _labelling(variable: VariableFrame) -> list[str]:
    """Return the judges with a label of a variable, or an escape; those excluded are left out."""
    escaped = {aside.rater for aside in variable.asides if not aside.is_missing}
    return [
        rater.name
        for column, rater in enumerate(variable.raters)
        if rater.kind == JUDGE
        and rater.excluded is None
        and (rater.name in escaped or (variable.codes[:, column] >= 0).any())
    ]


def with_evaluators(frame: Frame, evaluators: Sequence[Evaluator], instead: bool = False) -> Frame:
    """Add a rater for each evaluator with a label, `instead` of its judges or beside them."""
    judgements = {each: each.judgements(frame) for each in evaluators}
    joined = {each: found for each, found in judgements.items() if found}
    if not joined:
        return frame
    replaced = {judge for each in joined for judge in each.judges} if instead else set()
    kept = [r for r in frame.raters if r.name not in replaced or r.excluded is not None]
    raters = (*kept, *(_facts(frame, each) for each in joined))
    variables = {}
    for name, variable in frame.variables.items():
        chosen = {each.name: found.get(name) for each, found in joined.items()}
        variables[name] = _rearranged(variable, kept, raters, chosen)
    return replace(frame, raters=raters, variables=variables)


def _facts(frame: Frame, evaluator: Evaluator) -> RaterFacts:
    members = [r for r in frame.raters if r.name in evaluator.judges and r.excluded is None]
    numbers = (sum(r.responses for r in members), sum(r.labels for r in members))
    return RaterFacts(evaluator.name, JUDGE, *numbers)


def _rearranged(
    variable: VariableFrame,
    kept: Sequence[RaterFacts],
    raters: tuple[RaterFacts, ...],
    judges: Mapping[str, str | None],
) -> VariableFrame:
    """Return a variable with columns for other raters. `judges` has the judge of each evaluator."""
    place = {rater.name: n for n, rater in enumerate(variable.raters)}
    blank = len(place)
    columns = [place[rater.name] for rater in kept]
    columns += [blank if judge is None else place[judge] for judge in judges.values()]

    def of_columns(found: Mapping[int, T]) -> dict[int, T]:
        return {new: found[old] for new, old in enumerate(columns) if old in found}

    return replace(
        variable,
        raters=raters,
        codes=np.column_stack([variable.codes, np.full(len(variable.codes), -1)])[:, columns],
        scores=np.column_stack([variable.scores, np.full(len(variable.codes), np.nan)])[:, columns],
        asides=tuple(_asides(variable, {rater.name for rater in kept}, judges)),
        probabilities=of_columns(variable.probabilities),
        readings=of_columns(variable.readings),
        grades=of_columns(variable.grades),
        guidelines=of_columns(variable.guidelines),
        own=of_columns(variable.own),
    )


def _asides(
    variable: VariableFrame, kept: Collection[str], judges: Mapping[str, str | None]
) -> Iterator[EscapeOrMissing]:
    for aside in variable.asides:
        if aside.rater in kept:
            yield aside
        for evaluator, judge in judges.items():
            if aside.rater == judge:
                yield aside._replace(rater=evaluator)
