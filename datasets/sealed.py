"""What the audit trail seals of teams and batches, and what it does not."""

from __future__ import annotations

from django.db import models

from audit.sealed.kinds import Kind, Part, by, fixed, register
from datasets.models import (
    Batch,
    BatchShare,
    Grant,
    Grounding,
    Job,
    JobAsker,
    KeptAnswer,
    KeyPoint,
    LabelsRead,
    LeftOut,
    Lineage,
    Migrated,
    Nugget,
    Passage,
    Query,
    QueryDigest,
    Question,
    Ranking,
    Report,
    Team,
    TeamMember,
    Upload,
    Worker,
)

MOVED = ("team.moved",)
SHARED = ("team.shared", "team.unshared", *MOVED)
ACCOUNT_ENDS = ("account.forgotten",)
TEAM_ROLES = ("team.member", "team.left", "account.role", "account.made", "invitation.used")

KEY = "the key of the row, by which seals name it"
NULLED = "becomes empty when the account is deleted; the audit trail names who acted"
OF_TEXTS = "compared with the digest of its query and batch (the check of texts)"
PASSING = "a passing state of work, which no result reads"
SHOWN = "shown for information; no result reads it"

KINDS = (
    Kind(
        "batch",
        Batch,
        {
            **fixed("name", "format", "digest", "files", "created_at"),
            **by(MOVED, "team"),
        },
        where={"batch": "name"},
        scope={"batch": "pk"},
    ),
    Kind(
        "query",
        Query,
        {
            **fixed("batch", "key", "position"),
            **by(("batch.digested",), "digest__query", "digest__line", "digest__texts"),
        },
        where={"batch": "batch__name", "query": "key"},
        scope={"batch": "batch"},
    ),
    Kind(
        "lineage",
        Lineage,
        by(
            ("batch.derived",),
            "batch",
            "source",
            "kind",
            "rule",
            "rule_version",
            "options",
            "campaigns",
            "decided_by",
            "ties",
            "labels",
            "files",
            "counts",
            "facts",
            "version",
            "created_at",
        ),
        where={"batch": "batch__name"},
        scope={"batch": "batch"},
        parts=(
            Part("labels_read", LabelsRead, "lineage", by(("batch.derived",), "digests")),
            Part("left_out", LeftOut, "lineage", by(("batch.derived",), "what", "key", "reason")),
        ),
    ),
    Kind(
        "team",
        Team,
        {**by(("team.renamed",), "name"), **fixed("created_at")},
        where={"team": "name"},
        scope={"team": "pk"},
    ),
    Kind(
        "team member",
        TeamMember,
        {**fixed("team", "user", "created_at"), **by(TEAM_ROLES, "role")},
        where={"team": "team__name"},
        scope={"account": "user"},
        gone=(*TEAM_ROLES, *ACCOUNT_ENDS),
    ),
    Kind(
        "batch share",
        BatchShare,
        {**fixed("of", "team", "created_at"), **by(SHARED, "right")},
        where={"batch": "of__name", "team": "team__name"},
        scope={"batch": "of"},
        made=(*SHARED, "batch.derived", "campaign.made"),
        gone=SHARED,
    ),
    Kind(
        "token",
        Grant,
        fixed("token", "scopes"),
        where={"account": "token__user"},
        # Tokens expire, and are deleted when they are used next.
        gone=None,
    ),
)

_TEXTS = (Question, Passage, KeyPoint, Nugget, Report, Grounding, Ranking)
EXCLUDED: dict[type[models.Model], dict[str, str]] = {
    **{model: {"*": OF_TEXTS} for model in _TEXTS},
    Batch: {
        "id": KEY,
        "counts": "compared with the texts",
        "warnings": SHOWN,
        "skipped": SHOWN,
        "made_by": NULLED,
    },
    Query: {
        "id": KEY,
        **dict.fromkeys(("text", "history", "asked_at", "references", "meta"), OF_TEXTS),
    },
    QueryDigest: {"id": KEY},
    Lineage: {"id": KEY, "by": NULLED},
    LabelsRead: {"id": KEY},
    LeftOut: {"id": KEY},
    Team: {"id": KEY},
    TeamMember: {"id": KEY},
    BatchShare: {"id": KEY, "by": NULLED},
    Grant: {"id": KEY, "note": SHOWN},
    Job: {"*": "a result that can be computed again; the file has its own checks"},
    JobAsker: {"*": PASSING},
    Worker: {"*": PASSING},
    Migrated: {"*": "only says which version migrated the database"},
    KeptAnswer: {"*": "deleted after a day"},
    Upload: {"*": "files on their way to a batch, which is sealed once it is kept"},
}

register(KINDS, EXCLUDED)
