"""The registry of exports: what makes the lines of each, its columns, and its forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from annotation import label_rows
from annotation.exports import references, rows
from annotation.exports.label_studio import label_studio
from annotation.exports.qrels import (
    NoGradesError,
    diversity_qrels,
    graded_qrels,
    grades_of,
    qrels,
)
from annotation.exports.web_annotations import web_annotations
from annotation.imports import responses as response_rows
from annotation.models import Campaign

Line = dict[str, Any]

TABLE = ("jsonl", "csv", "parquet")
QRELS = ("query", "subtopic", "passage", "grade")
_UNITS = ("item", "unit", "kind", "query", "system", "variables", "texts")
_SPANS = (
    "item",
    "unit",
    "kind",
    "variable",
    "value",
    "rater",
    "rater_kind",
    "replicate",
    "field",
    "start",
    "end",
    "text",
)
_BATCH = (
    "id",
    "text",
    "asked_at",
    "questions",
    "passages",
    "key_points",
    "reports",
    "rankings",
    "references",
    "meta",
)
_ANNOTATION = ("@context", "id", "type", "motivation", "created", "creator", "body", "target")
_TASK = ("id", "data", "meta", "annotations", "predictions")


@dataclass(frozen=True)
class Export:
    """`lines` may raise NoGradesError; `row` says in words what a line is.

    The first of `forms` is what comes unless another is named. `tells_answers` is True for what
    tells others' answers, or which system wrote what is judged: it waits for one's own answer.
    """

    row: str
    lines: Callable[[Campaign], Iterator[Line]]
    columns: tuple[str, ...]
    forms: tuple[str, ...] = TABLE
    tells_answers: bool = True

    @property
    def is_table(self) -> bool:
        return set(TABLE) <= set(self.forms)


EXPORTS: dict[str, Export] = {
    "units": Export(
        "one unit that is asked, by its keys, with the texts that spans may refer to; the words of "
        "questions and the rest are in the batch",
        rows.units,
        _UNITS,
    ),
    "labels": Export(
        "one label, or one missing label, by one rater", rows.labels, label_rows.COLUMNS
    ),
    "responses": Export(
        "one rater's whole answer to one item, with what was written",
        rows.responses,
        response_rows.COLUMNS,
    ),
    "spans": Export("one highlight, with the label that it stands for", rows.spans, _SPANS),
    "references": Export(
        "one label that an adjudicator decided, with the reason",
        references.references,
        references.COLUMNS,
    ),
    "qrels": Export(
        "one graded passage, by subtopic where the protocol has any", qrels, QRELS, ("trec", *TABLE)
    ),
    "qrels-graded": Export(
        "one graded passage, subtopic 0; of several subtopics the best grade",
        graded_qrels,
        QRELS,
        ("trec", *TABLE),
    ),
    "qrels-diversity": Export(
        "one graded passage for one subtopic", diversity_qrels, QRELS, ("trec", *TABLE)
    ),
    "web-annotations": Export(
        "one highlight, as an annotation of the W3C's model",
        web_annotations,
        _ANNOTATION,
        ("jsonld", "jsonl"),
    ),
    "label-studio": Export(
        "one unit as a task of Label Studio, with what all raters said of it",
        label_studio,
        _TASK,
        ("json", "jsonl"),
    ),
    "batch": Export("one query, in the native format", rows.batch, _BATCH, tells_answers=False),
}


def exports_of(campaign: Campaign) -> dict[str, Export]:
    """The exports that a campaign has; those of qrels only where it grades passages."""
    try:
        graded = grades_of(campaign)
    except NoGradesError:
        return {name: each for name, each in EXPORTS.items() if not name.startswith("qrels")}
    if graded.subtopics:
        return EXPORTS
    return {name: each for name, each in EXPORTS.items() if name != "qrels-diversity"}
