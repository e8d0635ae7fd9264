"""Settings of Django REST framework and of the API's description."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["datasets.api.parsers.StrictJSONParser"],
    # No sessions, so a page of another site cannot use a person's session for the API.
    "DEFAULT_AUTHENTICATION_CLASSES": ["datasets.api.permissions.TokenInHeader"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "datasets.api.hooks.Schema",
    "DEFAULT_THROTTLE_CLASSES": ["datasets.api.concurrency.PerUser"],
    "DEFAULT_THROTTLE_RATES": {
        "user": "600/min",
        "export": "12/h",
        "report": "120/h",
        "import": "60/h",
        "invite": "60/h",
        # Per network address, which many people may share.
        "join": "20/h",
        "arrive": "60/h",
    },
    "EXCEPTION_HANDLER": "datasets.api.hooks.answer_error",
}

REST_KNOX: dict[str, Any] = {
    "TOKEN_TTL": timedelta(days=365),
    "TOKEN_PREFIX": "tandem_",
}

DESCRIPTION = """
People and LLM judges label the same items, side by side.

Every request sends a token in a header: `Authorization: Bearer tandem_…`, or `Token` instead of
`Bearer`. The page of tokens and `tandem token create NAME` create one for an account. A token may
do what its account may do on the pages, restricted to the token's scopes, which each operation
names. Cookies are ignored. An account may send 600 requests a minute; further ones are answered by
429 with `Retry-After`.

Where the description of a POST lists an `Idempotency-Key`, the same request under the same key is
carried out once. Objects that may be changed have an `ETag`: with `If-Match`, a change is refused
(409) if the object has changed since it was read.

Whatever goes wrong is answered by JSON: `error` says what is wrong and what to do, `problems` names
each unit or field. Parameters and fields that are not described here are refused by name. Offsets
in texts count Unicode code points from 0.
"""


def spectacular(version: str) -> dict[str, Any]:
    return {
        "TITLE": "Tandem",
        "DESCRIPTION": DESCRIPTION.strip(),
        "VERSION": version,
        "TAGS": [
            {"name": "start", "description": "Who you are, and where to begin."},
            {"name": "work", "description": "The account's own items and answers."},
            {
                "name": "adjudication",
                "description": "Disputes between raters, and decisions; for adjudicators.",
            },
            {"name": "campaigns", "description": "Campaigns visible to the account, and new ones."},
            {"name": "batches", "description": "Batches and uploads; for researchers and admins."},
            {
                "name": "people",
                "description": "Accounts, invitations and members; for researchers and admins.",
            },
            {"name": "judges", "description": "Judges, their runs, and the calls of each run."},
            {
                "name": "studies",
                "description": "What was asked and answered, and the report; for researchers and "
                "admins.",
            },
        ],
        "SCHEMA_PATH_PREFIX": r"/api/v1",
        "COMPONENT_SPLIT_REQUEST": True,
        "ENUM_NAME_OVERRIDES": {
            "RaterKindEnum": ["human", "judge", "reference"],
            "OwnedKindEnum": ["batch", "campaign", "judge", "key"],
            "TeamRoleEnum": ["owner", "manager", "member"],
            "AccountRoleEnum": ["annotator", "researcher", "admin"],
            "OwnStatusEnum": ["open", "done"],
            "InvitationStateEnum": ["open", "used", "expired", "revoked"],
            "RunStateEnum": [
                "queued",
                "running",
                "done",
                "stopped",
                "interrupted",
                "cancelled",
            ],
            "CampaignRoleEnum": ["annotator", "adjudicator", "researcher"],
            "RevokedAnswersEnum": ["keep", "delete"],
        },
        "SERVE_INCLUDE_SCHEMA": False,
    }
