"""What the audit trail seals of judges, their runs and calls, and what it does not."""

from __future__ import annotations

from django.db.models import Q

from annotation.sealed import COUNTED
from audit.sealed.digests import StoredDigest, register_digests, sha256_of
from audit.sealed.kinds import Kind, by, fixed, register
from datasets.sealed import KEY, MOVED, NULLED, PASSING, SHARED
from judging.manifest import stored_digest
from judging.models import (
    ACTIVE,
    ChosenExample,
    Grant,
    Judge,
    JudgeCall,
    JudgeRun,
    JudgeShare,
    Key,
    KeyShare,
    Lane,
    Price,
    Review,
    Shard,
    Strike,
    UnassignedCall,
)

RUN = ("run.started", "run.changed", "run.stopped", "run.ended")
REVIEWED = ("preparation.reviewed",)

KINDS = (
    Kind(
        "key",
        Key,
        {**fixed("variable"), **by(MOVED, "team")},
        where={"key": "variable"},
        scope={"key": "pk"},
    ),
    Kind(
        "key share",
        KeyShare,
        {**fixed("of", "team", "created_at"), **by(SHARED, "right")},
        where={"key": "of__variable", "team": "team__name"},
        scope={"key": "of"},
        made=(*SHARED, "judge.made"),
        gone=SHARED,
    ),
    Kind(
        "price",
        Price,
        fixed("team", "model", "since", "prompt", "cached", "completion"),
        where={"model": "model"},
    ),
    Kind(
        "judge",
        Judge,
        {
            **fixed(
                "rater",
                "backend",
                "model",
                "base_url",
                "api_key_env",
                "prompt",
                "prompt_name",
                "prompt_sha256",
                "file",
                "file_sha256",
                "protocol_file",
                "granularity",
                "family",
                "params",
                "base",
                "variation",
                "created_at",
            ),
            **by(MOVED, "team"),
        },
        where={"judge": "rater__name"},
        scope={"judge": "pk"},
    ),
    Kind(
        "judge share",
        JudgeShare,
        {**fixed("of", "team", "created_at"), **by(SHARED, "right")},
        where={"judge": "of__rater__name", "team": "team__name"},
        scope={"judge": "of"},
        made=SHARED,
        gone=SHARED,
    ),
    Kind(
        "run",
        JudgeRun,
        {
            **fixed("campaign", "judge", "reuse", "prompt_sha256", "started_at"),
            **by(RUN, "state", "limit", "most_tokens", "most_cost", "ended_at"),
        },
        where={"campaign": "campaign__name", "judge": "judge__rater__name", "run": "pk"},
        scope={"campaign": "campaign", "judgerun": "pk"},
        only=~Q(state__in=ACTIVE),
    ),
    Kind(
        "call",
        JudgeCall,
        fixed(
            "run",
            "assignment",
            "attempt",
            "request_hash",
            "state",
            "detail",
            "http_status",
            "completion",
            "reasoning",
            "body",
            "finish_reason",
            "usage",
            "logprobs",
            "model_returned",
            "cost",
            "repair",
            "reading",
            "address",
            "sent_at",
            "seconds",
        ),
        where={
            "campaign": "run__campaign__name",
            "judge": "run__judge__rater__name",
            "item": "assignment__item__key",
            "scope": "assignment__scope",
            "attempt": "attempt",
        },
        scope={"campaign": "run__campaign", "rater": "assignment__rater"},
        gone=("consent.revoked",),
    ),
    Kind(
        "unassigned call",
        UnassignedCall,
        fixed(
            "purpose",
            "run",
            "model",
            "model_returned",
            "state",
            "detail",
            "http_status",
            "usage",
            "cost",
            "sent_at",
            "seconds",
        ),
        where={"campaign": "campaign__name", "model": "model"},
    ),
    Kind(
        "review",
        Review,
        {
            **fixed("response"),
            **by(REVIEWED, "verdict", "answer", "note", "by", "made_at"),
        },
        where={
            "campaign": "response__assignment__item__campaign__name",
            "item": "response__assignment__item__key",
        },
        scope={
            "campaign": "response__assignment__item__campaign",
            "rater": "response__assignment__rater",
        },
        gone=("consent.revoked",),
    ),
    Kind(
        "chosen example",
        ChosenExample,
        fixed("unit"),
        where={"campaign": "unit__item__campaign__name", "unit": "unit__name"},
        scope={"campaign": "unit__item__campaign"},
        made=("examples.chosen",),
        gone=("examples.chosen",),
    ),
)

EXCLUDED = {
    Key: {"id": KEY, "made_by": NULLED},
    KeyShare: {"id": KEY, "by": NULLED},
    Lane: {"*": PASSING},
    Grant: {"*": PASSING},
    Price: {"id": KEY, "made_by": NULLED},
    Judge: {"id": KEY, "made_by": NULLED},
    JudgeShare: {"id": KEY, "by": NULLED},
    JudgeRun: {
        "id": KEY,
        **dict.fromkeys(
            (
                "done",
                "failures",
                "calls",
                "reused",
                "prompt_tokens",
                "cached_tokens",
                "completion_tokens",
                "thinking_tokens",
                "cost",
            ),
            COUNTED,
        ),
        "manifest": "rewritten when trials of its judge end; compared with its own digest",
        **dict.fromkeys(
            (
                "lane",
                "queued",
                "wish",
                "concurrency",
                "workers",
                "closing",
                "in_flight",
                "allowed",
                "lease",
                "lease_until",
                "error",
                "ended_early",
                "go_on",
                "rests_until",
            ),
            PASSING,
        ),
    },
    JudgeCall: {"id": KEY, "reused_from": "becomes empty when the first call is deleted"},
    Shard: {"*": PASSING},
    Strike: {"*": PASSING},
    UnassignedCall: {
        "id": KEY,
        **dict.fromkeys(("campaign", "judge"), "becomes empty when that is deleted"),
    },
    Review: {"id": KEY},
    ChosenExample: {"id": KEY, "by": NULLED, "created_at": PASSING},
}

register(KINDS, EXCLUDED)
_JUDGE = {"judge": "rater__name"}
register_digests(
    [
        StoredDigest(Judge, "prompt_sha256", "prompt", sha256_of, _JUDGE),
        StoredDigest(Judge, "file_sha256", "file", sha256_of, _JUDGE),
        StoredDigest(
            JudgeRun,
            "manifest__sha256",
            "manifest",
            stored_digest,
            {"campaign": "campaign__name", "judge": "judge__rater__name"},
        ),
    ]
)
