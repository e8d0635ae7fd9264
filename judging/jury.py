"""Juries: several judges, or several samples of one, whose votes become one judge's labels.

A jury is a rater of the kind *judge* whose labels are computed from its members' current labels and
submitted like imported ones. So they have revisions, and recomputing them stores only changes. A
jury has no definition of its own. The `meta` of each label lists the members, the rule and the
votes.
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
from annotation.protocols.schema import CampaignSchema
from judging.judges import LONGEST_NAME
from judging.models import Judge
from judging.runs.planning import sample_count
from tandem.names import why_no_name
from tandem.protocols.base import Variable, in_answer
from tandem.protocols.schema import EVIDENCE_KEY

Rule = Literal["majority", "mean"]
RULES: tuple[Rule, ...] = ("majority", "mean")
TIE, TOO_FEW = "tie", "too few votes"


@dataclass(frozen=True)
class Vote:
    """One label. `score` is the voter's own, if it has one. `voter` is a number from 0."""

    voter: int
    value: str
    score: float | None = None


@dataclass(frozen=True)
class JuryLabel:
    """The result of the votes: a label, or why it is `undecided`.

    `score` is on the variable's scale: a category's number, or its rank from 0 if categories are
    words. For *yes* and *no*, it is the share of *yes*. It is None if categories have no order.
    `winners` are the voters closest to the label.
    """

    value: str | None
    undecided: str = ""
    score: float | None = None
    votes: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] | None = None
    winners: tuple[int, ...] = ()


def decide(variable: Variable, votes: Sequence[Vote], voters: int, rule: Rule) -> JuryLabel:
    """Decide the label of several judges, which needs votes from more than half of them.

    `majority` is the most frequent label. If two are equally frequent, it is a tie. `mean` is the
    category nearest to the mean score, the upper one of two. If categories have no order, or all
    votes are escapes, `mean` is the majority.
    """
    counted = dict(Counter(vote.value for vote in votes))
    if 2 * len(votes) <= voters:
        return JuryLabel(None, TOO_FEW, votes=counted)
    scores = [number for vote in votes if (number := _score(variable, vote)) is not None]
    mean = sum(scores) / len(scores) if scores else None
    if rule == "mean" and mean is not None and variable.level != "nominal":
        nearest = _nearest(variable, mean)
        closest = _closest_voters(variable, votes, nearest)
        return JuryLabel(nearest, "", mean, counted, winners=closest)
    value, undecided = _most_frequent(counted)
    winners = tuple(vote.voter for vote in votes if vote.value == value)
    return JuryLabel(value, undecided, mean, counted, winners=winners)


def decide_samples(
    variable: Variable, votes: Sequence[Vote], samples: int, rule: Rule
) -> JuryLabel:
    """Decide the label of several samples of one judge, with a score from their frequencies.

    A category's share is (n + 1/2) / (N + K/2), after Jeffreys, if n of the N samples with one of
    the K categories gave this one. Escapes are not categories.
    """
    bare = [Vote(vote.voter, vote.value) for vote in votes]
    decision = decide(variable, bare, samples, rule)
    counts = [decision.votes.get(code, 0) for code in variable.codes]
    if decision.undecided == TOO_FEW or not sum(counts):
        return decision
    whole = sum(counts) + len(counts) / 2
    shares = {c: round((n + 0.5) / whole, 9) for c, n in zip(variable.codes, counts, strict=True)}
    numbers = {code: code_number(variable, code) for code in variable.codes}
    score = (
        None
        if None in numbers.values()
        else sum(shares[code] * (number or 0.0) for code, number in numbers.items())
    )
    return JuryLabel(
        decision.value, decision.undecided, score, decision.votes, shares, decision.winners
    )


def code_number(variable: Variable, code: str) -> float | None:
    """Return a category as a number. None for an escape, or if categories have no order."""
    if code not in variable.codes:
        return None
    if variable.level == "nominal":
        return float(code == "yes") if "yes" in variable.codes else None
    try:
        return float(code)
    except ValueError:
        return float(variable.codes.index(code))


def _score(variable: Variable, vote: Vote) -> float | None:
    number = code_number(variable, vote.value)
    return number if number is None or vote.score is None else vote.score


def _most_frequent(counted: Mapping[str, int]) -> tuple[str | None, str]:
    most = max(counted.values())
    first, *others = (value for value, number in counted.items() if number == most)
    return (None, TIE) if others else (first, "")


def _nearest(variable: Variable, mean: float) -> str:
    numbers = {code: code_number(variable, code) or 0.0 for code in variable.codes}
    return min(numbers, key=lambda code: (_distance(numbers[code], mean), -numbers[code]))


def _distance(a: float, b: float) -> float:
    """Return the distance, rounded because equal distances may differ in the last bits."""
    return round(math.fabs(a - b), 9)


def _closest_voters(variable: Variable, votes: Sequence[Vote], value: str) -> tuple[int, ...]:
    goal = code_number(variable, value) or 0.0
    away = {
        vote.voter: _distance(number, goal)
        for vote in votes
        if (number := code_number(variable, vote.value)) is not None
    }
    return tuple(voter for voter, far in away.items() if far == min(away.values()))


class JuryError(ValueError):
    """A jury is impossible. The message says what is wrong and what to do."""


@dataclass(frozen=True)
class Jury:
    """A jury's members and rule. The members are several raters, or the `samples` of one."""

    members: tuple[Rater, ...]
    rule: Rule
    samples: int = 0

    @property
    def voters(self) -> list[tuple[int, int]]:
        """Return the raters' primary keys with the replicate that counts."""
        if self.samples:
            return [(self.members[0].pk, replicate) for replicate in range(self.samples)]
        return [(member.pk, 0) for member in self.members]

    def facts(self) -> dict[str, Any]:
        """Return the facts that identify the jury."""
        names = [member.name for member in self.members]
        return {"members": names, "rule": self.rule, "samples": self.samples or None}


def create_jury(members: Sequence[Rater], rule: Rule) -> Jury:
    """Create a jury of judges, or of trials with swapped pairs. Raises JuryError."""
    if len(members) < 2:
        raise JuryError("a jury has at least two members; name them with --judges A,B")
    for member in members:
        if member.kind != Rater.Kind.JUDGE and not _is_swapped_trial(member):
            raise JuryError(f"{member.name!r} is not a judge and has no vote; leave it out")
    return Jury(tuple(sorted(members, key=lambda member: member.name)), rule)


def jury_of_samples(rater: Rater, rule: Rule) -> Jury:
    """Create the jury of a judge's samples. Raises JuryError."""
    judge = Judge.objects.filter(rater=rater, rater__kind=Rater.Kind.JUDGE).first()
    if judge is None or (number := sample_count(judge)) < 2:
        raise JuryError(
            f"{rater.name!r} is asked everything once; create a judge with --param samples=5 "
            "and a temperature above 0"
        )
    return Jury((rater,), rule, number)


def _is_swapped_trial(member: Rater) -> bool:
    trial = Judge.objects.filter(rater=member, base__isnull=False).first()
    return trial is not None and trial.variation["kind"] == "swapped"


def get_rater(name: str, jury: Jury) -> Rater:
    """Return the jury's rater, and create it if needed. Raises JuryError."""
    return check_name(name, jury) or Rater.objects.create(name=name, kind=Rater.Kind.JUDGE)


def check_name(name: str, jury: Jury) -> Rater | None:
    """Return the jury's rater if it exists. Raises JuryError if another rater has the name."""
    if wrong := why_no_name(name, LONGEST_NAME):
        raise JuryError(f"a jury's name {wrong}; choose another")
    if (rater := Rater.objects.filter(name=name).first()) is None:
        return None
    facts, labelled = _facts_of(rater)
    if rater.kind != Rater.Kind.JUDGE or hasattr(rater, "judge") or (labelled and not facts):
        raise JuryError(f"the name {name!r} belongs to another rater; choose another")
    if facts and facts != jury.facts():
        members = f"{', '.join(facts['members'])} by {facts['rule']}"
        raise JuryError(f"jury {name!r} exists with {members}, and keeps them; choose a new name")
    return rater


def voting_judges(name: str) -> list[str]:
    """Return the names of the judges in a jury, empty if there is no such jury."""
    rater = Rater.objects.filter(name=name, kind=Rater.Kind.JUDGE, judge=None).first()
    facts = _facts_of(rater)[0] if rater else None
    voting = Judge.objects.filter(rater__name__in=facts["members"] if facts else ())
    return sorted({str(judge.base or judge) for judge in voting.select_related("base__rater")})


def _facts_of(rater: Rater) -> tuple[dict[str, Any] | None, bool]:
    """Return the facts of a rater that is a jury, or None, and whether it has any labels."""
    label = Label.objects.filter(response__assignment__rater=rater).first()
    return (label.meta or {}).get("jury") if label else None, label is not None


CHUNK = 100
UNDECIDED_REASON = "declined"
"""The missing reason of a label that a jury does not give because of a tie."""
CLOSED = (Assignment.Status.DONE, Assignment.Status.FAILED, Assignment.Status.DECLINED)


@dataclass
class Session:
    """Counts of a jury's work: labels, ties, labels with too few votes, and changed answers."""

    labels: int = 0
    ties: int = 0
    too_few: int = 0
    changed: int = 0
    unchanged: int = 0

    def add(self, answer: _Answer, created: bool) -> None:
        labels = (set(values) - {EVIDENCE_KEY} for values in answer.units.values())
        self.labels += sum(map(len, labels))
        self.ties += answer.undecided[TIE]
        self.too_few += answer.undecided[TOO_FEW]
        self.changed += created
        self.unchanged += not created


class _QuotedVote(NamedTuple):
    vote: Vote
    quotes: tuple[dict[str, Any], ...]


@dataclass
class _ItemVotes:
    """The members' votes on one item by unit and variable, and the missing reasons."""

    asked: Counter[str] = field(default_factory=Counter)
    votes: dict[tuple[str, str], list[_QuotedVote]] = field(
        default_factory=lambda: defaultdict(list)
    )
    missing: dict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )


def convene(
    campaign: Campaign,
    name: str,
    jury: Jury,
    progress: Callable[[int], None] = lambda done: None,
) -> Session:
    """Compute the jury's labels for all items that its members have answered. Raises JuryError.

    The rater of a new jury is created in one transaction with its first labels. Each chunk has a
    transaction of its own, since people save answers meanwhile.
    """
    rater, session, asked = check_name(name, jury), Session(), schema(campaign, "judges")
    items = iter(campaign.items.select_related("query").order_by("position"))
    done = 0
    while chunk := list(islice(items, CHUNK)):
        kinds = _kinds(chunk)
        item_votes = _collect_votes(chunk, jury, asked, kinds)
        with transaction.atomic():
            for item in chunk:
                item.campaign = campaign
                answer = _Answer(jury, item_votes[item.pk], asked)
                for unit, kind in kinds[item.pk].items():
                    answer.unit(unit, kind)
                if answer.asked:
                    rater = rater or get_rater(name, jury)
                    _store(item, rater, answer, session)
        done += len(chunk)
        progress(done)
    if not session.changed + session.unchanged:
        raise JuryError(f"its members have answered too little of {campaign}; run them first")
    return session


def _collect_votes(
    items: Sequence[Item], jury: Jury, asked: CampaignSchema, kinds: Mapping[int, Mapping[str, str]]
) -> dict[int, _ItemVotes]:
    item_votes: dict[int, _ItemVotes] = defaultdict(_ItemVotes)
    numbers = {voter: n for n, voter in enumerate(jury.voters)}
    keys = [item.pk for item in items]
    rows = Assignment.objects.filter(item__in=keys, rater__in=jury.members, status__in=CLOSED)
    for row in rows:
        if (row.rater_id, row.replicate) in numbers:
            votes_of_item = item_votes[row.item_id]
            votes_of_item.asked.update(row.asked)
            of_row = {name: kinds[row.item_id][name] for name in row.asked}
            for name, each in reasons(row, asked, of_row).items():
                for variable, reason in each.items():
                    votes_of_item.missing[name, variable][reason] += 1
    for label in _labels(keys, jury.members):
        assignment = label.response.assignment
        if (number := numbers.get((assignment.rater_id, assignment.replicate))) is not None:
            vote = Vote(number, label.value, label.score)
            place = (label.unit.name, label.variable)
            item_votes[assignment.item_id].votes[place].append(_QuotedVote(vote, _quotes(label)))
    return item_votes


def _kinds(items: Iterable[Item]) -> dict[int, dict[str, str]]:
    """Return the kinds of units by item and name, in their stored order."""
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
    """Submit the answer for the jury's assignment. An unchanged answer is not stored again."""
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
    """Builds the answer to one item. `asked` are the names of its units."""

    def __init__(self, jury: Jury, item_votes: _ItemVotes, schema: CampaignSchema) -> None:
        self.jury, self.item_votes, self.schema = jury, item_votes, schema
        self.asked: list[str] = []
        self.units: dict[str, dict[str, Any]] = {}
        self.details: dict[str, dict[str, Any]] = {}
        self.missing: Reasons = {}
        self.undecided: Counter[str] = Counter()

    def unit(self, name: str, kind: str) -> None:
        """Decide the labels of a unit, if more than half of the members were asked about it."""
        if 2 * self.item_votes.asked[name] <= len(self.jury.voters):
            return
        self.asked.append(name)
        values: dict[str, str] = {}
        quotes: list[dict[str, Any]] = []
        for variable in self.schema.variables_of(kind):
            if not self.schema.holds(variable.asked_if, values):
                continue
            votes_given = self.item_votes.votes.get((name, variable.name), [])
            decision = self._decide(variable, votes_given)
            self.details.setdefault(name, {})[variable.name] = self._detail(decision)
            if decision.value is None:
                self._leave_missing(name, variable.name, decision)
            else:
                values[variable.name] = decision.value
                quotes += _merge_quotes(votes_given, decision)
        if values:
            asked = self.schema.variables_of(kind)
            given = {v.name: in_answer(v, values[v.name]) for v in asked if v.name in values}
            self.units[name] = given | ({EVIDENCE_KEY: quotes} if quotes else {})

    def _decide(self, variable: Variable, votes_given: Sequence[_QuotedVote]) -> JuryLabel:
        rule = decide_samples if self.jury.samples else decide
        votes = [each.vote for each in votes_given]
        return rule(variable, votes, len(self.jury.voters), self.jury.rule)

    def payload(self) -> dict[str, Any]:
        return {"units": self.units, "comment": None, "details": self.details}

    def _leave_missing(self, name: str, variable: str, decision: JuryLabel) -> None:
        """Store the missing reason: a tie, or the most frequent reason of the members."""
        self.undecided[decision.undecided] += 1
        why = self.item_votes.missing.get((name, variable), Counter())
        reason = (
            UNDECIDED_REASON if decision.undecided == TIE or not why else why.most_common(1)[0][0]
        )
        self.missing.setdefault(name, {})[variable] = reason

    def _detail(self, decision: JuryLabel) -> dict[str, Any]:
        meta: dict[str, Any] = {
            "jury": self.jury.facts(),
            "votes": dict(decision.votes),
            "absent": len(self.jury.voters) - sum(decision.votes.values()),
        }
        meta |= {"undecided": decision.undecided} if decision.undecided else {}
        meta |= {"shares": dict(decision.shares)} if decision.shares else {}
        return {"score": decision.score, "meta": meta}


def _merge_quotes(votes_given: Sequence[_QuotedVote], decision: JuryLabel) -> list[dict[str, Any]]:
    """Return the quotes of the voters for the label, without repetition."""
    of = (q for each in votes_given if each.vote.voter in decision.winners for q in each.quotes)
    return list({(q["field"], q["start"], q["quote"]): q for q in of}.values())
