"""One disputed unit with all answers side by side, and storing the decision on it.

Raters are shown as letters. The order is random for each unit, so a letter says nothing about the
next unit, and it is the same each time; people and judges are mixed. A decision goes through
`submit`, like every answer, as an answer of the Reference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, product
from string import ascii_uppercase

from django.db import transaction

from annotation.adjudication.disputes import Split, adjudicable, counted, in_dispute, own_units
from annotation.answers.submission import (
    Circumstances,
    ConflictError,
    LockedAnswer,
    Outcome,
    prepare,
    store,
)
from annotation.campaigns.sampling import shuffle_fields, shuffled
from annotation.models import (
    Assignment,
    Campaign,
    Decision,
    Label,
    Rater,
    Response,
    Span,
    Unit,
    User,
    rater_of,
)
from annotation.presentation import TURNED, Blinding, blinding_of, ordered_texts, present, schema
from annotation.protocols.base import ItemSpec, Payload, Text, UnitSpec, name_units
from annotation.protocols.schema import Schema
from annotation.protocols.validation import Channel, Problem, RefusedError
from annotation.provenance import Basis, basis_of
from audit.recording import record

RATER = "adjudicated"
PURPOSE = "texts for adjudication"


@dataclass(frozen=True)
class Case:
    """A unit in dispute or decided. `assignment` is the Reference's, stored once it is decided.

    `history` are the Reference's answers, the newest first; a file may have brought some.
    """

    campaign: Campaign
    unit: Unit
    spec: ItemSpec
    schema: Schema
    assignment: Assignment
    splits: tuple[Split, ...]
    history: tuple[Response, ...]

    @property
    def current(self) -> Response | None:
        """The answer that stands."""
        return next((each for each in self.history if each.current), None)

    @property
    def revision(self) -> int:
        return self.current.revision if self.current else 0

    @property
    def asked(self) -> UnitSpec:
        return next(iter(self.blinding.units.values()))

    @cached_property
    def blinding(self) -> Blinding:
        return blinding_of(self.assignment, self.spec)

    @cached_property
    def basis(self) -> Basis:
        return basis_of(self.schema, self.spec, self.blinding.units.values())

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """The texts in the order in which they are shown, under names that no id is read from."""
        shown = ordered_texts(self.assignment, self.spec)
        return tuple(replace(text, field=self.aliases[text.field]) for text in shown)

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """What the page calls the field of a text: its kind, and its number where it has an id."""
        shown = [text.field for text in ordered_texts(self.assignment, self.spec)]
        return {
            field: f"{field.partition(':')[0]}:{number}" if ":" in field else field
            for number, field in enumerate(shown, start=1)
        }

    @property
    def at_issue(self) -> str | None:
        """The field of the one among several texts that the unit is or stands in, as shown.

        It is the answer, where a passage is judged beside one.
        """
        if self.asked.of:
            return self.aliases[self.asked.of[0]]
        kind, key = self.asked.kind, self.asked.key
        if kind.endswith("sentence"):
            kind, key = kind.removesuffix("-sentence"), key.rpartition("#")[0]
        kind = "report" if kind == "sentence" else kind
        for name, alias in self.aliases.items():
            of, _, own = name.partition(":")
            if of == kind and own and key in (own, f"{self.spec.key}/{own}"):
                return alias
        return None

    @property
    def beside(self) -> str | None:
        """The field of the passage that is judged beside that answer, as shown."""
        return self.aliases[self.asked.of[1]] if self.asked.of else None


def decision_schema(campaign: Campaign) -> Schema:
    """What is decided: a campaign's labels. What raters wrote besides is production, and theirs."""
    asked = schema(campaign)
    return replace(asked, protocol=replace(asked.protocol, written=None, listed=None))


def case_of(user: User, campaign: Campaign, pk: int) -> Case | None:
    """A unit that is in dispute, or was decided, for an adjudicator who did not label it."""
    units = Unit.objects.filter(item__campaign=campaign, pk=pk).exclude(
        pk__in=own_units(user, campaign)
    )
    unit = units.select_related("item__query").first()
    if unit is None:
        return None
    unit.item.campaign = campaign
    history = tuple(_history(unit))
    splits = tuple(in_dispute(counted(campaign), unit.pk))
    if not splits and not history:
        return None
    spec = present(unit.item)
    assignment = reference_assignment(unit, spec)
    return Case(campaign, unit, spec, decision_schema(campaign), assignment, splits, history)


def reference_assignment(unit: Unit, spec: ItemSpec) -> Assignment:
    """What the Reference is asked of a unit, not stored; answers stand in the order of the item."""
    named = name_units(spec.units)[unit.name]
    asked = Assignment(item=unit.item, scope=unit.name, asked=[unit.name], shown=[])
    fields = [text.field for text in spec.texts]
    if named.kind == "pair" or any(field.startswith("report:") for field in fields):
        purpose = f"{PURPOSE} {unit.item.key}"
        asked.shown = shuffle_fields(fields, unit.item.campaign.seed, purpose, spec.key)
    return asked


def reference_rater() -> Rater:
    """The rater that decisions stand under, in all campaigns.

    Somebody may have brought labels of a person or a judge of that name: then there is a number.
    """
    number, name = 1, RATER
    while True:
        found, _ = Rater.objects.get_or_create(name=name, defaults={"kind": Rater.Kind.REFERENCE})
        if found.kind == Rater.Kind.REFERENCE:
            return found
        number += 1
        name = f"{RATER}-{number}"


def is_by(response: Response, user: User) -> bool | None:
    """Whether somebody decided it himself; None for what a file brought."""
    decision: Decision | None = getattr(response, "decision", None)
    return None if decision is None else decision.by.user_id == user.pk


def _history(unit: Unit) -> list[Response]:
    rows = Response.objects.filter(
        assignment__item=unit.item_id,
        assignment__scope=unit.name,
        assignment__rater__kind=Rater.Kind.REFERENCE,
    )
    return list(rows.select_related("decision__by").order_by("-revision"))


RATERS_PURPOSE = "raters for adjudication"


@dataclass(frozen=True)
class Quote:
    """A piece of evidence: code points of the text `field`, or no place where it was not found."""

    field: str
    start: int | None
    end: int | None
    text: str


@dataclass
class Opinion:
    """What one rater said: a code for each variable that he gave one, quotes, and his comment.

    The comment is that on the whole answer, which may have held more units.
    """

    name: str
    values: dict[str, str] = field(default_factory=dict)
    quotes: list[Quote] = field(default_factory=list)
    comment: str = ""


def opinions(case: Case) -> list[Opinion]:
    """The labels that count of a unit, by rater; two queries."""
    by_rater: dict[int, list[Label]] = defaultdict(list)
    labels = counted(case.campaign).filter(unit=case.unit).order_by("pk")
    related = labels.select_related("response__assignment").prefetch_related("spans")
    for label in related:
        by_rater[label.response.assignment.rater_id].append(label)
    purpose = f"{RATERS_PURPOSE} {case.unit.item.key} {case.unit.name}"
    order = shuffled(map(str, by_rater), case.campaign.seed, purpose)
    return [
        _opinion(case, f"Rater {letters}", by_rater[int(rater)])
        for letters, rater in zip(_letters(), order, strict=False)
    ]


def _opinion(case: Case, name: str, labels: list[Label]) -> Opinion:
    asked = [variable.name for variable in case.schema.variables_of(case.asked.kind)]
    given = {label.variable: label.value for label in labels}
    turned: Mapping[str, str] = TURNED if case.blinding.turned else {}
    return Opinion(
        name,
        {each: turned.get(given[each], given[each]) for each in asked if each in given},
        [_quote(case, span) for label in labels for span in label.spans.all()],
        labels[0].response.comment,
    )


def _quote(case: Case, span: Span) -> Quote:
    return Quote(case.aliases.get(span.field, ""), span.start, span.end, span.quote)


def _letters() -> Iterator[str]:
    """A to Z, then AA and on."""
    for length in count(1):
        yield from map("".join, product(ascii_uppercase, repeat=length))


NO_REASON = "give the reason of your decision"
REUSED = "this key came with another decision before; make a new key for each decision"


class NotYoursError(Exception):
    """The unit is not this account's to decide, any more."""


def decide(
    case: Case, user: User, payload: Payload, circumstances: Circumstances, channel: Channel
) -> Outcome:
    """Makes an answer to a case the Reference's; the payload's comment is the reason.

    The decision that its writer had not seen is never replaced, though it may say the same: it has
    a reason of its own. Raises RefusedError, ConflictError and NotYoursError.
    """
    if not payload.get("comment"):
        raise RefusedError([Problem("", "comment", NO_REASON)])
    with transaction.atomic():
        _check_role(case, user)
        assignment = _stored_assignment(case)
        ready = prepare(assignment, payload, channel, case.spec, case.schema)

        def check(held: LockedAnswer) -> None:
            stands = held.current.revision if held.current else 0
            if held.current and stands != (circumstances.seen or 0):
                raise ConflictError(held.current)

        outcome = store(ready, circumstances, check)
        if outcome.created:
            Decision.objects.create(response=outcome.response, unit=case.unit, by=rater_of(user))
            _note(case, outcome.response, payload)
        elif outcome.response.payload != payload:
            raise RefusedError([Problem("", "key", REUSED)])
    return outcome


def _note(case: Case, response: Response, payload: Payload) -> None:
    """For the audit trail: that something was decided, and digests of what."""
    before = case.current.payload if case.current else None
    event = "adjudication.changed" if before else "adjudication.decided"
    of = "assignment", response.assignment_id
    record(event, case.campaign.pk, of, before, payload, revision=response.revision)


def _check_role(case: Case, user: User) -> None:
    """The role may have ended while the page was open."""
    theirs = adjudicable(user).filter(pk=case.campaign.pk).exists()
    if not theirs or own_units(user, case.campaign).filter(unit=case.unit).exists():
        raise NotYoursError


def _stored_assignment(case: Case) -> Assignment:
    """The Reference's assignment of the unit, made by whoever decides first."""
    planned = case.assignment
    found, _ = Assignment.objects.get_or_create(
        item=case.unit.item,
        rater=reference_rater(),
        replicate=0,
        scope=planned.scope,
        defaults={"asked": planned.asked, "shown": planned.shown},
    )
    found.item = case.unit.item
    return found
