"""Juries: several judges, or several samples of one, as one more judge with labels of its own.

A jury is a rater of kind judge whose labels `judging.jury.convening` computes from its members'. It
has no definition of its own beside them: each label says in its `meta` who votes by which rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Label, Rater
from judging.defining import has_controls
from judging.jury.voting import Rule
from judging.models import Judge
from judging.rows.planning import samples_of


class JuryError(ValueError):
    """A jury that cannot be: what is wrong, and what to do."""


@dataclass(frozen=True)
class Jury:
    """Who votes, by which rule: raters, or the `samples` of the only one."""

    members: tuple[Rater, ...]
    rule: Rule
    samples: int = 0

    @property
    def voters(self) -> list[tuple[int, int]]:
        """Primary keys of raters with the replicate that counts."""
        if self.samples:
            return [(self.members[0].pk, replicate) for replicate in range(self.samples)]
        return [(member.pk, 0) for member in self.members]

    def facts(self) -> dict[str, Any]:
        """What tells it from another jury."""
        names = [member.name for member in self.members]
        return {"members": names, "rule": self.rule, "samples": self.samples or None}


def jury_of(members: Sequence[Rater], rule: Rule) -> Jury:
    """The jury of these raters: judges, or what one says of pairs turned. Raises JuryError."""
    if len(members) < 2:
        raise JuryError("a jury has two members or more; name them with --judges A,B")
    for member in members:
        if member.kind != Rater.Kind.JUDGE and not _says_of_turned(member):
            raise JuryError(f"{member.name!r} is no judge, and has no vote; leave it out")
    return Jury(tuple(sorted(members, key=lambda member: member.name)), rule)


def samples_as_jury(rater: Rater, rule: Rule) -> Jury:
    """The jury of a judge's samples. Raises JuryError."""
    judge = Judge.objects.filter(rater=rater, rater__kind=Rater.Kind.JUDGE).first()
    if judge is None or (number := samples_of(judge)) < 2:
        raise JuryError(
            f"{rater.name!r} is asked everything once; make a judge with --param samples=5 "
            "and a temperature above 0"
        )
    return Jury((rater,), rule, number)


def _says_of_turned(member: Rater) -> bool:
    trial = Judge.objects.filter(rater=member, base__isnull=False).first()
    return trial is not None and trial.variation["kind"] == "swapped"


def rater_of(name: str, jury: Jury) -> Rater:
    """The rater of that name, made at first need. Raises JuryError."""
    return check_name(name, jury) or Rater.objects.create(name=name, kind=Rater.Kind.JUDGE)


def check_name(name: str, jury: Jury) -> Rater | None:
    """The rater of that name, if this jury is there. Raises JuryError where it is anybody else."""
    if not name.strip() or len(name) > 150:
        raise JuryError("a jury's name has 1 to 150 characters; choose another")
    if has_controls(name):
        raise JuryError("a jury's name stands on one line; take the line break out")
    if (rater := Rater.objects.filter(name=name).first()) is None:
        return None
    facts, labelled = _facts_of(rater)
    if rater.kind != Rater.Kind.JUDGE or hasattr(rater, "judge") or (labelled and not facts):
        raise JuryError(f"the name {name!r} belongs to another rater; choose another")
    if facts and facts != jury.facts():
        who = f"{', '.join(facts['members'])} by {facts['rule']}"
        raise JuryError(f"jury {name!r} is there with {who}, and keeps them; choose a new name")
    return rater


def judges_of(name: str) -> list[str]:
    """The names of the judges that vote in a jury; none where no jury has that name."""
    rater = Rater.objects.filter(name=name, kind=Rater.Kind.JUDGE, judge=None).first()
    facts = _facts_of(rater)[0] if rater else None
    voting = Judge.objects.filter(rater__name__in=facts["members"] if facts else ())
    return sorted({str(judge.base or judge) for judge in voting.select_related("base__rater")})


def _facts_of(rater: Rater) -> tuple[dict[str, Any] | None, bool]:
    """What tells this jury from another, if it is one, and whether it has any label."""
    label = Label.objects.filter(response__assignment__rater=rater).first()
    return (label.meta or {}).get("jury") if label else None, label is not None
