"""Import the answers of a labels file, grouped by rater and item, through `submit`.

A file may cover a part of an item: an imported answer is merged with the existing one. Doubtful
content gives warnings. Labels that a script sends are imported in the same way, but never under the
name of a person who answers on this site.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from annotation.answers.misplaced import find_misplaced_evidence
from annotation.answers.submission import Circumstances, Detail, prepare, submit
from annotation.imports.files import read_groups
from annotation.imports.first_answers import First, FirstImports, new_assignment
from annotation.imports.index import ImportOptions, KnownItems
from annotation.imports.offsets import convert, marks_in, recognise
from annotation.imports.slots import fill_slots
from annotation.missing_reasons import Reasons, merge_reasons, reasons
from annotation.models import Assignment, Campaign, Item, Label, Rater, Response, Span
from annotation.people.consent import revoked_raters
from annotation.presentation import preload, present, schema, schema_for, texts_by_field
from audit.recording import record
from datasets.db.bulk import refresh_statistics
from tandem.files.fields import Tally
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.spelling import similar, similar_names
from tandem.labels.file.grouping import (
    Group,
    assistance,
    fill_quotes,
    mixed,
    moment,
    split_by_scope,
)
from tandem.protocols.base import ItemSpec, Payload
from tandem.protocols.schema import EVIDENCE_KEY
from tandem.protocols.validation import Problem, RefusedError

Answer = Mapping[str, Any]
MANY_LABELS = 1000
"""With this many new labels, PostgreSQL's planner must not assume that the tables are small."""


def merge_payloads(stored: Payload | None, payload: Payload, evidence: str | None) -> Payload:
    """Merge `payload` into the current answer. `evidence` is the default variable of quotes.

    A label in the file keeps its old quotes and details only if its value is the same and the file
    has none of its own.
    """
    if stored is None:
        return payload
    units = {name: dict(answer) for name, answer in stored["units"].items()}
    details = {name: dict(each) for name, each in stored.get("details", {}).items()}
    for name, new in payload["units"].items():
        old = units.get(name, {})
        units[name] = _with_quotes(old, new, evidence)
        details[name] = {
            **{v: d for v, d in details.get(name, {}).items() if _is_unchanged(v, old, new)},
            **payload.get("details", {}).get(name, {}),
        }
    whole = {**stored, "units": units, "comment": payload["comment"] or stored.get("comment")}
    kept = {name: each for name, each in details.items() if each}
    return {k: v for k, v in whole.items() if k != "details"} | ({"details": kept} if kept else {})


def _with_quotes(old: Answer, new: Answer, evidence: str | None) -> dict[str, Any]:
    new_quotes = list(new.get(EVIDENCE_KEY) or ())
    renewed = {quote["variable"] for quote in new_quotes}
    kept = [
        quote
        for quote in old.get(EVIDENCE_KEY) or ()
        if (of := quote.get("variable", evidence)) not in renewed and _is_unchanged(of, old, new)
    ]
    quotes = {EVIDENCE_KEY: kept + new_quotes} if kept or new_quotes or EVIDENCE_KEY in old else {}
    return {**old, **new, **quotes}


def _is_unchanged(variable: str | None, old: Answer, new: Answer) -> bool:
    """Whether a variable has the same value in both answers."""
    return variable is None or variable not in new or new[variable] == old.get(variable)


def details_of(payload: Payload) -> dict[tuple[str, str], Detail]:
    return {
        (name, variable): Detail(detail.get("score"), detail.get("meta"))
        for name, variables in payload.get("details", {}).items()
        for variable, detail in variables.items()
    }


ITEMS = 100
"""The number of items that are looked up, and whose new answers are written, at once."""


@dataclass
class ImportReport:
    """The result of an import: numbers of labels by rater, and warnings."""

    labels: Annotated[dict[str, int], "number of imported labels by rater"] = field(
        default_factory=dict
    )
    missing: Annotated[int, "imported missing labels"] = 0
    unchanged: Annotated[int, "labels that were stored before"] = 0
    warnings: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)


def import_labels(
    paths: Sequence[Path],
    campaign: Campaign,
    rater: str | None = None,
    format: str | None = None,
    progress: Callable[[int], None] = lambda done: None,
    options: ImportOptions | None = None,
    is_foreign: bool = False,
) -> ImportReport:
    """Import label files into a campaign, in one transaction. Raises InputError.

    Files that come through a page or a script are `is_foreign`: they may not have labels under the
    name of a person or judge who answers on this site.
    """
    notes, report = ReadNotes(), ImportReport()
    known = KnownItems(campaign, options=options or ImportOptions())
    with transaction.atomic():
        for path in paths:
            groups = read_groups(path, known, rater, format, notes)
            if is_foreign:
                _check_raters(groups)
            _Importer(campaign, report, known, notes).take(path, groups, progress)
        if changed := sum(report.labels.values()) + report.missing:
            record("labels.imported", campaign.pk, campaign, labels=changed)
            fill_slots(campaign)
        if changed >= MANY_LABELS:
            refresh_statistics(Assignment, Response, Label, Span)
    doubts = (
        [str(each) for each in find_misplaced_evidence(campaign, report.labels)]
        if report.labels
        else []
    )
    known.note_ignored(notes)
    alike = _similar_raters(campaign, report.labels) if report.labels else []
    report.warnings = [*alike, *doubts, *notes.warnings, *report.warnings]
    report.skipped = notes.skipped
    return report


def _similar_raters(campaign: Campaign, names: Collection[str]) -> list[str]:
    """Return warnings about imported raters whose names nearly equal those of the campaign's."""
    in_campaign = Rater.objects.filter(assignments__item__campaign=campaign)
    there = in_campaign.order_by("name").values_list("name", flat=True).distinct()
    every = dict.fromkeys([*there, *names])
    groups = [group for group in similar(every) if not set(group).isdisjoint(names)]
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater__name__in=[name for group in groups for name in group],
    )
    given = Counter(labels.values_list("response__assignment__rater__name", flat=True))
    counts = {name: given[name] for group in groups for name in group}
    return list(similar_names("rater", counts))


class _Importer:
    """Import the groups of one file, caching look-ups between groups."""

    def __init__(
        self, campaign: Campaign, report: ImportReport, known: KnownItems, notes: ReadNotes
    ) -> None:
        self.campaign, self.report, self.known, self.notes = campaign, report, known, notes
        self.schema = schema(campaign)
        self.raters: dict[str, Rater] = {}
        self.firsts = FirstImports(campaign, self._note_written, self._import_again)

    def take(self, path: Path, groups: list[Group], progress: Callable[[int], None]) -> None:
        ordered = sorted(groups, key=lambda g: (self.known.position(g.item), g.order))
        units = recognise(lambda: self._with_texts(g for g in ordered if any(marks_in(g))))
        if units:
            found = f"the highlights are in their texts only if offsets count {units.name}"
            self.notes.warnings.append(f"{path}: {found}; they were read in this way")
        cuts = Tally(self.notes, "more highlights are cut inside a word")
        done = 0
        for several in self._by_item(ordered):
            items = [item for item, _ in several]
            self.firsts.look_up(items)
            for item, of_item in several:
                spec = present(item)
                texts = texts_by_field(spec)
                for group in of_item:
                    if units:
                        convert(group, texts, units)
                    for cut in fill_quotes(group, texts):
                        cuts.add(cut)
                    scopes = self.scopes.get((item.pk, group.rater, group.replicate), {})
                    for part in split_by_scope(group, scopes):
                        self._part(part, item, spec)
                    done += len(group.rows)
                    progress(done)
        self.firsts.flush()
        cuts.finish()

    def _by_item(self, ordered: Iterable[Group]) -> Iterator[list[tuple[Item, list[Group]]]]:
        """Yield `ITEMS` items at a time with their groups, once their texts are loaded."""
        keys = groupby(ordered, key=lambda group: group.item)
        by_item = ((self.known.item(key), list(of)) for key, of in keys)
        while several := list(islice(by_item, ITEMS)):
            preload(self.campaign, [item for item, _ in several])
            yield several

    def _with_texts(self, ordered: Iterable[Group]) -> Iterator[tuple[Group, Mapping[str, str]]]:
        for several in self._by_item(ordered):
            for item, of_item in several:
                texts = texts_by_field(present(item))
                yield from ((group, texts) for group in of_item)

    def _part(self, group: Group, item: Item, spec: ItemSpec) -> None:
        if self.firsts.is_first(group, item):
            self.firsts.add(self._first(group, item, spec))
        else:
            # In the order of the file, because warnings and merged answers depend on it.
            self.firsts.flush()
            self._group(group, item, spec)

    def _first(self, group: Group, item: Item, spec: ItemSpec) -> First:
        self._check_assisted(group, item.pk)
        asked = self.known.names(group.item)
        assignment = new_assignment(group, item, self._rater(group), asked)
        payload = group.payload()
        missing = _unanswered(group.missing(), payload)
        try:
            ready = prepare(assignment, payload, "import", spec, self.schema)
        except RefusedError as error:
            raise _refusal(group, error) from error
        return First(group, item, spec, (ready, _circumstances(group, payload, missing)))

    def _note_written(self, first: First) -> None:
        ready, _ = first.offer
        self._warn(first.group, ready.checked[2])
        self._count(first.group, changed=True)

    def _import_again(self, first: First) -> None:
        self._group(first.group, first.item, first.spec)

    def _group(self, group: Group, item: Item, spec: ItemSpec) -> None:
        assignment = self._assignment(group, item.pk)
        assignment.item = item
        if _is_imported(assignment, group):
            self._count(group, changed=False)
            return
        current = assignment.responses.filter(current=True).first()
        rule = self.schema.protocol.evidence
        stored = current.payload if current else None
        payload = merge_payloads(stored, group.payload(), rule.variable if rule else None)
        stored_reasons = self._reasons(assignment)
        missing = _unanswered(merge_reasons(stored_reasons, group.missing()), payload)
        answered = bool(group.values) and self._submit(assignment, group, payload, missing, spec)
        if not answered and missing != stored_reasons:
            self._keep(assignment, missing, group.seconds, failed=current is None)
        self._count(group, answered or missing != stored_reasons)

    def _submit(
        self,
        assignment: Assignment,
        group: Group,
        payload: Payload,
        missing: Reasons,
        spec: ItemSpec,
    ) -> bool:
        circumstances = _circumstances(group, payload, missing)
        try:
            outcome = submit(assignment, payload, "import", circumstances, spec, self.schema)
        except RefusedError as error:
            raise _refusal(group, error) from error
        if outcome.created:
            self._warn(group, outcome.warnings)
        return outcome.created

    def _warn(self, group: Group, warnings: Iterable[Problem]) -> None:
        self.report.warnings += [f"{group.place_of(w.unit)}: {w}" for w in warnings]

    def _reasons(self, assignment: Assignment) -> Reasons:
        kinds = self.known.kinds(assignment.item_id)
        asked = schema_for(self.campaign, assignment.rater.kind)
        return reasons(assignment, asked, {n: kinds[n] for n in assignment.asked})

    def _keep(
        self, assignment: Assignment, missing: Reasons, seconds: float | None, failed: bool
    ) -> None:
        assignment.missing = missing
        if failed:
            assignment.seconds = seconds
            reason = next(reason for each in missing.values() for reason in each.values())
            declined = reason == "declined"
            assignment.status, assignment.reason = "declined" if declined else "failed", reason
        assignment.save(update_fields=["missing", "status", "reason", "seconds"])

    def _count(self, group: Group, changed: bool) -> None:
        if not changed:
            self.report.unchanged += len(group.rows)
            return
        here = self.report.labels
        here[group.rater] = here.get(group.rater, 0) + len(group.values)
        self.report.missing += len(group.rows) - len(group.values)

    @cached_property
    def scopes(self) -> dict[tuple[int, str, int], dict[str, str]]:
        """For judges asked unit by unit: each unit's scope, keyed by item, rater and replicate."""
        found: dict[tuple[int, str, int], dict[str, str]] = {}
        scoped = Assignment.objects.filter(item__campaign=self.campaign).exclude(scope="")
        values = scoped.values_list("item", "rater__name", "replicate", "scope", "asked")
        for item, rater, replicate, scope, asked in values:
            found.setdefault((item, rater, replicate), {}).update(dict.fromkeys(asked, scope))
        return found

    @cached_property
    def assisted(self) -> dict[tuple[int, str, int], str]:
        """The judge that assisted each current answer, or "", by item, rater and replicate."""
        closed = Assignment.objects.filter(item__campaign=self.campaign).exclude(
            status__in=("open", "leased", "cancelled"), missing={}
        )
        values = closed.values_list("item", "rater__name", "replicate", "assisted_by")
        return {(item, rater, replicate): by for item, rater, replicate, by in values}

    @cached_property
    def revoked(self) -> set[str]:
        """The names of people who revoked their consent, whose answers no file brings back."""
        gone = Rater.objects.filter(pk__in=revoked_raters(self.campaign))
        return set(gone.values_list("name", flat=True))

    def _check_assisted(self, group: Group, item: int) -> None:
        if group.rater in self.revoked:
            wrong = f"rater {group.rater!r} revoked their consent to this campaign"
            raise InputError(group.place, wrong, "leave their labels out")
        before = self.assisted.get((item, group.rater, group.replicate))
        if before is not None and before != (group.assisted_by or ""):
            raise mixed(group.rows[0].row, f"{assistance(before)} in the campaign")

    def _assignment(self, group: Group, item: int) -> Assignment:
        self._check_assisted(group, item)
        asked = self.known.names(group.item)
        named = {row.name for row in group.rows} | group.written.keys()
        assignment, _ = Assignment.objects.get_or_create(
            item_id=item,
            rater=self._rater(group),
            replicate=group.replicate,
            scope=group.scope,
            defaults={"asked": []},
        )
        names = [name for name in asked if name in named or name in assignment.asked]
        by = group.assisted_by or ""
        if set(names) != set(assignment.asked) or by != assignment.assisted_by:
            assignment.asked, assignment.assisted_by = names, by
            assignment.save(update_fields=["asked", "assisted_by"])
        return assignment

    def _rater(self, group: Group) -> Rater:
        if group.rater not in self.raters:
            rater, _ = Rater.objects.get_or_create(
                name=group.rater, defaults={"kind": group.rater_kind}
            )
            self.raters[group.rater] = rater
        rater = self.raters[group.rater]
        if rater.kind != group.rater_kind:
            raise InputError(
                group.place,
                f"rater {rater.name!r} is of kind {rater.kind}, not {group.rater_kind}",
                "correct rater_kind, or give the rater another name",
            )
        return rater


def _circumstances(group: Group, payload: Payload, missing: Reasons) -> Circumstances:
    return Circumstances(
        seconds=group.seconds,
        revision=group.revision,
        created_at=moment(group.created_at) if group.created_at else None,
        details=details_of(payload),
        missing=missing,
        exposed=group.exposed,
    )


def _refusal(group: Group, error: RefusedError) -> InputError:
    first = error.problems[0]
    return InputError(group.place_of(first.unit), str(first), "correct the answer")


def _is_imported(assignment: Assignment, group: Group) -> bool:
    """Whether this revision was imported before. If so, later revisions stay current."""
    if group.revision is None:
        return False
    earlier = assignment.responses.filter(revision=group.revision, current=False).first()
    return earlier is not None and bool(earlier.payload == group.payload())


def _unanswered(missing: Reasons, payload: Payload) -> Reasons:
    """Return the missing reasons of units and variables without a label in the answer."""
    left = {
        name: {v: why for v, why in each.items() if payload["units"].get(name, {}).get(v) is None}
        for name, each in missing.items()
    }
    return {name: each for name, each in left.items() if each}


NAME = "labels"


def import_rows(
    rows: Sequence[dict[str, Any]],
    campaign: Campaign,
    rater: str | None = None,
    format: str = "labels",
    options: ImportOptions | None = None,
) -> ImportReport:
    """Import the objects of a file, such as rows of the labels format, in one transaction.

    Raises InputError with the object's number as the line.
    """
    with TemporaryDirectory(prefix="tandem-labels-") as folder:
        path = Path(folder, f"{NAME}.jsonl")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        try:
            report = import_labels(
                [path], campaign, rater, format, options=options, is_foreign=True
            )
        except InputError as error:
            raise InputError(Place(NAME, error.place.line), error.wrong, error.remedy) from error
        report.warnings = [each.replace(str(path), NAME) for each in report.warnings]
    return report


def _check_raters(groups: Sequence[Group]) -> None:
    """Refuse labels under the name of a person or judge who answers on this site."""
    taken = taken_names({group.rater for group in groups})
    wrong = [group.place for group in groups if group.rater in taken]
    if wrong:
        place = min(wrong, key=lambda place: place.line or 0)
        name = next(group.rater for group in groups if group.place == place)
        raise InputError(
            place,
            f"rater {name!r} answers on this site, and nobody else may answer under that name",
            "give the labels another rater",
        )


def taken_names(names: Iterable[str]) -> set[str]:
    """Return the names of raters with an account, an assigned item, or an answer given here."""
    asked = Assignment.objects.filter(rater=OuterRef("pk"))
    here = Response.objects.filter(assignment__rater=OuterRef("pk")).exclude(door="import")
    imported = Response.objects.filter(assignment=OuterRef("pk"), door="import")
    theirs = (
        Q(user__isnull=False)
        | Exists(asked.filter(slot__isnull=False).exclude(Exists(imported)))
        | Exists(asked.filter(status=Assignment.Status.LEASED))
        | Exists(here)
    )
    found = Rater.objects.filter(theirs, name__in=list(names))
    return set(found.values_list("name", flat=True))
