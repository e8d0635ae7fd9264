"""Juries: several judges, or several samples of one, whose votes become one judge's labels.

A jury is a rater of kind judge whose labels are computed from its members' current ones and put
through `submit` like imported labels. So they have revisions, and computing them again writes only
what has changed. A jury has no definition of its own: each label says in its `meta` who votes by
which rule, and how the votes fell.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple

from django.db import transaction

from annotation.answers.submission import Circumstances, submit
from annotation.imports.importer import details_of
from annotation.missing_reasons import Reasons, reasons
from annotation.models import Assignment, Campaign, Item, Label, Rater, Unit
from annotation.presentation import present, schema
from annotation.protocols.base import Variable
from annotation.protocols.schema import EVIDENCE_KEY, Schema
from judging.judges import has_controls
from judging.models import Judge
from judging.runs.ledger import sample_count

Rule = Literal["majority", "mean"]
RULES: tuple[Rule, ...] = ("majority", "mean")
TIE, TOO_FEW = "tie", "too few votes"


@dataclass(frozen=True)
class Vote:
    """One label; `score` is the voter's own, where it has one. `voter` is a number from 0."""

    voter: int
    value: str
    score: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What the votes come to: a label, or why there is none.

    `score` is on the scale of the variable: a category's number, or its rank from 0 where
    categories are words; for yes and no the share of yes. None where categories have no order.
    `winners` are the voters that stand closest to the label.
    """

    value: str | None
    why_not: str = ""
    score: float | None = None
    votes: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] | None = None
    winners: tuple[int, ...] = ()


def decided(variable: Variable, votes: Sequence[Vote], voters: int, rule: Rule) -> Verdict:
    """The verdict of judges: it takes votes of more than half of them.

    `majority` is the most frequent label, and two that are equally frequent are a tie. `mean` is
    the category nearest to the mean score, the upper one of two; where categories have no order, or
    only escapes were given, it is the majority.
    """
    counted = dict(Counter(vote.value for vote in votes))
    if 2 * len(votes) <= voters:
        return Verdict(None, TOO_FEW, votes=counted)
    scores = [number for vote in votes if (number := _score(variable, vote)) is not None]
    mean = sum(scores) / len(scores) if scores else None
    if rule == "mean" and mean is not None and variable.level != "nominal":
        nearest = _nearest(variable, mean)
        closest = _closest(variable, votes, nearest)
        return Verdict(nearest, "", mean, counted, winners=closest)
    value, why_not = _most_frequent(counted)
    winners = tuple(vote.voter for vote in votes if vote.value == value)
    return Verdict(value, why_not, mean, counted, winners=winners)


def sampled(variable: Variable, votes: Sequence[Vote], samples: int, rule: Rule) -> Verdict:
    """The verdict of samples of one judge, its score from their frequencies.

    The share of a category is (n + 1/2) / (N + K/2), after Jeffreys: of N samples that gave one of
    the K categories, n gave this one. Escapes are no categories.
    """
    bare = [Vote(vote.voter, vote.value) for vote in votes]
    verdict = decided(variable, bare, samples, rule)
    counts = [verdict.votes.get(code, 0) for code in variable.codes]
    if verdict.why_not == TOO_FEW or not sum(counts):
        return verdict
    whole = sum(counts) + len(counts) / 2
    shares = {c: round((n + 0.5) / whole, 9) for c, n in zip(variable.codes, counts, strict=True)}
    numbers = {code: number_of(variable, code) for code in variable.codes}
    score = (
        None
        if None in numbers.values()
        else sum(shares[code] * (number or 0.0) for code, number in numbers.items())
    )
    return Verdict(verdict.value, verdict.why_not, score, verdict.votes, shares, verdict.winners)


def number_of(variable: Variable, code: str) -> float | None:
    """A category as a number; None for an escape, and where categories have no order."""
    if code not in variable.codes:
        return None
    if variable.level == "nominal":
        return float(code == "yes") if "yes" in variable.codes else None
    try:
        return float(code)
    except ValueError:
        return float(variable.codes.index(code))


def _score(variable: Variable, vote: Vote) -> float | None:
    number = number_of(variable, vote.value)
    return number if number is None or vote.score is None else vote.score


def _most_frequent(counted: Mapping[str, int]) -> tuple[str | None, str]:
    most = max(counted.values())
    first, *others = (value for value, number in counted.items() if number == most)
    return (None, TIE) if others else (first, "")


def _nearest(variable: Variable, mean: float) -> str:
    numbers = {code: number_of(variable, code) or 0.0 for code in variable.codes}
    return min(numbers, key=lambda code: (_distance(numbers[code], mean), -numbers[code]))


def _distance(a: float, b: float) -> float:
    """Rounded, since two distances that are equal on paper differ in the last bits."""
    return round(math.fabs(a - b), 9)


def _closest(variable: Variable, votes: Sequence[Vote], value: str) -> tuple[int, ...]:
    goal = number_of(variable, value) or 0.0
    away = {
        vote.voter: _distance(number, goal)
        for vote in votes
        if (number := number_of(variable, vote.value)) is not None
    }
    return tuple(voter for voter, far in away.items() if far == min(away.values()))


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
    if judge is None or (number := sample_count(judge)) < 2:
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


CHUNK = 100
UNDECIDED = "declined"
"""The reason of a label that a jury does not give because of a tie."""
CLOSED = (Assignment.Status.DONE, Assignment.Status.FAILED, Assignment.Status.DECLINED)


@dataclass
class Session:
    """What came of it: labels, ties, labels that too few voted on; answers changed and not."""

    labels: int = 0
    ties: int = 0
    too_few: int = 0
    changed: int = 0
    unchanged: int = 0

    def add(self, answer: _Answer, created: bool) -> None:
        labels = (set(values) - {EVIDENCE_KEY} for values in answer.units.values())
        self.labels += sum(map(len, labels))
        self.ties += answer.why_not[TIE]
        self.too_few += answer.why_not[TOO_FEW]
        self.changed += created
        self.unchanged += not created


class _Given(NamedTuple):
    vote: Vote
    quotes: tuple[dict[str, Any], ...]


@dataclass
class _Heard:
    """What the members said of one item: votes by unit and variable, and why some are missing."""

    asked: Counter[str] = field(default_factory=Counter)
    votes: dict[tuple[str, str], list[_Given]] = field(default_factory=lambda: defaultdict(list))
    missing: dict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )


def convene(
    campaign: Campaign,
    name: str,
    jury: Jury,
    progress: Callable[[int], None] = lambda done: None,
) -> Session:
    """Computes the jury's labels of all items that its members have answered. Raises JuryError.

    A new jury's rater comes with its first labels, in one transaction, so that none stands without.
    Each chunk has a transaction of its own, as people save their answers meanwhile.
    """
    rater, session, asked = check_name(name, jury), Session(), schema(campaign)
    items = iter(campaign.items.select_related("query").order_by("position"))
    done = 0
    while chunk := list(islice(items, CHUNK)):
        kinds = _kinds(chunk)
        heard = _hear(chunk, jury, asked, kinds)
        with transaction.atomic():
            for item in chunk:
                item.campaign = campaign
                answer = _Answer(jury, heard[item.pk], asked)
                for unit, kind in kinds[item.pk].items():
                    answer.unit(unit, kind)
                if answer.asked:
                    rater = rater or rater_of(name, jury)
                    _store(item, rater, answer, session)
        done += len(chunk)
        progress(done)
    if not session.changed + session.unchanged:
        raise JuryError(f"its members have answered too little of {campaign}; run them first")
    return session


def _hear(
    items: Sequence[Item], jury: Jury, asked: Schema, kinds: Mapping[int, Mapping[str, str]]
) -> dict[int, _Heard]:
    heard: dict[int, _Heard] = defaultdict(_Heard)
    numbers = {voter: n for n, voter in enumerate(jury.voters)}
    keys = [item.pk for item in items]
    rows = Assignment.objects.filter(item__in=keys, rater__in=jury.members, status__in=CLOSED)
    for row in rows:
        if (row.rater_id, row.replicate) in numbers:
            there = heard[row.item_id]
            there.asked.update(row.asked)
            of_row = {name: kinds[row.item_id][name] for name in row.asked}
            for name, each in reasons(row, asked, of_row).items():
                for variable, reason in each.items():
                    there.missing[name, variable][reason] += 1
    for label in _labels(keys, jury.members):
        held = label.response.assignment
        if (number := numbers.get((held.rater_id, held.replicate))) is not None:
            vote = Vote(number, label.value, label.score)
            place = (label.unit.name, label.variable)
            heard[held.item_id].votes[place].append(_Given(vote, _quotes(label)))
    return heard


def _kinds(items: Iterable[Item]) -> dict[int, dict[str, str]]:
    """The kinds of units by name in their stored order, by item."""
    kinds: dict[int, dict[str, str]] = defaultdict(dict)
    units = Unit.objects.filter(item__in=items).order_by("item", "position")
    for item, name, kind in units.values_list("item", "name", "kind"):
        kinds[item][name] = kind
    return kinds


def _labels(items: Sequence[int], members: Sequence[Rater]) -> Iterable[Label]:
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__in=items,
        response__assignment__rater__in=members,
    )
    related = labels.select_related("unit", "response__assignment").prefetch_related("spans")
    return related.order_by(
        "response__assignment__rater_id", "response__assignment__replicate", "pk"
    )


def _quotes(label: Label) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"quote": s.quote, "start": s.start, "field": s.field, "variable": label.variable}
        for s in label.spans.all()
    )


def _store(item: Item, rater: Rater, answer: _Answer, session: Session) -> None:
    """Makes the answer the current one of the jury's row, if it says anything new."""
    row, _ = Assignment.objects.get_or_create(
        item=item, rater=rater, defaults={"asked": answer.asked}
    )
    if row.asked != answer.asked:
        row.asked = answer.asked
        row.save(update_fields=["asked"])
    payload = answer.payload()
    how = Circumstances(details=details_of(payload), missing=answer.missing)
    outcome = submit(row, payload, "import", how, present(item), answer.schema)
    session.add(answer, outcome.created)


class _Answer:
    """The answer to one item while it is put together; `asked` are the names of its units."""

    def __init__(self, jury: Jury, heard: _Heard, schema: Schema) -> None:
        self.jury, self.heard, self.schema = jury, heard, schema
        self.asked: list[str] = []
        self.units: dict[str, dict[str, Any]] = {}
        self.details: dict[str, dict[str, Any]] = {}
        self.missing: Reasons = {}
        self.why_not: Counter[str] = Counter()

    def unit(self, name: str, kind: str) -> None:
        """Takes the votes on a unit, if more than half of the members were asked it."""
        if 2 * self.heard.asked[name] <= len(self.jury.voters):
            return
        self.asked.append(name)
        values: dict[str, str] = {}
        quotes: list[dict[str, Any]] = []
        for variable in self.schema.variables_of(kind):
            if not self.schema.holds(variable.asked_if, values):
                continue
            given = self.heard.votes.get((name, variable.name), [])
            verdict = self._verdict(variable, given)
            self.details.setdefault(name, {})[variable.name] = self._detail(verdict)
            if verdict.value is None:
                self._none(name, variable.name, verdict)
            else:
                values[variable.name] = verdict.value
                quotes += _united(given, verdict)
        if values:
            self.units[name] = values | ({EVIDENCE_KEY: quotes} if quotes else {})

    def _verdict(self, variable: Variable, given: Sequence[_Given]) -> Verdict:
        decide = sampled if self.jury.samples else decided
        votes = [each.vote for each in given]
        return decide(variable, votes, len(self.jury.voters), self.jury.rule)

    def payload(self) -> dict[str, Any]:
        return {"units": self.units, "comment": None, "details": self.details}

    def _none(self, name: str, variable: str, verdict: Verdict) -> None:
        """A tie, or what most of those gave as their reason who gave no label."""
        self.why_not[verdict.why_not] += 1
        why = self.heard.missing.get((name, variable), Counter())
        reason = UNDECIDED if verdict.why_not == TIE or not why else why.most_common(1)[0][0]
        self.missing.setdefault(name, {})[variable] = reason

    def _detail(self, verdict: Verdict) -> dict[str, Any]:
        meta: dict[str, Any] = {
            "jury": self.jury.facts(),
            "votes": dict(verdict.votes),
            "absent": len(self.jury.voters) - sum(verdict.votes.values()),
        }
        meta |= {"undecided": verdict.why_not} if verdict.why_not else {}
        meta |= {"shares": dict(verdict.shares)} if verdict.shares else {}
        return {"score": verdict.score, "meta": meta}


def _united(given: Sequence[_Given], verdict: Verdict) -> list[dict[str, Any]]:
    """The quotes of those who voted for the label, each once."""
    of = (q for each in given if each.vote.voter in verdict.winners for q in each.quotes)
    return list({(q["field"], q["start"], q["quote"]): q for q in of}.values())
