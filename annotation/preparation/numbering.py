"""Numbers of key points: one that was given is never another point's, whatever became of its own.

A key point is called `QUERY:kN` as it was found, and `QUERY:mN` once it was merged. Where points
are dropped, or others take their place, the query's meta keeps the highest number of either kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from datasets import rows

GIVEN = "numbers_given"
Kind = Literal["k", "m"]
_NUMBERED = re.compile(r"([km])([0-9]{1,9})")


def next_number(query: rows.Query, kind: Kind) -> int:
    """The first number behind all that key points of this kind have had in the query."""
    return _given(query).get(kind, 0) + 1


def remembered(before: rows.Query, after: rows.Query) -> rows.Query:
    """A query after a step, which knows the highest numbers of the points that went with it."""
    left = _given(after)
    gone = {kind: number for kind, number in _given(before).items() if number > left.get(kind, 0)}
    if not gone:
        return after
    return replace(after, meta={**(after.meta or {}), GIVEN: {**_kept(after), **gone}})


def _given(query: rows.Query) -> dict[str, int]:
    """The highest number of each kind, of points that are there and of those that went."""
    found = _kept(query)
    for point in query.key_points:
        own = point.id.startswith(f"{query.id}:")
        if own and (numbered := _NUMBERED.fullmatch(point.id, len(query.id) + 1)):
            kind, number = numbered[1], int(numbered[2])
            found[kind] = max(number, found.get(kind, 0))
    return found


def _kept(query: rows.Query) -> dict[str, int]:
    """What the meta tells, which may come from a file that somebody wrote by hand."""
    told = (query.meta or {}).get(GIVEN)
    if not isinstance(told, Mapping):
        return {}
    return {kind: number for kind, number in told.items() if type(number) is int}
