"""Labels made elsewhere: a file's rows, grouped by rater and item, through `submit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path

from django.db import transaction

from annotation.doors import Payload
from annotation.first_imports import First, FirstImports, new_assignment
from annotation.grouping import Group, assistance, fill_quotes, mixed, moment, split_by_scope
from annotation.known import KnownItems
from annotation.merging import details_of, merged
from annotation.missing import Reasons, joined, reasons
from annotation.models import Assignment, Campaign, Item, Rater
from annotation.presenting import bring, present, schema, shown_texts
from annotation.protocols.base import ItemSpec
from annotation.protocols.checking import Problem, RefusedError
from annotation.rationales import misplaced
from annotation.reading import read_groups
from annotation.submit import Circumstances, prepare, submit
from audit.recording import record
from datasets.rows import InputError, ReadNotes

ITEMS = 100
"""So many items are looked up at once, and what is new of them is written at once."""
FORMATS = ("labels", "crux", "clapnq", "label-studio", "responses")


@dataclass
class ImportReport:
    """What became of the files: labels by rater, and what was doubted."""

    labels: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    unchanged: int = 0
    warnings: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)


def import_labels(
    paths: Sequence[Path],
    campaign: Campaign,
    rater: str | None = None,
    format: str | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> ImportReport:
    """Loads label files into a campaign, all or nothing. Raises InputError."""
    notes, report = ReadNotes(), ImportReport()
    known = KnownItems(campaign)
    with transaction.atomic():
        for path in paths:
            groups = read_groups(path, known, rater, format, notes)
            _Importer(campaign, report, known).take(groups, progress)
        if changed := sum(report.labels.values()) + report.missing:
            record("labels.imported", campaign.pk, campaign, labels=changed)
    doubts = [str(each) for each in misplaced(campaign, report.labels)] if report.labels else []
    report.warnings = doubts + notes.warnings + report.warnings
    report.skipped = notes.skipped
    return report


class _Importer:
    """Takes the groups of one file; what it remembers spares looking things up for each group."""

    def __init__(self, campaign: Campaign, report: ImportReport, known: KnownItems) -> None:
        self.campaign, self.report, self.known = campaign, report, known
        self.schema = schema(campaign)
        self.raters: dict[str, Rater] = {}
        self.firsts = FirstImports(campaign, self._written, self._again)

    def take(self, groups: Iterable[Group], progress: Callable[[int], None]) -> None:
        ordered = sorted(groups, key=lambda g: (self.known.position(g.item), g.order))
        done = 0
        by_item = ((key, list(of)) for key, of in groupby(ordered, key=lambda g: g.item))
        while several := list(islice(by_item, ITEMS)):
            items = [self.known.item(key) for key, _ in several]
            bring(self.campaign, items)
            self.firsts.look_up(items)
            for item, (_, of_item) in zip(items, several, strict=True):
                spec = present(item)
                texts = shown_texts(spec)
                for group in of_item:
                    fill_quotes(group, texts)
                    scopes = self.scopes.get((item.pk, group.rater, group.replicate), {})
                    for part in split_by_scope(group, scopes):
                        self._part(part, item, spec)
                    done += len(group.rows)
                    progress(done)
        self.firsts.flush()

    def _part(self, group: Group, item: Item, spec: ItemSpec) -> None:
        if self.firsts.is_first(group, item):
            self.firsts.add(self._first(group, item, spec))
        else:
            # In the order of the file's groups, as warnings and what stands hang on it.
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

    def _written(self, first: First) -> None:
        ready, _ = first.offer
        self._warn(first.group, ready.checked[2])
        self._count(first.group, changed=True)

    def _again(self, first: First) -> None:
        self._group(first.group, first.item, first.spec)

    def _group(self, group: Group, item: Item, spec: ItemSpec) -> None:
        assignment = self._assignment(group, item.pk)
        assignment.item = item
        if _stands_already(assignment, group):
            self._count(group, changed=False)
            return
        current = assignment.responses.filter(current=True).first()
        rule = self.schema.protocol.evidence
        stands = current.payload if current else None
        payload = merged(stands, group.payload(), rule.variable if rule else None)
        told = self._reasons(assignment)
        missing = _unanswered(joined(told, group.missing()), payload)
        answered = bool(group.values) and self._submit(assignment, group, payload, missing, spec)
        if not answered and missing != told:
            self._keep(assignment, missing, group.seconds, failed=current is None)
        self._count(group, answered or missing != told)

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
        return reasons(assignment, self.schema, {n: kinds[n] for n in assignment.asked})

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
        """Where a judge works unit by unit: the scope of each unit, by item, rater, replicate."""
        found: dict[tuple[int, str, int], dict[str, str]] = {}
        scoped = Assignment.objects.filter(item__campaign=self.campaign).exclude(scope="")
        values = scoped.values_list("item", "rater__name", "replicate", "scope", "asked")
        for item, rater, replicate, scope, asked in values:
            found.setdefault((item, rater, replicate), {}).update(dict.fromkeys(asked, scope))
        return found

    @cached_property
    def assisted(self) -> dict[tuple[int, str, int], str]:
        """Who assisted the answers that stand, by item, rater, replicate; nobody is empty."""
        closed = Assignment.objects.filter(item__campaign=self.campaign).exclude(
            status__in=("open", "leased", "cancelled"), missing={}
        )
        values = closed.values_list("item", "rater__name", "replicate", "assisted_by")
        return {(item, rater, replicate): by for item, rater, replicate, by in values}

    def _check_assisted(self, group: Group, item: int) -> None:
        stands = self.assisted.get((item, group.rater, group.replicate))
        if stands is not None and stands != (group.assisted_by or ""):
            raise mixed(group.rows[0].row, f"{assistance(stands)} in the campaign")

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
        wanted = [name for name in asked if name in named or name in assignment.asked]
        by = group.assisted_by or ""
        if set(wanted) != set(assignment.asked) or by != assignment.assisted_by:
            assignment.asked, assignment.assisted_by = wanted, by
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
                "mend rater_kind, or give the rater another name",
            )
        return rater


def _circumstances(group: Group, payload: Payload, missing: Reasons) -> Circumstances:
    return Circumstances(
        seconds=group.seconds,
        revision=group.revision,
        created_at=moment(group.created_at) if group.created_at else None,
        details=details_of(payload),
        missing=missing,
    )


def _refusal(group: Group, error: RefusedError) -> InputError:
    first = error.problems[0]
    return InputError(group.place_of(first.unit), str(first), "mend the answer")


def _stands_already(assignment: Assignment, group: Group) -> bool:
    """Whether this very revision was loaded before, so that later ones stay the current ones."""
    if group.revision is None:
        return False
    there = assignment.responses.filter(revision=group.revision, current=False).first()
    return there is not None and bool(there.payload == group.payload())


def _unanswered(missing: Reasons, payload: Payload) -> Reasons:
    """The reasons of what the answer does not hold."""
    left = {
        name: {v: why for v, why in each.items() if payload["units"].get(name, {}).get(v) is None}
        for name, each in missing.items()
    }
    return {name: each for name, each in left.items() if each}
