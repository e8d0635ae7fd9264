"""A nugget bank from key points (TREC): what was extracted, reviewed and merged.

A judge writes key points by the steps of the preparation, and people edit and merge them there. A
nugget keeps the identifier of its key point. Its sources are the passages of all points that were
merged into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from annotation.derivation.base import Rule, Work
from tandem.files import rows

SOURCES = "sources"
"""The key of a merged point's meta that lists the points that it comes from."""


class NuggetBank(Work):
    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        nuggets = tuple(_nugget(point) for point in query.key_points)
        self.tally.keep("queries")
        self.tally.keep("nuggets", len(nuggets))
        return replace(query, nuggets=nuggets)


def _nugget(point: rows.KeyPoint) -> rows.Nugget:
    sources = dict.fromkeys([point.passage, *_passages(point.meta or {})])
    sources.pop("", None)
    meta = {key: value for key, value in (point.meta or {}).items() if key != SOURCES}
    return rows.Nugget(point.id, point.text, sources=tuple(sources) or None, meta=meta or None)


def _passages(meta: Mapping[str, Any]) -> Iterator[str]:
    """Yield the passages of the points in `sources`. A file written by hand may hold anything."""
    found = meta.get(SOURCES)
    for each in found if isinstance(found, list) else ():
        if isinstance(each, Mapping):
            if isinstance(passage := each.get("passage"), str):
                yield passage
            yield from _passages(each)


RULE = Rule(
    "nugget-bank",
    "Nugget bank",
    "The key points of each query as its nuggets, with the passages that state them as sources.",
    NuggetBank,
    decides=False,
)
