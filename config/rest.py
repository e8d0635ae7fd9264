"""Settings of Django REST framework and of the API's description."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["datasets.api.parsers.StrictJSONParser"],
    # No sessions, so a page of another site cannot use a person's session for the API.
    "DEFAULT_AUTHENTICATION_CLASSES": ["datasets.api.authentication.TokenInHeader"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "datasets.api.hooks.Schema",
    "DEFAULT_THROTTLE_CLASSES": ["datasets.api.throttling.PerUser"],
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

Every call sends a token in a header: `Authorization: Token tandem_…`. The page of
tokens and `manage.py create_token NAME` make one for an account. What it may do is what that
account may do on the pages, narrowed to the token's scopes, which each operation names. Cookies are
not looked at. An account may ask 600 times a minute; more is answered by 429 with `Retry-After`.

A POST that is no answer of one's own takes an `Idempotency-Key` where it says so: the same request
under the same key is done once. What may be changed has an `ETag`; with `If-Match` a change of what
has changed since is refused (409).

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
            {"name": "start", "description": "Who one is, and where to begin."},
            {"name": "work", "description": "One's own items and answers, as on the pages."},
            {
                "name": "adjudication",
                "description": "What raters disagree on, and the decisions; for adjudicators.",
            },
            {"name": "campaigns", "description": "The campaigns that one may see, and new ones."},
            {"name": "batches", "description": "What is judged; for researchers and admins."},
            {
                "name": "people",
                "description": "Accounts, invitations, and who takes part; for researchers and "
                "admins.",
            },
            {"name": "judges", "description": "Judges, their runs and every call of these."},
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
        },
        "SERVE_INCLUDE_SCHEMA": False,
    }
