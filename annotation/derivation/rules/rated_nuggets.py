"""Nuggets with the importance that people gave them; what is not a nugget is left out (TREC)."""

from __future__ import annotations

from dataclasses import replace

from annotation.derivation.base import LabelWork, Rule
from annotation.derivation.labels import LabelledUnit
from tandem.files import rows

IMPORTANCE, NOT_A_NUGGET = "importance", "not-a-nugget"
NUGGETS = "nuggets"


class RatedNuggets(LabelWork):
    plural = NUGGETS
    variables = (IMPORTANCE,)

    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        units = {unit.key: unit for unit in self.units(pk) if unit.kind == "nugget"}
        rated = (self._rated(nugget, units.get(nugget.id)) for nugget in query.nuggets)
        kept = tuple(nugget for nugget in rated if nugget is not None)
        self.tally.keep("queries")
        if not kept:
            self.tally.keep("queries without a nugget")
        return replace(query, nuggets=kept)

    def _rated(self, nugget: rows.Nugget, unit: LabelledUnit | None) -> rows.Nugget | None:
        """Return the nugget with people's importance, or None. A tie that is kept changes none."""
        if unit is None:
            self.tally.drop(NUGGETS, nugget.id, "not in the campaign")
            return None
        found = self.job.decider.decide(unit, IMPORTANCE)
        if not found:
            if self.keeps(found, nugget.id):
                self.tally.keep("nuggets with their earlier importance")
                return nugget
            self.tally.drop(NUGGETS, nugget.id, "importance: undecided")
            return None
        if found.value == NOT_A_NUGGET:
            self.tally.drop(NUGGETS, nugget.id, "not a nugget")
            return None
        self.tally.keep(f"{found.value} nuggets")
        return replace(nugget, importance=found.value)


RULE = Rule(
    "rated-nuggets",
    "Rated nuggets",
    "Each nugget gets the importance that people gave it; what is not a nugget is left out.",
    RatedNuggets,
    ("nugget-importance",),
)
