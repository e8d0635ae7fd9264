"""Responses as the grounding measures take them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from analysis.statistics import Bools, Ints


@dataclass(frozen=True)
class Responses:
    """N responses: `eligible` (N,) is 1 where the issues are none or minor, 0 major, -1 missing.

    `asked` (N,) says of which responses eligibility was asked at all. `borne` (U,) are their
    sentences: 1 = supported or in no need of evidence, 0 = unsupported or contradictory,
    -1 = missing; `row` (U,) the response of each.
    """

    eligible: Ints
    asked: Bools
    borne: Ints
    row: Ints

    @property
    def rows(self) -> int:
        return len(self.eligible)

    def only(self, held: Bools) -> Responses:
        """The same without the sentences of the responses that are not among `held` (N,)."""
        kept = held[self.row]
        return replace(self, borne=self.borne[kept], row=self.row[kept])
