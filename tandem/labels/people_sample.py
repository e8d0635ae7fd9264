"""The queries sampled for people, and those that people have not finished."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class PeopleSample:
    """The queries `drawn` at random for people, and those of them that are `unfinished`.

    A query is finished if each vote that the design asks of it is in, or declined with a reason.
    """

    drawn: frozenset[str]
    unfinished: frozenset[str] = frozenset()


def describe_unfinished(unfinished: Collection[str], drawn: Collection[str]) -> str:
    """Explain that there is no estimate yet: the queries finished first are no random sample."""
    of = f"{len(unfinished)} of the {len(drawn)} queries"
    return f"people have not finished {of} that were sampled for them"
