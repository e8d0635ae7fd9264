"""A campaign's labels with its evaluators, and the judgements that their measures are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.evaluation.inputs import JUDGE, Part
from tandem.labels.evaluators import Evaluator, Judgements, with_evaluators
from tandem.labels.frame import Frame
from tandem.scores.base import Measure

RATED = "@rated"
"""The suffix of the coverage of reports by ratings."""


def variables_of(measure: Measure, suffix: str) -> tuple[str, ...]:
    """Return the variables whose labels a measure is made of."""
    return ("rating",) if suffix == RATED else measure.variables


@dataclass(frozen=True)
class JointLabels:
    """A campaign's labels, those of its answers' points, and the evaluators among their raters.

    `judgements` has the judge of each variable, by evaluator. `own` are the judges whose measures
    are computed, too; None if evaluators take their place.
    """

    frame: Frame
    points: Frame | None = None
    evaluators: tuple[Evaluator, ...] = ()
    judgements: Mapping[str, Judgements] = field(default_factory=dict)
    own: frozenset[str] | None = None

    def counts(self, measure: Measure, part: Part) -> bool:
        """Whether a part's measure is computed.

        An evaluator's measure is, unless it only repeats that of one of its judges.
        """
        if self.own is None or part.rater not in self.judgements:
            return True
        judges = set(self.made_of(measure, part).values())
        return len(judges) > 1 or not judges <= self.own

    def made_of(self, measure: Measure, part: Part) -> dict[str, str]:
        """Return the judges of the variables that a part's measure is made of; none of a rater."""
        judges = self.judgements.get(part.rater, {})
        named = variables_of(measure, part.suffix)
        return {variable: judges[variable] for variable in named if variable in judges}


def evaluators_beside(
    frame: Frame, points: Frame | None, evaluators: Sequence[Evaluator]
) -> JointLabels:
    """Add the evaluators with labels of several judges to the raters."""
    judgements = _judgements(frame, points, evaluators)
    several = {name: of for name, of in judgements.items() if len(set(of.values())) > 1}
    own = frozenset(r.name for r in frame.raters if r.kind == JUDGE and r.excluded is None)
    return _joined(frame, points, evaluators, several, own)


def evaluators_instead(
    frame: Frame, points: Frame | None, evaluators: Sequence[Evaluator]
) -> JointLabels:
    """Let evaluators take the place of their judges."""
    return _joined(frame, points, evaluators, _judgements(frame, points, evaluators), None)


def _judgements(
    frame: Frame, points: Frame | None, evaluators: Sequence[Evaluator]
) -> dict[str, Judgements]:
    """Return the judge of each variable, by evaluator; evaluators without labels are left out."""
    found = {
        each.name: {
            **(each.judgements(points) if points is not None else {}),
            **each.judgements(frame),
        }
        for each in evaluators
    }
    return {name: of for name, of in found.items() if of}


def _joined(
    frame: Frame,
    points: Frame | None,
    evaluators: Sequence[Evaluator],
    judgements: Mapping[str, Judgements],
    own: frozenset[str] | None,
) -> JointLabels:
    named = tuple(each for each in evaluators if each.name in judgements)
    instead = own is None
    joint = with_evaluators(frame, named, instead)
    joint_points = None if points is None else with_evaluators(points, named, instead)
    return JointLabels(joint, joint_points, named, judgements, own)
