"""Stored queries as rows again: for exports, for campaigns, and for what a rater is shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import QuerySet, prefetch_related_objects

from datasets import models, rows

PARTS = ("questions", "groundings", "keypoints", "reports", "rankings")
_NEEDS = {
    "questions": "questions",
    "passages": "groundings__passage",
    "key_points": "keypoints__passage",
    "reports": "reports",
    "rankings": "rankings",
}
ALL = tuple(_NEEDS)


def as_row(query: models.Query, needs: Collection[str] = ALL) -> rows.Query:
    """One stored query as a row, with the parts that are needed."""
    prefetch_related_objects([query], *(_NEEDS[need] for need in needs))
    return _row(query, needs)


def batch_rows(batch: models.Batch, needs: Collection[str] = ALL) -> Iterator[rows.Query]:
    """All queries of a batch in their order, a few at a time."""
    for query in stored_queries(batch, needs):
        yield _row(query, needs)


def stored_queries(batch: models.Batch, needs: Collection[str] = ALL) -> Iterator[models.Query]:
    queries: QuerySet[models.Query] = batch.queries.prefetch_related(*(_NEEDS[n] for n in needs))
    yield from queries.iterator(chunk_size=100)


def _row(query: models.Query, needs: Collection[str]) -> rows.Query:
    return rows.Query(
        id=query.key,
        text=query.text,
        asked_at=query.asked_at,
        questions=tuple(map(_question, query.questions.all())) if "questions" in needs else (),
        passages=tuple(map(_passage, query.groundings.all())) if "passages" in needs else (),
        key_points=tuple(map(_key_point, query.keypoints.all())) if "key_points" in needs else (),
        reports=tuple(map(report_row, query.reports.all())) if "reports" in needs else (),
        rankings=tuple(map(_ranking, query.rankings.all())) if "rankings" in needs else (),
        references=tuple(map(_reference, query.references)),
        meta=query.meta,
    )


def _texts(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _question(question: models.Question) -> rows.Question:
    return rows.Question(question.key, question.text, question.weight, question.meta)


def _passage(grounding: models.Grounding) -> rows.Passage:
    return rows.Passage(
        id=grounding.passage.key,
        text=grounding.passage.text,
        title=grounding.title,
        source=grounding.source,
        published_at=grounding.published_at,
        age=grounding.age,
        sentences=_texts(grounding.sentences),
        relevant=grounding.relevant,
        meta=grounding.meta,
    )


def _key_point(point: models.KeyPoint) -> rows.KeyPoint:
    return rows.KeyPoint(
        point.key, point.text, point.passage.key, _texts(point.spans), point.score, point.meta
    )


def report_row(report: models.Report) -> rows.Report:
    return rows.Report(
        id=report.key,
        text=report.text,
        system=report.system,
        setting=report.setting,
        context=_texts(report.context),
        citations=_texts(report.citations),
        sentences=_texts(report.sentences),
        deflected=report.deflected,
        meta=report.meta,
    )


def _ranking(ranking: models.Ranking) -> rows.Ranking:
    return rows.Ranking(ranking.system, tuple(ranking.passages))


def _reference(reference: dict[str, Any]) -> rows.Reference:
    return rows.Reference(
        reference["text"],
        _texts(reference.get("citations")),
        reference.get("deflected"),
        reference.get("meta"),
    )
