"""A small fixed cast: Ada, Bram and Chidi label reports, and a judge that may fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tandem.labels.facts import LabelFact, Scale
from tandem.labels.frame import Frame, make_frame
from tandem.labels.people_sample import PeopleSample
from tandem.labels.resampling import Sample

YES_NO = Scale(("yes", "no"), "nominal", ("invalid",))
RATING = Scale(tuple("012345"), "ordinal")
JUDGE = "model"


def fact(
    item: str, unit: str, rater: str, value: str | None, variable: str = "answerable", **more: Any
) -> LabelFact:
    """A label; the query's name is the item's, and the rater is a person unless it is the judge."""
    facts: dict[str, Any] = {
        "kind": "question",
        "missing": None,
        "rater_kind": "judge" if rater == JUDGE else "human",
        "replicate": 0,
        "query": item,
        "system": None,
        "setting": None,
        "assisted_by": None,
    }
    return LabelFact(
        item=item, unit=unit, rater=rater, value=value, variable=variable, **{**facts, **more}
    )


def table(rows: dict[str, str], variable: str = "answerable", **more: Any) -> list[LabelFact]:
    """Labels from a string for each rater, with one character per unit: `.` none, `?` an escape.

    Unit n belongs to item and query n // 2, so that each query has two units.
    """
    codes = {"y": "yes", "n": "no", "?": "invalid", ".": None}
    return [
        fact(f"r{n // 2}", f"q{n}", rater, codes.get(code, code), variable, **more)
        for rater, column in rows.items()
        for n, code in enumerate(column)
        if code != "."
    ]


def frame_of(facts: Iterable[LabelFact], **scales: Scale) -> Frame:
    return make_frame(facts, {"answerable": YES_NO, "rating": RATING, **scales})


def sample_of(frame: Frame, variable: str = "answerable", resamples: int = 200) -> Sample:
    return Sample(frame.variables[variable], resamples, seed=0)


def labelled_sample(frame: Frame, variable: str = "answerable") -> PeopleSample:
    """The queries that people labelled, as a finished sample."""
    if variable not in frame.variables:
        return PeopleSample(frozenset())
    labels = frame.variables[variable]
    items = labels.units.item[(labels.codes_of("human") >= 0).any(axis=1)]
    return PeopleSample(frozenset(frame.items[n].query for n in items))
