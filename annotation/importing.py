"""Labels made elsewhere: a file's rows, grouped by rater and item, through `submit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path

from django.db import transaction

from annotation.doors import Payload
from annotation.files import crux
from annotation.files.labels import read_labels
from annotation.files.responses import ResponseRow, looks_like_responses, read_responses
from annotation.grouping import (
    Group,
    check_groups,
    fill_quotes,
    group_rows,
    moment,
    split_by_scope,
)
from annotation.known import KnownItems
from annotation.merging import details_of, merged
from annotation.missing import Reasons, joined, reasons
from annotation.models import Assignment, Campaign, Rater
from annotation.presenting import present, schema, shown_texts
from annotation.protocols.base import ItemSpec
from annotation.protocols.checking import RefusedError
from annotation.submit import Circumstances, submit
from datasets.models import Question
from datasets.readers.jsonl import records
from datasets.rows import InputError, ReadNotes

FORMATS = ("labels", "crux", "responses")


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
            groups = _groups(path, known, rater, format or _recognise(path), notes)
            _Importer(campaign, report, known).take(groups, progress)
    report.warnings += notes.warnings
    report.skipped = notes.skipped
    return report


def _groups(
    path: Path, known: KnownItems, rater: str | None, format: str, notes: ReadNotes
) -> list[Group]:
    if format == "crux":
        texts = _questions(known.campaign)
        labels = crux.read_crux(path, rater or crux.rater_of(path), texts, notes)
        return group_rows(known.checked(labels))
    if format == "responses":
        return check_groups(_whole(response, known) for response in read_responses(path, rater))
    return group_rows(known.checked(read_labels(path, rater)))


def _whole(response: ResponseRow, known: KnownItems) -> Group:
    rows = list(known.checked(known.rows_of(response)))
    if not rows:
        raise InputError(response.place, "the response holds no label", "take the line out")
    group = Group(response.rater, response.item, response.replicate, response.revision, rows)
    group.comment = response.comment
    rule = known.schema.protocol.written
    for name, answer in response.units.items():
        if rule and answer.get(rule.name) is not None:
            group.written[name] = {rule.name: answer[rule.name]}
    return group


def _recognise(path: Path) -> str:
    if path.suffix.lower() == ".csv":
        return "labels"
    _, first = next(iter(records(path)))
    if crux.looks_like_crux(first):
        return "crux"
    return "responses" if looks_like_responses(first) else "labels"


def _questions(campaign: Campaign) -> crux.Texts:
    items = dict(campaign.items.values_list("key", "query_id"))
    texts: dict[int, dict[str, str]] = {}
    of_batch = Question.objects.filter(batch=campaign.batch_id)
    for query, key, text in of_batch.values_list("query_id", "key", "text"):
        texts.setdefault(query, {})[key] = text
    return lambda item: texts.get(items[item], {}) if item in items else {}


class _Importer:
    """Takes the groups of one file; what it remembers spares looking things up for each group."""

    def __init__(self, campaign: Campaign, report: ImportReport, known: KnownItems) -> None:
        self.campaign, self.report, self.known = campaign, report, known
        self.schema = schema(campaign)
        self.raters: dict[str, Rater] = {}

    def take(self, groups: Iterable[Group], progress: Callable[[int], None]) -> None:
        ordered = sorted(groups, key=lambda g: (self.known.position(g.item), g.order))
        done = 0
        for item_key, of_item in groupby(ordered, key=lambda g: g.item):
            item = self.known.item(item_key)
            spec = present(item)
            texts = shown_texts(spec)
            for group in of_item:
                fill_quotes(group, texts)
                scopes = self.scopes.get((item.pk, group.rater, group.replicate), {})
                for part in split_by_scope(group, scopes):
                    self._group(part, item.pk, spec)
                done += len(group.rows)
                progress(done)

    def _group(self, group: Group, item: int, spec: ItemSpec) -> None:
        assignment = self._assignment(group, item)
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
        circumstances = Circumstances(
            seconds=group.seconds,
            revision=group.revision,
            created_at=moment(group.created_at) if group.created_at else None,
            details=details_of(payload),
            missing=missing,
        )
        try:
            outcome = submit(assignment, payload, "import", circumstances, spec, self.schema)
        except RefusedError as error:
            first = error.problems[0]
            raise InputError(group.place_of(first.unit), str(first), "mend the answer") from error
        if outcome.created:
            self.report.warnings += [f"{group.place_of(w.unit)}: {w}" for w in outcome.warnings]
        return outcome.created

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

    def _assignment(self, group: Group, item: int) -> Assignment:
        asked = self.known.names(group.item)
        named = {row.name for row in group.rows}
        assignment, _ = Assignment.objects.get_or_create(
            item_id=item,
            rater=self._rater(group),
            replicate=group.replicate,
            scope=group.scope,
            defaults={"asked": [], "assisted_by": group.assisted_by or ""},
        )
        wanted = [name for name in asked if name in named or name in assignment.asked]
        if set(wanted) != set(assignment.asked):
            assignment.asked = wanted
            assignment.save(update_fields=["asked"])
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
