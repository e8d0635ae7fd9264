"""What the audit trail seals of snapshots, tags and drafts, and what it does not."""

from __future__ import annotations

from analysis.models import Draft, FrozenReport, Study, StudyPart, UnitTag, digest
from audit.sealed.digests import StoredDigest, register_digests
from audit.sealed.kinds import Kind, by, fixed, register
from datasets.sealed import KEY, NULLED

DRAFTED = ("draft.made", "draft.changed", "draft.tried")

KINDS = (
    Kind(
        "snapshot",
        FrozenReport,
        fixed(
            "campaign",
            "key",
            "sha256",
            "inputs_sha256",
            "choices",
            "content",
            "version",
            "looks",
            "created_at",
        ),
        where={"campaign": "campaign__name", "snapshot": "key"},
        scope={"campaign": "campaign", "frozenreport": "key"},
        made=("report.frozen",),
    ),
    Kind(
        "tag",
        UnitTag,
        by(("unit.tagged",), "unit", "variable", "tag", "note", "section", "changed_at"),
        where={"campaign": "unit__item__campaign__name", "unit": "unit__name"},
        scope={"campaign": "unit__item__campaign", "unit": "unit"},
        made=("unit.tagged",),
        gone=("unit.tagged",),
    ),
    Kind(
        "draft",
        Draft,
        {
            **fixed("campaign", "kind", "judge", "created_at"),
            **by(DRAFTED, "base", "base_sha256", "text", "note", "state"),
        },
        where={"campaign": "campaign__name", "draft": "pk"},
        scope={"campaign": "campaign", "draft": "pk"},
        made=DRAFTED,
    ),
)

_STUDY = (
    "a file that can be applied again, which is compared with its digest, and evaluators, which "
    "each report of measures names"
)
EXCLUDED = {
    FrozenReport: {"id": KEY, "by": NULLED, "by_name": NULLED},
    Study: {"*": _STUDY},
    StudyPart: {"*": "only says which objects a study's file describes; these are sealed"},
    UnitTag: {"id": KEY, "by": NULLED},
    Draft: {"id": KEY, "by": NULLED, "changed_at": "the moment of the last change"},
}

register(KINDS, EXCLUDED)
register_digests(
    [
        StoredDigest(FrozenReport, "sha256", "content", digest, {"campaign": "campaign__name"}),
        StoredDigest(Study, "sha256", "text", digest, {"study": "name"}),
        StoredDigest(Draft, "base_sha256", "base", digest, {"campaign": "campaign__name"}),
    ]
)
