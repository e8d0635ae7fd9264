"""Decide units from their labels: by adjudication, majority, unanimity, or one rater's labels.

A label that is a number or one of many codes is first reduced to the rule's question (*is it one of
these?*), and then decided. A unit that cannot be decided has a tie, was given to nobody, or is
still open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from annotation.derivation.labels import LabelledUnit, Votes
from annotation.models import Assignment, Campaign, Rater
from datasets.derivation import DerivationError, NotDecidedError
from tandem.similar import did_you_mean

ADJUDICATED, MAJORITY, UNANIMOUS = "adjudicated", "majority", "unanimous"
MODES = (ADJUDICATED, MAJORITY, UNANIMOUS)
Ties = Literal["refuse", "drop", "keep"]
TIES: tuple[Ties, ...] = ("refuse", "drop", "keep")
MOST_NAMED = 5
YES, NO = "yes", "no"

State = Literal["decided", "tie", "nobody", "open"]
Cut = Callable[[str], str]


def uncut(value: str) -> str:
    return value


def one_of(codes: Iterable[str]) -> Cut:
    """Return a cut that says whether a value is one of these codes."""
    chosen = frozenset(codes)
    return lambda value: YES if value in chosen else NO


@dataclass(frozen=True)
class Decision:
    """How a unit's labels decide a variable. `value` is None unless the state is decided."""

    value: str | None
    state: State

    def __bool__(self) -> bool:
        return self.state == "decided"


@dataclass
class Undecided:
    """The units that could not be decided, by state: their number, and the first few."""

    named: dict[State, list[str]] = field(default_factory=dict)
    numbers: dict[State, int] = field(default_factory=dict)

    def add(self, state: State, name: str) -> None:
        self.numbers[state] = self.numbers.get(state, 0) + 1
        named = self.named.setdefault(state, [])
        if len(named) < MOST_NAMED:
            named.append(name)

    def of(self, state: State) -> str:
        """Return the names, such as `a, b and 3 more`."""
        named = self.named.get(state, [])
        more = self.numbers.get(state, 0) - len(named)
        return ", ".join(named) + (f" and {more} more" if more else "")


@dataclass
class Decider:
    """Decides units, and collects those that it could not decide.

    `mode` is one of `MODES`, or the name of the only rater whose labels were read.
    """

    mode: str = ADJUDICATED
    ties: Ties = "refuse"
    undecided: Undecided = field(default_factory=Undecided)

    @property
    def by_rater(self) -> bool:
        return self.mode not in MODES

    def decide(self, unit: LabelledUnit, variable: str, cut: Cut = uncut) -> Decision:
        """Decide a variable of a unit that every rater of the unit is asked."""
        reference = unit.reference.get(variable) if self.mode == ADJUDICATED else None
        if not reference and self._is_open(unit, variable):
            return Decision(None, "open")
        return self.decide_if_asked(unit, variable, cut)

    def decide_if_asked(self, unit: LabelledUnit, variable: str, cut: Cut = uncut) -> Decision:
        """Decide a variable that only some raters of a unit are asked."""
        if self.mode == ADJUDICATED and (reference := unit.reference.get(variable)):
            return _most(_cut(reference, cut))
        votes = _cut(unit.people.get(variable, NO_VOTES), cut)
        if self.mode == UNANIMOUS and len(votes) > 1:
            return Decision(None, "tie")
        return _most(votes)

    def _is_open(self, unit: LabelledUnit, variable: str) -> bool:
        given = sum(unit.people.get(variable, NO_VOTES).values())
        return given == 0 and unit.open if self.by_rater else given < unit.asked

    def note(self, state: State, name: str) -> None:
        self.undecided.add(state, name)


NO_VOTES: Votes = {}
NOBODY, TIE = Decision(None, "nobody"), Decision(None, "tie")


def _cut(votes: Votes, cut: Cut) -> Votes:
    if cut is uncut:
        return votes
    found: Votes = {}
    for value, number in votes.items():
        kept = cut(value)
        found[kept] = found.get(kept, 0) + number
    return found


def _most(votes: Votes) -> Decision:
    if not votes:
        return NOBODY
    if len(votes) == 1:
        return _decided(next(iter(votes)))
    most = max(votes.values())
    first, *others = (value for value, number in votes.items() if number == most)
    return TIE if others else _decided(first)


@cache
def _decided(value: str) -> Decision:
    return Decision(value, "decided")


def check_decided(decider: Decider, campaigns: list[Campaign], what: str) -> None:
    """Refuse undecided units, unless the option for ties decides them. Raises NotDecidedError.

    `what` names units in the plural.
    """
    undecided = decider.undecided
    names = " and ".join(repr(campaign.name) for campaign in campaigns)
    if number := undecided.numbers.get("open"):
        raise NotDecidedError(_open(decider, campaigns, names, what, number), "decided_by")
    if decider.ties != "refuse":
        return
    wrong = []
    if number := undecided.numbers.get("tie"):
        why = "raters differ on" if decider.mode == UNANIMOUS else "there is a tie on"
        wrong.append(f"{why} {number} {what} ({undecided.of('tie')})")
    if number := undecided.numbers.get("nobody"):
        who = decider.mode if decider.by_rater else "nobody"
        wrong.append(f"{who} labelled {number} {what} ({undecided.of('nobody')})")
    if wrong:
        remedy = _tie_remedy(decider, bool(undecided.numbers.get("tie")))
        raise NotDecidedError(f"in {names} {' and '.join(wrong)}; {remedy}", "ties")


def _tie_remedy(decider: Decider, tied: bool) -> str:
    adjudicate = "let an adjudicator decide, or " if tied and not decider.by_rater else ""
    return f"{adjudicate}give --ties keep or --ties drop"


def _open(decider: Decider, campaigns: list[Campaign], names: str, what: str, number: int) -> str:
    shown = decider.undecided.of("open")
    if decider.by_rater:
        return (
            f"{decider.mode} has not answered {number} {what} in {names} ({shown}); wait for these "
            "answers, or give another --decided-by"
        )
    message = f"{names} is not finished: {number} {what} have fewer labels than asked for ({shown})"
    others = [name for name in finished_raters(campaigns) if name not in MODES]
    if others:
        who = " or ".join(f"--decided-by {name}" for name in others[:3])
        return f"{message}; wait for them, or give {who}"
    return f"{message}; wait for them, or name a rater who labelled all by --decided-by"


def finished_raters(campaigns: list[Campaign]) -> list[str]:
    """Return the raters that have an answer to every item of these campaigns."""
    total, done = 0, dict[str, int]()
    for campaign in campaigns:
        items = campaign.items.filter(use="study")
        total += items.count()
        rows = Assignment.objects.filter(
            item__in=items, status="done", replicate=0, rater__kind__in=("human", "judge")
        )
        for name, _ in set(rows.values_list("rater__name", "item")):
            done[name] = done.get(name, 0) + 1
    return sorted(name for name, number in done.items() if number == total)


def find_rater(mode: str, campaigns: list[Campaign]) -> Rater | None:
    """Return the rater that decides, or None if it is a mode. Raises DerivationError."""
    if mode in MODES:
        return None
    there = Rater.objects.filter(assignments__item__campaign__in=campaigns).distinct()
    found = there.exclude(kind=Rater.Kind.TRIAL).filter(name=mode).first()
    if found is None:
        names = sorted(there.exclude(kind="trial").values_list("name", flat=True))
        known = ", ".join((*MODES, *names[:8]))
        hint = did_you_mean(mode, (*MODES, *names), f"choose one of {known}")
        raise DerivationError(f"there is no rater {mode!r} here; {hint}", "decided_by")
    return found
