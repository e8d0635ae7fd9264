"""Flags of raters whose evidence is misplaced."""

from __future__ import annotations

from annotation.answers.misplaced import MisplacedEvidence, find_misplaced_evidence
from annotation.models import Campaign
from tandem.types import JSON


def misplaced_flags(campaign: Campaign) -> list[JSON]:
    """Return the raters with rationales from a text other than the judged one, with counts."""
    return [flag_as_json(found) for found in find_misplaced_evidence(campaign)]


def flag_as_json(found: MisplacedEvidence) -> JSON:
    """Return the flag in the form used by the report."""
    return {
        "name": found.rater,
        "kind": found.rater_kind,
        "variable": found.variable,
        "rationales": found.rationales,
        "elsewhere": {kind: found.elsewhere[kind] for kind in ("report", "passage", "reference")},
        "message": str(found),
    }
