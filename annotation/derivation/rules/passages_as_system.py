"""Each query's gold passage as a report of a system (CLAPnq's full-passage baseline)."""

from __future__ import annotations

from dataclasses import replace

from annotation.derivation.base import Rule, Work
from tandem.files import rows

SYSTEM = "passage"


def gold(query: rows.Query) -> tuple[rows.Passage, ...]:
    """Return the relevant passages, or the only passage of a query."""
    relevant = tuple(passage for passage in query.passages if passage.relevant)
    if relevant or len(query.passages) != 1 or query.passages[0].relevant is False:
        return relevant
    return query.passages


class PassagesAsSystem(Work):
    plural = "passages"

    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        self.tally.keep("queries")
        passages = gold(query)
        if not passages:
            self.tally.drop("reports", query.id, "no gold passage")
            return query
        ids = tuple(passage.id for passage in passages)
        text = "\n\n".join(passage.text for passage in passages)
        report = rows.Report(
            f"{query.id}/{SYSTEM}", text, SYSTEM, context=ids, citations=ids, deflected=False
        )
        self.tally.keep("reports")
        return replace(query, reports=(*query.reports, report))


RULE = Rule(
    "passages-as-system",
    "Passages as a system",
    "Each query’s gold passage as a report of the system “passage”.",
    PassagesAsSystem,
    decides=False,
)
