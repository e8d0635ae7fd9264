"""Split answers into sentences by rule, without an author.

The splitter is `datasets.text.sentences`, which also serves batches without sentences. Sentences
from the batch are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from annotation.preparation.base import PREPARED, Numbers, Result, Step
from datasets.text import sentences
from tandem.files import rows

BY_RULE = {"author": "rule", "rule": "datasets.text"}


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    return replace(query, reports=tuple(map(_split, query.reports)))


def _split(report: rows.Report) -> rows.Report:
    if report.sentences is not None:
        return report
    text, meta = report.text, dict(report.meta or {})
    found = tuple(text[start:end] for start, end in sentences(text))
    steps = {**meta.get(PREPARED, {}), "sentences": BY_RULE}
    return replace(report, sentences=found, meta={**meta, PREPARED: steps})


STEP = Step(
    "sentences",
    "Sentences of answers",
    "The sentences of each answer, by rule; nobody is asked.",
    apply,
)
