"""Each query's references as reports of a system, to be judged like any other."""

from __future__ import annotations

from dataclasses import replace

from annotation.derivation.base import Rule, Work
from tandem.files import rows

SYSTEM = "reference"


class ReferencesAsSystem(Work):
    plural = "references"

    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        several = len(query.references) > 1
        made = tuple(
            rows.Report(
                f"{query.id}/{SYSTEM}/{number}" if several else f"{query.id}/{SYSTEM}",
                reference.text,
                SYSTEM,
                citations=reference.citations,
                deflected=reference.deflected,
                meta=reference.meta,
            )
            for number, reference in enumerate(query.references, start=1)
        )
        if not made:
            self.tally.drop("reports", query.id, "no reference")
        self.tally.keep("queries")
        self.tally.keep("reports", len(made))
        return replace(query, reports=query.reports + made)


RULE = Rule(
    "references-as-system",
    "References as a system",
    "Each query’s reference as a report of the system “reference”.",
    ReferencesAsSystem,
    decides=False,
)
