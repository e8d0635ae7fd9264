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
Labelled = Mapping[str, Collection[str]]
"""The variables of a campaign that each judge labelled."""


class EvaluatorError(ValueError):
    """Judges cannot count as one evaluator. The message says why and what to do."""


@dataclass(frozen=True)
class Evaluator:
    """A name and the judges that it stands for; `is_declared` if it was not derived."""

    name: str
    judges: tuple[str, ...]
    is_declared: bool = False

    def judgements(self, frame: Frame) -> Judgements:
        """Return the member whose labels count, by variable. Raises EvaluatorError.

        If all members failed on a variable, it is the first one that was asked.
        """
        found = self.judge_of_each(labelled_variables(frame))
        for name, variable in frame.variables.items():
            failed = {aside.rater for aside in variable.asides}
            for judge in [each for each in self.judges if each in failed][:1]:
                found.setdefault(name, judge)
        return found

    def judge_of_each(self, labelled: Labelled, place: str = "one campaign") -> dict[str, str]:
        """Return the member that labelled each variable. Raises EvaluatorError if two did."""
        found: dict[str, str] = {}
        for judge in self.judges:
            for variable in labelled.get(judge, ()):
                if variable in found:
                    raise EvaluatorError(
                        f"evaluator {self.name!r} has two judges that labelled {variable!r} in "
                        f"{place}, {found[variable]!r} and {judge!r}; leave one of them out"
                    )
                found[variable] = judge
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
    campaigns: Iterable[Labelled], models: Mapping[str, Hashable], others: Collection[str] = ()
) -> list[Evaluator]:
    """Join the judges of each model in the campaigns, except `others`.

    `models` identifies the model of each judge; judges that it lacks stay alone. So do those of a
    model of which two labelled the same variable in one campaign. Members are in the order of the
    campaigns, and by name within one.
    """
    judges: dict[Hashable, dict[str, None]] = defaultdict(dict)
    places: dict[Hashable, list[tuple[int, str]]] = defaultdict(list)
    for n, labelled in enumerate(campaigns):
        for judge in sorted(labelled.keys() & models.keys() - set(others)):
            judges[models[judge]][judge] = None
            places[models[judge]] += [(n, variable) for variable in labelled[judge]]
    return [
        Evaluator(joint_name(list(members)), tuple(members))
        for model, members in judges.items()
        if len(members) > 1 and len(set(places[model])) == len(places[model])
    ]


def labelled_variables(frame: Frame) -> dict[str, list[str]]:
    """Return the variables that each judge labelled, or escaped from; without excluded judges."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, variable in frame.variables.items():
        escaped = {aside.rater for aside in variable.asides if not aside.is_missing}
        for column, rater in enumerate(variable.raters):
            counts = rater.kind == JUDGE and rater.excluded is None
            if counts and (rater.name in escaped or (variable.codes[:, column] >= 0).any()):
                found[rater.name].append(name)
    return dict(found)


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
