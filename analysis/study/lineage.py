"""Batches of a study that were made from others: whether they are as the file says, and current."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.study.file import StudyFile
from analysis.study.parts import Part, Stage
from datasets.lineage import describe_behind, lineage_of, units_behind
from datasets.models import Batch, Lineage


def behind(batch: Batch) -> str:
    """Describe label changes since a batch was derived. Empty if there are none."""
    lineage = lineage_of(batch)
    units = units_behind(lineage) if lineage else 0
    return f"batch {batch.name!r} is {describe_behind(units)}" if units else ""


def derived_stage(file: StudyFile, part: Part, batch: Batch, expected: Mapping[str, Any]) -> Stage:
    """Return the stage of a batch that exists. Raises InputError.

    `expected` has the facts of its lineage by the part's keys, as the file says them. A batch that
    was made in a different way is rejected.
    """
    lineage = lineage_of(batch)
    there = _facts(lineage) if lineage else {}
    for key, now in expected.items():
        before = there[key] if there else "none: it was loaded"
        if before != now:
            how = "build" if part.command == "build_batch" else "derive"
            raise file.error(
                part,
                f"batch {part.name!r} is there, and its {key} is {before!r} and not {now!r}",
                f"a batch never changes: write it as it was, or {how} [batch.{part.name}-2]",
                key,
            )
    counts = dict(batch.counts) | ({"lineage": lineage.counts} if lineage else {})
    return Stage(part, exists=True, behind=behind(batch), counts=counts)


def _facts(lineage: Lineage) -> dict[str, Any]:
    return {
        "rule": lineage.rule,
        "step": lineage.rule,
        "batch": lineage.source.name,
        "from": [each["name"] for each in lineage.campaigns],
        "set": lineage.options,
        "decided_by": lineage.decided_by,
        "judge": lineage.decided_by,
        "ties": lineage.ties,
    }
