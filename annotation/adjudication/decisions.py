"""One disputed unit with all answers side by side, and how a decision on it is stored.

Raters appear as letters, people and judges together. Their order is random for each unit and
reproducible, so a letter says nothing about the next unit. A decision is stored like every answer,
as a response of the Reference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, product
from string import ascii_uppercase

from django.db import transaction
from django.db.models import Count, Q

from annotation.adjudication.disputes import (
    Disagreement,
    Dispute,
    adjudicable,
    adjudicated_labels,
    own_units,
    unit_disagreements,
)
from annotation.answers.submission import Circumstances, LockedAnswer, Outcome, prepare, store
from annotation.answers.types import check_decision
from annotation.blinding import SWAPPED_CODES, Blinding, blinding_of
from annotation.campaigns.sampling import shuffle_fields, shuffled
from annotation.exposure.ledger import saw_answers
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
from annotation.presentation import (
    FORGOTTEN,
    ordered_texts,
    preload,
    present,
    schema,
)
from annotation.protocols.schema import CampaignSchema
from annotation.provenance import Basis, basis_of
from audit.recording import record
from tandem.messages import Message
from tandem.protocols.base import ItemSpec, Payload, Text, UnitSpec, name_units
from tandem.protocols.validation import Channel, Problem, RefusedError, read_code

REFERENCE_NAME = "adjudicated"
TEXTS_PURPOSE = "texts for adjudication"
RATERS_PURPOSE = "raters for adjudication"
NO_REASON = Message("give the reason of your decision")
REUSED_KEY = Message(
    "this key came with another decision before; create a new key for each decision"
)


@dataclass(frozen=True)
class Case:
    """A unit in dispute or decided.

    `assignment` is that of the Reference, and is stored with the first decision. `history` has the
    responses of the Reference, newest first; some may be imported.
    """

    campaign: Campaign
    unit: Unit
    spec: ItemSpec
    schema: CampaignSchema
    assignment: Assignment
    disagreements: tuple[Disagreement, ...]
    history: tuple[Response, ...]

    @property
    def current(self) -> Response | None:
        """The current decision, or None."""
        return next((each for each in self.history if each.current), None)

    @property
    def revision(self) -> int:
        return self.current.revision if self.current else 0

    @property
    def asked(self) -> UnitSpec:
        return next(iter(self.blinding.units.values()))

    @cached_property
    def blinding(self) -> Blinding:
        return replace(blinding_of(self.assignment, self.spec), fields=self.aliases)

    @cached_property
    def shown(self) -> ItemSpec:
        """The item with the page's names of its texts."""
        return self.blinding.blind(self.spec)

    @cached_property
    def basis(self) -> Basis:
        return basis_of(self.schema, self.spec, self.blinding.units.values())

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """The texts in the order shown, with field names that reveal no id."""
        shown = ordered_texts(self.assignment, self.spec)
        return tuple(replace(text, field=self.aliases[text.field]) for text in shown)

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """The page's name for the field of each text: its kind, with a number if it has an id."""
        shown = [text.field for text in ordered_texts(self.assignment, self.spec)]
        return {
            field: f"{field.partition(':')[0]}:{number}" if ":" in field else field
            for number, field in enumerate(shown, start=1)
        }

    @property
    def judged_text(self) -> str | None:
        """Return the page's name for the text that is judged, whole or in part; None if no text is.

        If a passage is judged beside an answer, this is the answer.
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
        """The page's name for the passage that is judged beside an answer, or None."""
        return self.aliases[self.asked.of[1]] if self.asked.of else None


def decision_schema(campaign: Campaign) -> CampaignSchema:
    """Return the campaign's schema without written texts and lists, which are not adjudicated."""
    asked = schema(campaign, "people")
    return replace(asked, protocol=replace(asked.protocol, written=None, listed=None))


def find_case(user: User, campaign: Campaign, pk: int) -> Case | None:
    """Return a unit as a case if it is in dispute or decided, and not labelled by this user."""
    units = Unit.objects.filter(item__campaign=campaign, pk=pk).exclude(
        pk__in=own_units(user, campaign)
    )
    unit = units.select_related("item__query", "item__campaign").first()
    if unit is None:
        return None
    history = tuple(_history(unit))
    disagreements = tuple(unit_disagreements(adjudicated_labels(campaign), unit.pk))
    if not disagreements and not history:
        return None
    saw_answers("dispute", campaign, units=[unit.pk])
    spec = present(unit.item)
    assignment = reference_assignment(unit, spec)
    return Case(
        campaign,
        unit,
        spec,
        decision_schema(campaign),
        assignment,
        disagreements,
        history,
    )


def reference_assignment(unit: Unit, spec: ItemSpec) -> Assignment:
    """Return an unsaved assignment of the Reference for a unit, with answers in random order."""
    named = name_units(spec.units)[unit.name]
    asked = Assignment(item=unit.item, scope=unit.name, asked=[unit.name], shown=[])
    fields = [text.field for text in spec.texts]
    if named.kind == "pair" or any(field.startswith("report:") for field in fields):
        purpose = f"{TEXTS_PURPOSE} {unit.item.key}"
        asked.shown = shuffle_fields(fields, unit.item.campaign.seed, purpose, spec.key)
    return asked


def reference_rater() -> Rater:
    """Return the Reference of all decisions, which the first call creates.

    Its name gets a number if an imported person or judge already has that name.
    """
    number, name = 1, REFERENCE_NAME
    while True:
        found, _ = Rater.objects.get_or_create(name=name, defaults={"kind": Rater.Kind.REFERENCE})
        if found.kind == Rater.Kind.REFERENCE:
            return found
        number += 1
        name = f"{REFERENCE_NAME}-{number}"


def is_by(response: Response, user: User) -> bool | None:
    """Whether this user decided the response; None if it was imported."""
    decision: Decision | None = getattr(response, "decision", None)
    return None if decision is None else decision.by.user_id == user.pk


def _history(unit: Unit) -> list[Response]:
    rows = Response.objects.filter(
        assignment__item=unit.item_id,
        assignment__scope=unit.name,
        assignment__rater__kind=Rater.Kind.REFERENCE,
    )
    return list(rows.select_related("decision__by").order_by("-revision"))


@dataclass(frozen=True)
class DecidedUnit:
    """A current decision as adjudicators read it: its values, and the raters' answers.

    `answers` counts people by value for each variable, the most frequent value first; a value that
    only judges gave counts 0. Codes of a pair are those of the decision's page.
    """

    response: Response
    kind: str
    values: Mapping[str, str]
    answers: Mapping[str, tuple[tuple[str, int], ...]]


def decided_among(campaign: Campaign, found: Sequence[Dispute]) -> dict[int, DecidedUnit]:
    """Return the decisions on disputes by unit, in a few database queries."""
    saw_answers("disputes", campaign, units=[each.unit for each in found])
    rows = Decision.objects.filter(
        unit__in=[each.unit for each in found], response__current=True
    ).select_related("unit", "by", "response__assignment__item__query")
    decisions = {row.unit_id: row for row in rows}
    items = [row.response.assignment.item for row in decisions.values()]
    for item in items:
        item.campaign = campaign
    preload(campaign, items)
    counts = _answers_by_value(campaign, decisions)
    return {unit: _decided_unit(row, counts[unit]) for unit, row in decisions.items()}


def _decided_unit(row: Decision, counts: Mapping[str, Counter[str]]) -> DecidedUnit:
    assignment = row.response.assignment
    try:
        blinding = blinding_of(assignment, present(assignment.item))
    except FORGOTTEN:
        # Its texts were changed. The list says so, and the decision cannot be blinded.
        return DecidedUnit(row.response, row.unit.kind, {}, {})
    swapped: Mapping[str, str] = SWAPPED_CODES if blinding.swapped else {}
    units = (blinding.for_page(row.response.payload) or {}).get("units", {})
    answers = {
        name: tuple((swapped.get(code, code), number) for code, number in of.most_common())
        for name, of in counts.items()
    }
    answer: Mapping[str, object] = next(iter(units.values()), {})
    asked = schema(assignment.item.campaign, "people").variables_of(row.unit.kind)
    read = {each.name: read_code(each, answer.get(each.name)) for each in asked}
    values = {name: value for name, value in read.items() if value is not None}
    return DecidedUnit(row.response, row.unit.kind, values, answers)


def _answers_by_value(
    campaign: Campaign, units: Iterable[int]
) -> Mapping[int, Mapping[str, Counter[str]]]:
    """Count people by unit, variable and value; a value that only judges gave counts 0."""
    found: dict[int, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    labels = adjudicated_labels(campaign).filter(unit__in=list(units))
    of_people = Q(response__assignment__rater__kind=Rater.Kind.HUMAN)
    number = Count("pk", filter=of_people)
    rows = labels.values_list("unit", "variable", "value").annotate(number=number)
    for unit, variable, value, number in rows.order_by("value"):
        found[unit][variable][value] = number
    return found


@dataclass(frozen=True)
class Quote:
    """A quote with its location in the text `field`, in code points; None if it was not found."""

    field: str
    start: int | None
    end: int | None
    text: str


@dataclass
class RaterAnswer:
    """One rater's labels on the unit by variable, with quotes.

    The comment is on the rater's whole answer, which may cover more units.
    """

    name: str
    values: dict[str, str] = field(default_factory=dict)
    quotes: list[Quote] = field(default_factory=list)
    comment: str = ""


def rater_answers(case: Case) -> list[RaterAnswer]:
    """Return the raters' answers to the unit that count, in two queries."""
    by_rater: dict[int, list[Label]] = defaultdict(list)
    labels = adjudicated_labels(case.campaign).filter(unit=case.unit).order_by("pk")
    related = labels.select_related("response__assignment").prefetch_related("spans")
    for label in related:
        by_rater[label.response.assignment.rater_id].append(label)
    purpose = f"{RATERS_PURPOSE} {case.unit.item.key} {case.unit.name}"
    order = shuffled(map(str, by_rater), case.campaign.seed, purpose)
    return [
        _rater_answer(case, f"Rater {letters}", by_rater[int(rater)])
        for letters, rater in zip(_letters(), order, strict=False)
    ]


def _rater_answer(case: Case, name: str, labels: list[Label]) -> RaterAnswer:
    asked = [variable.name for variable in case.schema.variables_of(case.asked.kind)]
    values = {label.variable: label.value for label in labels}
    swapped: Mapping[str, str] = SWAPPED_CODES if case.blinding.swapped else {}
    return RaterAnswer(
        name,
        {each: swapped.get(values[each], values[each]) for each in asked if each in values},
        [_quote(case, span) for label in labels for span in label.spans.all()],
        labels[0].response.comment,
    )


def _quote(case: Case, span: Span) -> Quote:
    return Quote(case.aliases.get(span.field, ""), span.start, span.end, span.quote)


def _letters() -> Iterator[str]:
    """Yield A to Z, then AA, AB and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_uppercase, repeat=length))


class NotYoursError(Exception):
    """This account may no longer decide the unit."""


def decide(
    case: Case, user: User, payload: Payload, circumstances: Circumstances, channel: Channel
) -> Outcome:
    """Store a decision as a response of the Reference; the payload's comment is the reason.

    Raises RefusedError without a reason, NotYoursError, and ConflictError if there is a decision
    that this user had not seen, even one with the same labels.
    """
    if not payload.get("comment"):
        raise RefusedError([Problem("", "comment", NO_REASON)])
    with transaction.atomic():
        _check_role(case, user)
        assignment = _stored_assignment(case)
        ready = prepare(assignment, payload, channel, case.spec, case.schema)

        def check(held: LockedAnswer) -> None:
            check_decision(held.current, circumstances.seen)

        outcome = store(ready, circumstances, check)
        if outcome.created:
            Decision.objects.create(response=outcome.response, unit=case.unit, by=rater_of(user))
            _record(case, outcome.response, payload)
        elif outcome.response.payload != payload:
            raise RefusedError([Problem("", "key", REUSED_KEY)])
    return outcome


def _record(case: Case, response: Response, payload: Payload) -> None:
    """Record the decision in the audit trail, with digests of the payloads."""
    before = case.current.payload if case.current else None
    event = "adjudication.changed" if before else "adjudication.decided"
    of = "assignment", response.assignment_id
    record(event, case.campaign.pk, of, before, payload, revision=response.revision)


def _check_role(case: Case, user: User) -> None:
    """Raise NotYoursError if the user's role ended while the page was open."""
    may_decide = adjudicable(user).filter(pk=case.campaign.pk).exists()
    if not may_decide or own_units(user, case.campaign).filter(unit=case.unit).exists():
        raise NotYoursError


def _stored_assignment(case: Case) -> Assignment:
    """Return the stored assignment of the Reference; the first decision creates it."""
    planned = case.assignment
    return Assignment.objects.get_or_create(
        item=case.unit.item,
        rater=reference_rater(),
        replicate=0,
        scope=planned.scope,
        defaults={"asked": planned.asked, "shown": planned.shown},
    )[0]
