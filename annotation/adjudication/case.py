"""One unit as an adjudicator sees it: what was shown to raters, without what was kept from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from annotation.adjudication.disputes import Split, counted, in_dispute
from annotation.adjudication.members import own_units
from annotation.assigning import shuffle_fields
from annotation.basis import Basis, basis_of
from annotation.blinding import Blinding, blinding_of
from annotation.models import Assignment, Campaign, Decision, Rater, Response, Unit, User
from annotation.presenting import ordered_texts, present, schema
from annotation.protocols.base import ItemSpec, Text, UnitSpec, name_units
from annotation.protocols.schema import Schema

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
        for field, alias in self.aliases.items():
            of, _, own = field.partition(":")
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
