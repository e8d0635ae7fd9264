"""Build a new batch from accepted answers: its lines in the native format, with their origin.

A batch never changes. Each step creates another batch, whose `meta` says under `prepared`, by step,
who wrote each part, with which prompt and in which run, and who accepted it.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.models import Campaign, Rater
from annotation.preparation.base import Result, Step, keep_highest_numbers
from datasets.loading import load_batch
from datasets.material import as_line, batch_rows
from datasets.models import Batch
from judging.models import Review
from judging.preparation.review import authored_answers, count_unanswered


class UnreviewedError(ValueError):
    """Answers or reviews are missing. The message says which, and what to do."""


class NothingLeftError(ValueError):
    """The step would leave no query."""


@dataclass
class BuildCounts:
    """How many queries the new batch has, and which were left out."""

    queries: int = 0
    left_out: list[str] = field(default_factory=list)


def read_thresholds(step: Step, numbers: Mapping[str, float]) -> dict[str, float]:
    """Return a step's thresholds. Raises ValueError for one that it does not have."""
    if unknown := sorted(numbers.keys() - step.numbers.keys()):
        known = ", ".join(step.numbers) or "none"
        raise ValueError(f"{step.name} has no threshold {unknown[0]!r}; it has {known}; correct it")
    return {**step.numbers, **numbers}


def accepted_results(
    step: Step, campaign: Campaign, author: Rater, partial: bool = False
) -> dict[str, list[Result]]:
    """Return the accepted answers of an author by the id of their query.

    Raises UnreviewedError if anything is open, unless the batch may be `partial`.
    """
    found: dict[str, list[Result]] = defaultdict(list)
    open_: Counter[str] = Counter(count_unanswered(campaign, author))
    for each in authored_answers(step, campaign, author):
        if each.review is None:
            open_["not reviewed"] += 1
        elif each.review.verdict != Review.Verdict.REJECTED:
            found[each.assignment.item.query.key].append(each.result())
    if open_ and not partial:
        reasons = ", ".join(f"{count} {what}" for what, count in sorted(open_.items()))
        raise UnreviewedError(
            f"{campaign} has answers that are missing: {reasons}; answer and review them, or build "
            "a partial batch"
        )
    return found


def build(
    step: Step,
    batch: Batch,
    results: Mapping[str, list[Result]],
    numbers: Mapping[str, float],
    name: str,
    output: Path | None = None,
) -> tuple[BuildCounts, bool]:
    """Create the new batch. Return the counts, and whether the batch already existed.

    Its file is stored as `output` if that is given. Raises NothingLeftError and the errors of
    loading.
    """
    built = BuildCounts()
    with tempfile.TemporaryDirectory() as folder:
        path = output or Path(folder, "batch.jsonl")
        with path.open("w", encoding="utf-8") as file:
            for line in new_batch_lines(step, batch, results, numbers, built):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        if not built.queries:
            raise NothingLeftError(
                f"step {step.name} leaves no query of {batch}; no batch was created"
            )
        return built, load_batch([path], name, "native").unchanged


def new_batch_lines(
    step: Step,
    batch: Batch,
    results: Mapping[str, list[Result]],
    numbers: Mapping[str, float],
    built: BuildCounts,
) -> Iterator[dict[str, Any]]:
    """Yield the lines of the new batch, and count the queries in `built`."""
    for query in batch_rows(batch):
        prepared = step.apply(query, results.get(query.id, ()), numbers)
        if prepared is None:
            built.left_out.append(query.id)
        else:
            built.queries += 1
            yield as_line(keep_highest_numbers(query, prepared))


MOST_QUERIES = 2000
"""Larger batches take too long for a page. The command has no such limit."""
