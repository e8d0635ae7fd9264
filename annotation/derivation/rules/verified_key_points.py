"""Key points that people verified (Long²RAG): grounded in their passage, and key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from annotation.derivation.base import Job, LabelWork, Rule
from annotation.derivation.decisions import NO, YES, one_of
from annotation.derivation.labels import LabelledUnit
from datasets.derivation import DerivationError
from tandem.files import rows

CODES = ("agree", "neutral", "disagree")
POINTS = "key points"


@dataclass(frozen=True)
class Options:
    key: str = field(
        default="agree",
        metadata={"help": "the codes of `key` that keep a point, such as `agree,neutral`"},
    )


class VerifiedKeyPoints(LabelWork):
    plural = POINTS
    variables = ("grounded", "key")

    def __init__(self, job: Job) -> None:
        codes = [each.strip() for each in job.options.key.split(",") if each.strip()]
        if not codes or set(codes) - set(CODES):
            raise DerivationError(
                f"option key lists some of {', '.join(CODES)}; {job.options.key!r} does not", "set"
            )
        super().__init__(job)
        self._key = one_of(codes)

    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        units = {unit.key: unit for unit in self.units(pk) if unit.kind == "key-point"}
        kept = tuple(k for k in query.key_points if self._keeps(k.id, units.get(k.id)))
        self.tally.keep("queries")
        self.tally.keep(POINTS, len(kept))
        return replace(query, key_points=kept)

    def _keeps(self, key: str, unit: LabelledUnit | None) -> bool:
        if unit is None:
            self.tally.drop(POINTS, key, "not in the campaign")
            return False
        reason = self._reason(key, unit)
        if reason:
            self.tally.drop(POINTS, key, reason)
        return not reason

    def _reason(self, key: str, unit: LabelledUnit) -> str:
        """Return why a point is dropped, or nothing."""
        decider = self.job.decider
        grounded = decider.decide(unit, "grounded")
        if not grounded:
            return "" if self.keeps(grounded, key) else "grounded: undecided"
        if grounded.value == NO:
            return "not grounded"
        is_key = decider.decide_if_asked(unit, "key", self._key)
        if not is_key:
            return "" if self.keeps(is_key, key) else "key: undecided"
        return "" if is_key.value == YES else "not key"


RULE = Rule(
    "verified-key-points",
    "Verified key points",
    "Key points that are grounded and key; the others are left out with the reason.",
    VerifiedKeyPoints,
    ("key-point-verification",),
    Options,
)
