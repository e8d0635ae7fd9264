"""Carry answers over from the campaign that a new one continues.

An answer to a unit is carried if the query, the unit, the texts that it is about and the questions
are the same to the letter. Texts that only other units of the same kind are about do not count, so
that a new system's report does not undo the ratings of the others. A written answer is about
everything that was shown, and so is a judge's answer to a whole item: they are carried whole or not
at all. A judge's answer also needs the same guideline, and the same prompt, which is checked when
the judge runs.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import NamedTuple

from annotation.answers.storage import AnswerCopy, copy_answers
from annotation.campaign_setup.items import DraftItem
from annotation.campaigns.changes import check_named
from annotation.campaigns.design import Audience, DesignError
from annotation.exports.rows import ShownItem, chunks, present_items, shown_items
from annotation.models import (
    CARRIED,
    Assignment,
    Campaign,
    CarriedAnswer,
    Decision,
    Exclusion,
    Item,
    Rater,
    Response,
    Unit,
    User,
)
from annotation.presentation import has_audiences, schema
from annotation.provenance import Bases
from annotation.trust.roles import without_certify
from datasets.models import Query
from tandem.protocols.base import ItemSpec, Payload, Text, UnitSpec, kinds_of, name_units

AUDIENCES: tuple[Audience, ...] = ("people", "judges")
CHUNK = 500
KINDS = (Rater.Kind.HUMAN, Rater.Kind.JUDGE, Rater.Kind.REFERENCE)


def find_continued(name: str, campaign: Campaign, by: User | None) -> Campaign | None:
    """Return the campaign to continue, or None without a name. Raises DesignError."""
    if not name:
        return None
    check_named("continues", name, by)
    old = Campaign.objects.get(name=name)
    if not Campaign.objects.filter(campaign.of_same_protocol, pk=old.pk).exists():
        raise DesignError(
            f"campaign {name!r} is {old.protocol}, and cannot be continued by {campaign.protocol}; "
            "name one of the same protocol",
            "continues",
        )
    if old.team_id != campaign.team_id:
        raise DesignError(
            f"campaign {name!r} belongs to another team; name one of the same team", "continues"
        )
    if old.options.get("points") != campaign.options.get("points"):
        raise DesignError(
            f"campaign {name!r} asks about other points; give the same option points", "continues"
        )
    return old


AskedQuery = tuple[str, str | None, list[dict[str, str]]]
"""A query's text, when it was asked, and the earlier turns of its conversation."""


def unit_digests(query: AskedQuery, spec: ItemSpec, bases: Bases) -> dict[str, str]:
    """Return a digest of what each unit shows, by the unit's name in answers."""
    named = name_units(spec.units)
    own = {name: _own_fields(unit, spec) for name, unit in named.items()}
    by_kind: dict[str, set[str]] = defaultdict(set)
    for name, unit in named.items():
        by_kind[unit.kind] |= own[name]
    return {
        name: _digest(query, spec, unit, by_kind[unit.kind] - own[name], bases)
        for name, unit in named.items()
    }


def _own_fields(unit: UnitSpec, spec: ItemSpec) -> set[str]:
    """Return the fields of the texts that a unit is about, such as the report that it rates."""
    if unit.of:
        return set(unit.of)
    key = unit.key.rpartition("#")[0] if unit.kind.endswith("sentence") else unit.key
    kind = unit.kind.removesuffix("-sentence").replace("sentence", "report")
    candidates = {f"{kind}:{key}", f"{kind}:{key.removeprefix(f'{spec.key}/')}"}
    return {text.field for text in spec.texts if text.field in candidates}


def _digest(
    query: AskedQuery, spec: ItemSpec, unit: UnitSpec, others: set[str], bases: Bases
) -> str:
    texts = sorted(_text_as_json(text) for text in spec.texts if text.field not in others)
    asked = bases.of(replace(spec, texts=()), [unit]).questions
    shown = json.dumps([query, texts, unit.kind, unit.text, asked], ensure_ascii=True)
    return hashlib.sha256(shown.encode("ascii")).hexdigest()


def _text_as_json(text: Text) -> str:
    return json.dumps(astuple(text), ensure_ascii=True)


@dataclass
class _Side:
    """The compared items of one campaign by key: the digests and keys of their units.

    The digests are by audience, since people and judges may be asked different questions.
    """

    items: dict[str, ShownItem]
    specs: dict[str, ItemSpec]
    digests: Mapping[Audience, dict[str, dict[str, str]]]
    units: dict[int, dict[str, int]]


class _Overlap(NamedTuple):
    """The units of an answer that are unchanged in the new item.

    `everything` if these are all of the answer's units, `covers` if they are all of the item's.
    """

    same: list[str]
    everything: bool
    covers: bool


@dataclass
class CarriedSlots:
    """The people's answers that are carried over to an item.

    `whole` is the number of answers to all of its units; `parts` has the number of other answers
    to each unit.
    """

    whole: int = 0
    parts: Counter[str] = field(default_factory=Counter)

    def taken_of(self, quota: int, names: Iterable[str]) -> tuple[int, int]:
        """Return the number of slots taken, and the number that the item then has in all.

        `names` are all the item's units, and `quota` its slots by the design. An answer that every
        unit has got from some part needs no slot.
        """
        whole = min(self.whole, quota)
        fewest = min(self.parts[name] for name in names) if self.parts else 0
        return whole, max(whole, quota - fewest)


def carry_over(campaign: Campaign, old: Campaign) -> int:
    """Copy the answers of `old` that a new campaign need not ask again; return their number."""
    carrier = _Carrier(campaign, old)
    for items in shown_items(campaign):
        carrier.carry(items)
    return carrier.number


def carried_slots(
    campaign: Campaign, old: Campaign, items: Iterable[tuple[DraftItem, Collection[str]]]
) -> dict[str, CarriedSlots]:
    """Return what `carry_over` would carry of people's answers, by the keys of items.

    Neither the campaign nor its items need to be stored. Each item comes with its units' names.
    """
    carrier = _Carrier(campaign, old)
    found: dict[str, CarriedSlots] = {}
    for chunk in chunks(iter(items), CHUNK):
        found |= carrier.count(chunk)
    return found


class _Carrier:
    def __init__(self, campaign: Campaign, old: Campaign) -> None:
        self.new, self.old, self.number = campaign, old, 0
        self.drawn: Mapping[int, list[str] | None] = {}
        self.schemas = {each: schema(campaign, each) for each in AUDIENCES}
        self.bases = {
            each: (Bases(self.schemas[each]), Bases(schema(old, each))) for each in AUDIENCES
        }
        self.is_split = has_audiences(campaign) or has_audiences(old)
        excluded = Exclusion.objects.filter(campaign=old, undone_at=None)
        self.excluded = list(excluded.values_list("rater", flat=True))
        protocol = self.schemas["people"].protocol
        self.whole_only = bool(protocol.written or protocol.listed)

    def carry(self, items: list[ShownItem]) -> None:
        """Carry the answers to some items."""
        new = self._side(self.new, items, 0)
        self._copy(new, self._before(new.items))

    def count(self, items: Sequence[tuple[DraftItem, Collection[str]]]) -> dict[str, CarriedSlots]:
        """Return the slots that people's answers to some items would take."""
        units = {drafted.spec.key: names for drafted, names in items}
        before = self._before(units)
        queries = _asked_queries({drafted.query for drafted, _ in items})
        digests = {
            drafted.spec.key: unit_digests(
                queries[drafted.query], drafted.spec, self.bases["people"][0]
            )
            for drafted, _ in items
            if drafted.spec.key in before.items
        }
        keys = {item.pk: key for key, item in before.items.items()}
        found: dict[str, CarriedSlots] = defaultdict(CarriedSlots)
        for response in self._answers(list(keys)):
            row = response.assignment
            if row.rater.kind != Rater.Kind.HUMAN:
                continue
            key = keys[row.item_id]
            old = before.digests["people"][key]
            overlap = self._compare(
                row, units[key], units[key], before.units[row.item_id], digests[key], old
            )
            scope = self._scope_of_people(row, overlap)
            if not overlap.same:
                continue
            if _takes_slot(row, scope, overlap):
                found[key].whole += 1
            elif scope == CARRIED:
                found[key].parts.update(overlap.same)
        return found

    def _before(self, keys: Iterable[str]) -> _Side:
        """Return the old campaign's items with these keys."""
        rows = self.old.items.filter(key__in=list(keys), use=Item.Use.STUDY)
        columns = ("pk", "key", "query_id", "query__key", "report__system", "shown_passages")
        there = [
            ShownItem(*row)
            for row in rows.order_by("position").values_list(*columns, "passage_uses")
        ]
        return self._side(self.old, there, 1)

    def _side(self, campaign: Campaign, items: list[ShownItem], number: int) -> _Side:
        """Return the items of the new campaign (0) or of the old one (1)."""
        specs = {item.key: spec for item, spec in present_items(campaign, items)} if items else {}
        queries = _asked_queries({item.query_id for item in items})
        digests: dict[Audience, dict[str, dict[str, str]]] = {}
        for audience in AUDIENCES:
            bases = self.bases[audience][number]
            digests[audience] = (
                digests["people"]
                if digests and not self.is_split
                else {
                    item.key: unit_digests(queries[item.query_id], specs[item.key], bases)
                    for item in items
                }
            )
        units: dict[int, dict[str, int]] = defaultdict(dict)
        stored = Unit.objects.filter(item__in=[item.pk for item in items])
        for item, name, pk in stored.order_by("position").values_list("item_id", "name", "pk"):
            units[item][name] = pk
        return _Side({item.key: item for item in items}, specs, digests, units)

    def _copy(self, new: _Side, before: _Side) -> None:
        keys = {item.pk: key for key, item in before.items.items()}
        found = list(self._answers(list(keys)))
        made: list[AnswerCopy] = []
        assignments: list[Assignment] = []
        slots: Counter[int] = Counter()
        rows = Item.objects.filter(pk__in=[item.pk for item in new.items.values()])
        stored = list(rows.values_list("pk", "quota", "drawn"))
        quotas = {pk: quota for pk, quota, _ in stored}
        self.drawn = {pk: drawn for pk, _, drawn in stored}
        for response in found:
            key = keys[response.assignment.item_id]
            if copy := self._copied(response, new, before, key, slots, quotas):
                assignments.append(copy.assignment)
                made.append(copy)
        Assignment.objects.bulk_create(assignments)
        self._store(made)
        self._set_slots(new, assignments, quotas)

    def _answers(self, items: Sequence[int]) -> Iterable[Response]:
        """Yield the answers that may be carried. A judge's replicates are carried together or not
        at all.
        """
        found = Response.objects.filter(
            current=True,
            assignment__item__in=items,
            assignment__status=Assignment.Status.DONE,
            assignment__rater__kind__in=KINDS,
        ).exclude(assignment__rater__in=self.excluded)
        related = without_certify(found, self.old, "assignment").select_related(
            "assignment__rater", "decision", "carried"
        )
        unfinished = set(
            Assignment.objects.filter(item__in=items, rater__kind=Rater.Kind.JUDGE)
            .exclude(status=Assignment.Status.DONE)
            .values_list("item_id", "rater_id", "scope")
        )
        for response in related.order_by("assignment__item__position", "assignment_id"):
            row = response.assignment
            if (row.item_id, row.rater_id, row.scope) not in unfinished:
                yield response

    def _copied(
        self,
        response: Response,
        new: _Side,
        before: _Side,
        key: str,
        slots: Counter[int],
        quotas: Mapping[int, int],
    ) -> AnswerCopy | None:
        """Return the copy of an answer, or None if no part of it can be carried."""
        row, item = response.assignment, new.items[key]
        units, own = new.units[item.pk], before.units[row.item_id]
        audience: Audience = "judges" if row.rater.kind == Rater.Kind.JUDGE else "people"
        needed = self._needed(item.pk, new, audience)
        digests = new.digests[audience][key], before.digests[audience][key]
        found = self._compare(row, units, needed, own, *digests)
        scope = self._scope(response, new, key, found)
        if scope is None or not found.same:
            return None
        slot = None
        if _takes_slot(row, scope, found) and slots[item.pk] < quotas[item.pk]:
            slots[item.pk] += 1
            slot = slots[item.pk]
        assignment = Assignment(
            item_id=item.pk,
            rater=row.rater,
            replicate=row.replicate,
            scope=scope,
            asked=found.same,
            shown=row.shown,
            slot=slot,
            status=Assignment.Status.DONE,
            missing={name: row.missing[name] for name in found.same if name in row.missing},
            seconds=row.seconds,
            assisted_by=row.assisted_by,
        )
        mapped = {own[name]: units[name] for name in found.same}
        return AnswerCopy(response, assignment, mapped, _part(response.payload, found.same))

    def _needed(self, item: int, new: _Side, audience: Audience) -> list[str]:
        """Return the units of a new item that an audience is asked."""
        names = list(new.units[item])
        if audience == "people" and (drawn := self.drawn.get(item)) is not None:
            names = [name for name in names if name in drawn]
        if not has_audiences(self.new):
            return names
        kinds = kinds_of(self.schemas[audience].variables)
        key = next(each.key for each in new.items.values() if each.pk == item)
        specs = name_units(new.specs[key].units)
        return [name for name in names if specs[name].kind in kinds]

    def _compare(
        self,
        row: Assignment,
        units: Collection[str],
        needed: Collection[str],
        own: Collection[str],
        digests: Mapping[str, str],
        before: Mapping[str, str],
    ) -> _Overlap:
        """Return which of the units that an answer is about are in the new item unchanged.

        `needed` are the units of the new item that its rater is asked.
        """
        same = [
            name
            for name in row.asked
            if name in units and name in own and digests[name] == before[name]
        ]
        everything = len(same) == len(row.asked)
        return _Overlap(same, everything, everything and set(needed) <= set(same))

    def _scope(self, response: Response, new: _Side, key: str, found: _Overlap) -> str | None:
        """Return the scope of the carried assignment, or None if the answer is not carried."""
        row = response.assignment
        if row.rater.kind != Rater.Kind.JUDGE:
            return self._scope_of_people(row, found)
        asked = name_units(new.specs[key].units)
        bases = self.bases["judges"][0]
        now = str(bases.of(new.specs[key], [asked[name] for name in found.same]))
        whole = found.covers if row.scope == "" else found.everything
        return row.scope if response.basis in (None, now) and whole else None

    def _scope_of_people(self, row: Assignment, found: _Overlap) -> str | None:
        if row.scope not in ("", CARRIED):
            return row.scope if found.everything else None
        if found.covers:
            return ""
        return None if self.whole_only else CARRIED

    def _store(self, copies: Sequence[AnswerCopy]) -> None:
        keys = copy_answers(copies)
        origins = [(key, copy) for key, copy in zip(keys, copies, strict=True)]
        CarriedAnswer.objects.bulk_create(
            CarriedAnswer(response_id=key, origin=copy.origin, campaign=_given_in(copy, self.old))
            for key, copy in origins
        )
        Decision.objects.bulk_create(
            Decision(
                response_id=key,
                unit_id=copy.units[copy.origin.decision.unit_id],
                by_id=copy.origin.decision.by_id,
            )
            for key, copy in origins
            if hasattr(copy.origin, "decision")
        )
        self.number += len(copies)

    def _set_slots(self, new: _Side, made: Sequence[Assignment], quotas: Mapping[int, int]) -> None:
        """Give slots to carried answers, and leave as many free as the units still lack answers."""
        found: dict[int, CarriedSlots] = defaultdict(CarriedSlots)
        for assignment in made:
            if assignment.slot is not None:
                found[assignment.item_id].whole += 1
            elif assignment.scope == CARRIED and assignment.rater.kind == Rater.Kind.HUMAN:
                found[assignment.item_id].parts.update(assignment.asked)
        changed = []
        for pk, carried in found.items():
            taken, quota = carried.taken_of(quotas[pk], self._needed(pk, new, "people"))
            changed.append(Item(pk=pk, taken=taken, quota=quota))
        Item.objects.bulk_update(changed, ["taken", "quota"], batch_size=CHUNK)


def _takes_slot(row: Assignment, scope: str | None, found: _Overlap) -> bool:
    """Whether a carried answer takes a slot of the item, if one is free."""
    whole = scope == "" and found.covers and row.replicate == 0
    return whole and row.rater.kind == Rater.Kind.HUMAN


def _asked_queries(keys: Collection[int]) -> dict[int, AskedQuery]:
    rows = Query.objects.filter(pk__in=keys).values_list("pk", "text", "asked_at", "history")
    return {pk: (text, at, history) for pk, text, at, history in rows}


def _given_in(copy: AnswerCopy, old: Campaign) -> str:
    """Return the name of the campaign in which an answer was given, perhaps an earlier one."""
    before: CarriedAnswer | None = getattr(copy.origin, "carried", None)
    return before.campaign if before else old.name


def _part(payload: Payload, names: Sequence[str]) -> Payload:
    """Return the answers to some units. The comment is kept, since it is about all units."""
    units = payload["units"]
    return {**payload, "units": {name: units[name] for name in names if name in units}}
