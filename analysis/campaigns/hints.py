"""Evidence in another text than the judged one, by rater."""

from __future__ import annotations

from analysis.types import JSON
from annotation.answers.evidence import Misplaced, misplaced
from annotation.models import Campaign


def hints(campaign: Campaign) -> list[JSON]:
    """Raters whose rationales stand in another text than the judged one, with how many do."""
    return [hint_of(found) for found in misplaced(campaign)]


def hint_of(found: Misplaced) -> JSON:
    """The hint as the report has it."""
    return {
        "name": found.rater,
        "kind": found.rater_kind,
        "variable": found.variable,
        "rationales": found.rationales,
        "elsewhere": {kind: found.elsewhere[kind] for kind in ("report", "passage", "reference")},
        "message": str(found),
    }
