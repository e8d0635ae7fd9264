"""The lineage of derived batches: how each was created, its tree as text, and which are behind.

For each kind of lineage the setting `TANDEM_LINEAGE_READERS` names the function that reads the
derivation's labels again, since this app has no labels. A batch whose units have other digests now
is *behind*.

A lineage without labels is never behind. For any other, the last count is shown while a worker
counts again; before the first count there is no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.conf import settings
from django.core.cache import caches
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.module_loading import import_string

from datasets.derivation import RULE, UnitDigests
from datasets.models import Batch, LabelsRead, Lineage
from datasets.work import Options, Progress, Result, TooManyError, ask, results
from datasets.work.guard import for_workers
from datasets.work.requests import wait_for_job

DigestReader = Callable[[Lineage], tuple[str, Callable[[], UnitDigests]]]
"""Returns the state of all labels that a lineage is based on, and a function that reads them."""


BehindCounter = Callable[[Lineage], int | None]
"""Returns how many units a lineage is behind; None if that is not known yet."""


def lineage_of(batch: Batch) -> Lineage | None:
    """Return how a batch was derived, or None for a batch that was loaded."""
    return Lineage.objects.select_related("source", "batch", "by").filter(batch=batch).first()


def lineages_of(batch: Batch) -> list[Lineage]:
    """Return the lineages of a batch and of its sources, back to the batch that was loaded."""
    found: list[Lineage] = []
    while (lineage := lineage_of(found[-1].source if found else batch)) is not None:
        found.append(lineage)
    return found


def _labels_of(lineage: Lineage) -> tuple[str, Callable[[], UnitDigests]] | None:
    reader = settings.TANDEM_LINEAGE_READERS.get(lineage.kind)
    if reader is None or not lineage.labels:
        return None
    read: DigestReader = import_string(reader)
    return read(lineage)


def state_of_labels(lineage: Lineage) -> str | None:
    """Return a state that changes with every label behind the batch; None without labels."""
    found = _labels_of(lineage)
    return None if found is None else f"{lineage.labels}:{found[0]}"


@for_workers
def units_behind(lineage: Lineage) -> int:
    """Return how many units have other labels than when the batch was derived.

    The number is kept in the cache until labels change again.
    """
    labels = _labels_of(lineage)
    if labels is None:
        return 0
    state, again = labels
    key = f"lineage:{lineage.pk}:{lineage.labels}:{state}"
    cache = caches["reports"]
    found: int | None = cache.get(key)
    if found is None:
        found = _difference(lineage, again())
        cache.set(key, found)
    return found


def _difference(lineage: Lineage, now: UnitDigests) -> int:
    if now.hexdigest() == lineage.labels:
        return 0
    stored = LabelsRead.objects.filter(lineage=lineage).values_list("digests", flat=True).first()
    # NumPy finds the difference of few numbers in the machine's own byte order only.
    before = np.frombuffer(bytes(stored or b""), ">u8").astype(np.uint64)
    found = now.array().astype(np.uint64)
    new, gone = (
        len(np.setdiff1d(found, before, assume_unique=True)),
        len(np.setdiff1d(before, found, assume_unique=True)),
    )
    return max(new, gone, 1)


@dataclass(frozen=True)
class Ancestor:
    """A batch in a tree: its lineage (None if loaded), and how many units it is behind.

    `behind` is None while that is being counted.
    """

    batch: Batch
    depth: int
    lineage: Lineage | None
    behind: int | None


def ancestors(
    batch: Batch,
    readable: QuerySet[Batch] | None = None,
    behind: BehindCounter = units_behind,
) -> list[Ancestor]:
    """Return a batch and the batches that it was derived from, back to the one that was loaded.

    It ends before a batch that is not among the `readable` ones (None: all are). For pages and the
    API, a job counts how far batches are `behind` (`datasets.lineage`).
    """
    found: list[Ancestor] = []
    current: Batch | None = batch
    while current is not None:
        lineage = lineage_of(current)
        units = behind(lineage) if lineage else 0
        found.append(Ancestor(current, len(found), lineage, units))
        current = lineage.source if lineage else None
        if current and readable is not None and not readable.filter(pk=current.pk).exists():
            break
    return found


def as_tree(
    batch: Batch,
    readable: QuerySet[Batch] | None = None,
    behind: BehindCounter = units_behind,
) -> dict[str, Any]:
    """Return the lineage of a batch as JSON, down to the files or to what is not `readable`."""
    found: dict[str, Any] | None = None
    for each in reversed(ancestors(batch, readable, behind)):
        found = _node(each, found)
    assert found is not None
    return found


def _node(each: Ancestor, source: dict[str, Any] | None) -> dict[str, Any]:
    batch, lineage = each.batch, each.lineage
    node: dict[str, Any] = {
        "batch": batch.name,
        "digest": batch.digest,
        "queries": batch.counts.get("queries", 0),
        "created_at": batch.created_at.isoformat(),
    }
    if lineage is None:
        return node | {"format": batch.format, "files": batch.files}
    return node | {
        "kind": lineage.kind,
        "rule": lineage.rule,
        "rule_version": lineage.rule_version,
        "options": lineage.options,
        "campaigns": lineage.campaigns,
        "decided_by": lineage.decided_by or None,
        "ties": lineage.ties or None,
        "labels": lineage.labels or None,
        "files": lineage.files,
        **lineage.counts,
        "facts": lineage.facts,
        "by": lineage.by.get_username() if lineage.by else None,
        "derived_at": lineage.created_at.isoformat(),
        "version": lineage.version,
        "behind": each.behind,
        "source": source,
    }


def tree_lines(batch: Batch) -> Iterator[str]:
    """Yield the lineage of a batch as lines: below each batch, the one it was derived from."""
    for each in ancestors(batch):
        indent = "   " * each.depth
        yield f"{indent}{'└─ ' if each.depth else ''}{_heading(each)}"
        for line in _details(each):
            yield f"{indent}{'   ' if each.depth else ''}  {line}"


def _heading(each: Ancestor) -> str:
    queries = each.batch.counts.get("queries", 0)
    return f"{each.batch.name} ({queries} {'query' if queries == 1 else 'queries'})"


def _details(each: Ancestor) -> Iterator[str]:
    lineage = each.lineage
    files = each.batch.files if lineage is None else lineage.files
    if lineage is None:
        yield f"loaded from {each.batch.format} on {each.batch.created_at:%Y-%m-%d}"
    else:
        yield f"{summary(lineage)} on {lineage.created_at:%Y-%m-%d}, Tandem {lineage.version}"
        yield from count_lines(lineage.counts)
    if each.behind:
        yield describe_behind(each.behind)
    for file in files:
        yield f"file {file['name']} sha256 {file['sha256'][:12]}"


def summary(lineage: Lineage) -> str:
    """Return how a batch was derived, as one line."""
    words = f"by {lineage.rule} (version {lineage.rule_version})"
    if names := ", ".join(each["name"] for each in lineage.campaigns):
        words += f" from {names}"
    if lineage.decided_by:
        words += f", decided by {lineage.decided_by}"
    if lineage.by:
        words += f", by {lineage.by.get_username()}"
    return words


def count_lines(counts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was kept and dropped, in words."""
    if kept := counts.get("kept"):
        yield "kept " + ", ".join(f"{number} {what}" for what, number in kept.items())
    for what, reasons in counts.get("dropped", {}).items():
        by_reason = ", ".join(f"{reason} {number}" for reason, number in reasons.items())
        yield f"left out {sum(reasons.values())} {what}: {by_reason}"
    if undecided := counts.get("undecided"):
        yield "undecided: " + ", ".join(f"{what} {number}" for what, number in undecided.items())


def describe_behind(units: int) -> str:
    what = "1 unit has" if units == 1 else f"{units} units have"
    return f"behind: {what} other labels since; derive again under a new name"


def derive_again_address(lineage: Lineage) -> str:
    """Return the address of the filled-in form that derives a batch again; empty for a step."""
    if lineage.kind != RULE:
        return ""
    given = [
        ("rule", lineage.rule),
        *(("from", each["name"]) for each in lineage.campaigns),
        ("decided_by", lineage.decided_by),
        ("ties", lineage.ties),
        *((f"set_{name}", value) for name, value in lineage.options.items()),
    ]
    return f"{reverse('batch-derive', args=[lineage.source_id])}?{urlencode(given)}"


BEHIND = "behind"


def behind_for(user: Any, wait: bool = False) -> Callable[[Lineage], int | None]:
    """Return a function that tells how many units a lineage is behind; None if unknown.

    With `wait` it waits a moment for a worker to count.
    """

    def units_behind_of(lineage: Lineage) -> int | None:
        if state_of_labels(lineage) is None:
            return 0
        try:
            asked = ask(BEHIND, {"lineage": lineage.pk}, user)
        except TooManyError:
            return None
        done = asked.last
        if wait and not asked.is_current and wait_for_job(asked.job).state == "done":
            done = asked.job
        try:
            return int(results.value(done)) if done else None
        except results.GoneError:
            return None

    return units_behind_of


def state(options: Options) -> Any:
    return state_of_labels(Lineage.objects.get(pk=options["lineage"]))


def carry_out(options: Options, progress: Progress) -> Result:
    found = Lineage.objects.select_related("source", "batch").get(pk=options["lineage"])
    return Result.of(units_behind(found))
