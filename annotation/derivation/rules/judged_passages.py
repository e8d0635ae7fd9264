"""Passages with the relevance and the use that people gave them (GaRAGe)."""

from __future__ import annotations

from dataclasses import replace

from annotation.derivation.base import LabelWork, Rule
from annotation.derivation.decisions import YES
from annotation.derivation.labels import LabelledUnit
from annotation.protocols.base import passage_key
from tandem.files import rows

PASSAGES = "passages"


class JudgedPassages(LabelWork):
    plural = PASSAGES
    variables = ("relevant", "use")

    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        units = {unit.key: unit for unit in self.units(pk) if unit.kind == "passage"}
        judged = []
        for passage in query.passages:
            unit = units.get(passage_key(query, passage))
            judged.append(passage if unit is None else self._mark_relevance(passage, unit))
            if unit is None:
                self.tally.keep("passages not in the campaign, as they were")
        self.tally.keep("queries")
        if not any(passage.relevant for passage in judged):
            self.tally.keep("queries without a relevant passage")
        return replace(query, passages=tuple(judged))

    def _mark_relevance(self, passage: rows.Passage, unit: LabelledUnit) -> rows.Passage:
        relevant = self.job.decider.decide(unit, "relevant")
        is_relevant = relevant.value == YES if relevant else self.keeps(relevant, unit.key)
        self.tally.keep("relevant passages" if is_relevant else "passages that are not relevant")
        use = self._use(unit) if is_relevant and relevant else None
        return replace(passage, relevant=is_relevant, use=use)

    def _use(self, unit: LabelledUnit) -> str | None:
        use = self.job.decider.decide_if_asked(unit, "use")
        if use.state == "tie":
            self.job.decider.note("tie", f"{unit.key} (use)")
            self.tally.undecided["use tied, none given"] += 1
        return use.value


RULE = Rule(
    "judged-passages",
    "Judged passages",
    "Each passage gets the relevance and the use that people gave it.",
    JudgedPassages,
    ("grounding-relevance",),
)
