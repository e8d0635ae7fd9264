"""The inputs from a campaign by its protocol: a line for each, and what protocols declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from analysis.evaluation.answers import (
    deflected_in,
    deflecting_parts,
    preference_parts,
    rated_parts,
    written_parts,
)
from analysis.evaluation.declared import declared_parts
from analysis.evaluation.inputs import AskedContent, Part
from analysis.evaluation.key_points import answer_point_parts, point_parts, verified_parts
from analysis.evaluation.layout import Layout
from analysis.evaluation.passages import PassageRatings, context_parts, ranking_parts, report_parts
from tandem.files.rows import Query
from tandem.labels.frame import Frame
from tandem.scores.options import Options, tokenizer

Parting = Callable[
    [Sequence[Query], Frame, Options, AskedContent, PassageRatings | None, Layout, Frame | None],
    Iterable[Part],
]


def _contexts(
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    asked: AskedContent,
    passages: PassageRatings | None,
    layout: Layout,
    *_: object,
) -> Iterator[Part]:
    if ratings := frame.variables.get("rating"):
        yield from context_parts(layout, ratings, options, tokenizer(options.tokenizer))


def _rated(
    queries: Sequence[Query], frame: Frame, options: Options, asked: AskedContent, *_: object
) -> Iterable[Part]:
    return rated_parts(queries, frame, asked.bare)


def _reports(
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    asked: AskedContent,
    passages: PassageRatings | None,
    *_: object,
) -> Iterable[Part]:
    counted = passages.counted_questions(options) if passages and options.filtered else None
    return report_parts(queries, frame, options, counted)


def _points(
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    asked: AskedContent,
    passages: PassageRatings | None,
    layout: Layout,
    points: Frame | None,
) -> Iterable[Part]:
    return point_parts(queries, frame, points)


def _verified(
    queries: Sequence[Query], frame: Frame, options: Options, asked: AskedContent, *_: object
) -> Iterable[Part]:
    of_answers = asked.reading == "answers"
    return (answer_point_parts if of_answers else verified_parts)(queries, frame)


PARTINGS: dict[str, Parting] = {
    "rubric-passage": _contexts,
    "report-coverage": _reports,
    "key-point-recall": _points,
    "key-point-verification": _verified,
    "answer-rating": _rated,
    "grounded-answer": lambda queries, frame, *_: deflecting_parts(queries, frame),
    "answer-preference": lambda queries, frame, *_: preference_parts(queries, frame),
}


def parts_of(
    asked: AskedContent,
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    passages: PassageRatings | None,
    layout: Layout,
    points: Frame | None = None,
) -> Iterator[Part]:
    """Yield all inputs from a campaign: from its labels, and from its batch alone.

    `points` are labels of the points of reports, from another campaign.
    """
    if parting := PARTINGS.get(asked.protocol):
        yield from parting(queries, frame, options, asked, passages, layout, points)
    if asked.declared:
        yield from declared_parts(queries, frame, asked.declared, options)
    yield from ranking_parts(layout, options)
    yield from written_parts(queries, options, deflected_in(queries, frame, asked.protocol))


def batch_parts(queries: Sequence[Query], layout: Layout, options: Options) -> Iterator[Part]:
    """Yield the inputs from a batch without labels."""
    yield from ranking_parts(layout, options)
    yield from written_parts(queries, options, {})
