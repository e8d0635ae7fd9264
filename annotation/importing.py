"""Labels made elsewhere: a file's rows, grouped by rater and item, through `submit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.files import crux
from annotation.files.labels import read_labels
from annotation.files.responses import ResponseRow, looks_like_responses, read_responses
from annotation.grouping import Group, group_rows, moment
from annotation.known import KnownItems
from annotation.models import Assignment, Campaign, Rater
from annotation.presenting import present, schema
from annotation.protocols.schema import EVIDENCE_KEY
from annotation.submit import Circumstances, Detail, submit
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
        return [_whole(response, known) for response in read_responses(path, rater)]
    return group_rows(known.checked(read_labels(path, rater)))


def _whole(response: ResponseRow, known: KnownItems) -> Group:
    rows = list(known.checked(known.rows_of(response)))
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
            for group in of_item:
                self._group(group, item.pk, spec)
                done += len(group.rows)
                progress(done)

    def _group(self, group: Group, item: int, spec: Any) -> None:
        assignment = self._assignment(group, item)
        if _stands_already(assignment, group):
            self._count(group, changed=False)
            return
        payload = _merged(assignment, group.payload())
        missing = {**assignment.missing, **group.missing()}
        if group.values:
            outcome = submit(
                assignment,
                payload,
                "import",
                Circumstances(
                    seconds=group.seconds,
                    revision=group.revision,
                    created_at=moment(group.created_at) if group.created_at else None,
                    details=_details(payload),
                    missing=missing,
                ),
                spec,
                self.schema,
            )
            self._count(group, outcome.created or missing != assignment.missing)
            self.report.warnings += [
                f"{group.place_of(w.unit)}: {w}" for w in outcome.warnings if outcome.created
            ]
        else:
            self._miss(group, assignment, missing)

    def _miss(
        self, group: Group, assignment: Assignment, missing: dict[str, dict[str, str]]
    ) -> None:
        self._count(group, missing != assignment.missing)
        assignment.missing = missing
        if not assignment.responses.exists():
            first = next(iter(group.missing().values()))
            assignment.status, assignment.reason = "failed", next(iter(first.values()))
        assignment.save(update_fields=["missing", "status", "reason"])

    def _count(self, group: Group, changed: bool) -> None:
        if not changed:
            self.report.unchanged += len(group.rows)
            return
        here = self.report.labels
        here[group.rater] = here.get(group.rater, 0) + len(group.values)
        self.report.missing += len(group.rows) - len(group.values)

    def _assignment(self, group: Group, item: int) -> Assignment:
        asked = self.known.names(group.item)
        named = {row.name for row in group.rows}
        assignment, _ = Assignment.objects.get_or_create(
            item_id=item,
            rater=self._rater(group),
            replicate=group.replicate,
            scope="",
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


def _merged(assignment: Assignment, payload: dict[str, Any]) -> dict[str, Any]:
    """A payload over the answers that stand, so that two files may hold parts of one item."""
    current = assignment.responses.filter(current=True).first()
    if current is None:
        return payload
    units = {name: dict(answer) for name, answer in current.payload["units"].items()}
    for name, answer in payload["units"].items():
        units[name] = _with_quotes(units.get(name, {}), answer)
    details = {**current.payload.get("details", {}), **payload.get("details", {})}
    merged = {**current.payload, "units": units}
    if payload["comment"]:
        merged["comment"] = payload["comment"]
    return {**merged, "details": details} if details else merged


def _with_quotes(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    quotes = [q for q in old.get(EVIDENCE_KEY) or () if q.get("variable") not in new]
    if quotes or new.get(EVIDENCE_KEY):
        return {**old, **new, EVIDENCE_KEY: quotes + list(new.get(EVIDENCE_KEY) or ())}
    return {**old, **new}


def _details(payload: dict[str, Any]) -> dict[tuple[str, str], Detail]:
    return {
        (name, variable): Detail(detail.get("score"), detail.get("meta"))
        for name, variables in payload.get("details", {}).items()
        for variable, detail in variables.items()
    }
