"""The labels of a jury, computed from its members' current ones and put through `submit`.

They go in like imported labels, so that they have revisions, and computing them again writes only
what has changed. Each says in its `meta` who votes by which rule, and how the votes fell.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from django.db import transaction

from annotation.merging import details_of
from annotation.missing import Reasons, reasons
from annotation.models import Assignment, Campaign, Item, Label, Rater, Unit
from annotation.presenting import present, schema
from annotation.protocols.base import Variable
from annotation.protocols.schema import EVIDENCE_KEY, Schema
from annotation.submit import Circumstances, submit
from judging.jury.juries import Jury, JuryError, check_name, rater_of
from judging.jury.voting import TIE, TOO_FEW, Verdict, Vote, decided, sampled

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
        for variable in self.schema.of(kind):
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
