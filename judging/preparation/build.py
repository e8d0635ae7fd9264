"""From accepted answers to a new batch: its lines in the native format, with their origin.

A batch never changes. Each step creates another one, whose parts say in `meta` under `prepared`,
by step, who wrote them with which prompt in which run, and who accepted them.
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
from judging.preparation.review import unanswered, written


class UnreviewedError(ValueError):
    """Not every answer has been reviewed, or not everything was answered: which, what to do."""


class NothingLeftError(ValueError):
    """A step that leaves no query."""


@dataclass
class Built:
    """What became of the queries, beside the lines."""

    queries: int = 0
    left_out: list[str] = field(default_factory=list)


def numbers_of(step: Step, given: Mapping[str, float]) -> dict[str, float]:
    """A step's thresholds. Raises ValueError for one that it does not have."""
    if unknown := sorted(given.keys() - step.numbers.keys()):
        known = ", ".join(step.numbers) or "none"
        raise ValueError(f"{step.name} has no threshold {unknown[0]!r}, but {known}; mend it")
    return {**step.numbers, **given}


def accepted(
    step: Step, campaign: Campaign, author: Rater, partial: bool = False
) -> dict[str, list[Result]]:
    """The accepted answers of an author by the id of their query.

    Raises UnreviewedError where anything is open, unless a `partial` batch is wanted.
    """
    found: dict[str, list[Result]] = defaultdict(list)
    open_: Counter[str] = Counter(unanswered(campaign, author))
    for each in written(step, campaign, author):
        if each.review is None:
            open_["not reviewed"] += 1
        elif each.review.verdict != Review.Verdict.REJECTED:
            found[each.assignment.item.query.key].append(each.result())
    if open_ and not partial:
        told = ", ".join(f"{count} {what}" for what, count in sorted(open_.items()))
        raise UnreviewedError(
            f"{campaign} has answers that are missing: {told}; answer and review them, or build "
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
) -> tuple[Built, bool]:
    """Makes the new batch, and what became of the queries; whether it was there already.

    Its file is kept at `output` where that is given. Raises NothingLeftError and what loading does.
    """
    built = Built()
    with tempfile.TemporaryDirectory() as folder:
        path = output or Path(folder, "batch.jsonl")
        with path.open("w", encoding="utf-8") as file:
            for line in built_lines(step, batch, results, numbers, built):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        if not built.queries:
            raise NothingLeftError(f"step {step.name} leaves no query of {batch}; nothing was made")
        return built, load_batch([path], name, "native").unchanged


def built_lines(
    step: Step,
    batch: Batch,
    results: Mapping[str, list[Result]],
    numbers: Mapping[str, float],
    built: Built,
) -> Iterator[dict[str, Any]]:
    """The lines of the new batch; what became of the queries is counted in `built`."""
    for query in batch_rows(batch):
        made = step.apply(query, results.get(query.id, ()), numbers)
        if made is None:
            built.left_out.append(query.id)
        else:
            built.queries += 1
            yield as_line(keep_highest_numbers(query, made))


MOST_QUERIES = 2000
"""More than these take longer than a page should; the command has no such bound."""
