"""What the audit trail seals of people, campaigns and answers, and what it does not."""

from __future__ import annotations

from annotation.campaigns.settings import SETTINGS as DECLARED
from annotation.models import (
    AdjudicationRequest,
    Admission,
    Allotment,
    Assignment,
    Background,
    Campaign,
    CampaignShare,
    CarriedAnswer,
    Consent,
    ConsentText,
    Decision,
    Draft,
    Exclusion,
    Exposure,
    GoldAnswer,
    GuidelineVersion,
    Invitation,
    Item,
    Label,
    LogInCount,
    Look,
    Membership,
    Participant,
    PersonShare,
    ProlificStudy,
    ProtocolFile,
    QuerySampling,
    Rater,
    Rendering,
    Response,
    Span,
    Tally,
    Unit,
    UnitSampling,
    User,
)
from annotation.provenance import guideline_digest
from annotation.trust.sealed import PLANS
from audit.sealed.digests import StoredDigest, register_digests
from audit.sealed.kinds import Kind, Part, by, fixed, register
from datasets.sealed import ACCOUNT_ENDS, KEY, MOVED, NULLED, PASSING, SHARED, SHOWN
from tandem.protocols.protocol_file import digest_of

SETTINGS = (
    "campaign.made",
    "campaign.terms",
    "campaign.people",
    "campaign.opened",
    "campaign.archived",
    "campaign.restored",
    "campaign.closed",
    "known.set",
    *PLANS,
)
ROLES = (
    "account.made",
    "account.role",
    "account.off",
    "account.on",
    "account.forgotten",
    "invitation.used",
    "prolific.arrived",
    "prolific.ended",
)
MEMBERS = ("member.added", "member.ended", "campaign.made", *MOVED, *ROLES)
PROLIFIC = ("prolific.study", "prolific.arrived", "prolific.opened", "prolific.ended")
INVITED = ("invitation.made", "invitation.used", "invitation.revoked", *ROLES)
CONSENT = ("consent.given", "consent.revoked")
REPLACED = (
    "answer.changed",
    "answer.numbered",
    "adjudication.changed",
    "labels.imported",
    "preparation.reviewed",
)
COUNTED = "counted again from the rows that it is about"
PERSONAL = "identifies a person, and is deleted with the account"

_ANSWER = {"campaign": "assignment__item__campaign", "rater": "assignment__rater"}
KINDS = (
    Kind(
        "account",
        User,
        by(ROLES, "role", "is_active", "is_staff", "is_superuser", "is_guest"),
        where={"account": "username"},
        scope={"account": "pk"},
        gone=ACCOUNT_ENDS,
    ),
    Kind(
        "rater",
        Rater,
        {
            **by(("account.pseudonym", *ACCOUNT_ENDS), "name"),
            **fixed("kind"),
            **by((*ROLES, "account.pseudonym"), "user"),
        },
        where={"rater": "name"},
        scope={"rater": "pk", "account": "user"},
        gone=ACCOUNT_ENDS,
    ),
    Kind(
        "member",
        Membership,
        {**fixed("campaign", "user", "created_at"), **by(MEMBERS, "role", "ended_at")},
        where={"campaign": "campaign__name", "rater": "user__rater__name"},
        scope={"campaign": "campaign", "account": "user"},
        made=MEMBERS,
        gone=ACCOUNT_ENDS,
    ),
    Kind(
        "invitation",
        Invitation,
        {
            **fixed("digest", "role", "campaign", "campaign_role", "team", "created_at"),
            **by(INVITED, "expires_at", "used_at", "revoked_at"),
        },
        where={"campaign": "campaign__name"},
        scope={"invitation": "pk", "campaign": "campaign", "account": "by"},
        made=INVITED,
        gone=ACCOUNT_ENDS,
    ),
    Kind(
        "exclusion",
        Exclusion,
        {
            **fixed("campaign", "rater", "created_at"),
            **by(("exclusion.made", "exclusion.undone"), "reason", "undone_at"),
        },
        where={"campaign": "campaign__name", "rater": "rater__name"},
        scope={"campaign": "campaign", "rater": "rater", "account": "rater__user"},
        made=("exclusion.made",),
        gone=ACCOUNT_ENDS,
    ),
    Kind(
        "prolific study",
        ProlificStudy,
        {
            **fixed("campaign"),
            **by(PROLIFIC, "study_id", "completion_code", "most_people", "signed"),
        },
        where={"campaign": "campaign__name"},
        scope={"campaign": "campaign", "prolificstudy": "pk"},
    ),
    Kind(
        "participant",
        Participant,
        {
            **fixed("study", "user", "pid", "created_at"),
            **by((*PROLIFIC, *ROLES), "session_id", "status"),
        },
        where={"campaign": "study__campaign__name", "rater": "user__rater__name"},
        scope={
            "campaign": "study__campaign",
            "prolificstudy": "study",
            "participant": "pk",
            "account": "user",
        },
        gone=ACCOUNT_ENDS,
    ),
    Kind(
        "campaign",
        Campaign,
        {
            **fixed(
                "name",
                "protocol",
                "protocol_version",
                "protocol_file",
                "batch",
                "raters_per_item",
                "overlap",
                "human_share",
                "options",
                "seed",
                "continues",
                "created_at",
            ),
            **by(
                SETTINGS,
                "is_open",
                "is_archived",
                *(setting.column for setting in DECLARED if setting.column),
                "pool",
                "hold_minutes",
                "items_per_person",
                "has_shares",
                "has_plan",
            ),
            **by(MOVED, "team"),
        },
        where={"campaign": "name"},
        scope={"campaign": "pk"},
        parts=(
            Part(
                "shares", PersonShare, "campaign", by((*SETTINGS, *ACCOUNT_ENDS), "user", "share")
            ),
        ),
    ),
    Kind(
        "protocol file",
        ProtocolFile,
        {
            **fixed("uid", "name", "version", "title", "text", "parts", "digest", "created_at"),
            **by(MOVED, "team"),
        },
        where={"protocol": "name", "team": "team__name"},
        scope={"protocolfile": "pk"},
        made=("protocol.made",),
        gone=("protocol.deleted",),
    ),
    Kind(
        "campaign share",
        CampaignShare,
        {**fixed("of", "team", "created_at"), **by(SHARED, "right")},
        where={"campaign": "of__name", "team": "team__name"},
        scope={"campaign": "of"},
        made=(*SHARED, "campaign.made"),
        gone=SHARED,
    ),
    Kind(
        "sampled query",
        QuerySampling,
        fixed(
            "campaign",
            "query",
            "kind",
            "seed",
            "wave",
            "probability",
            "drawn",
            "role",
            "role_probability",
        ),
        where={"campaign": "campaign__name", "query": "query__key"},
        scope={"campaign": "campaign"},
    ),
    Kind(
        "item",
        Item,
        {
            **fixed(
                "campaign",
                "key",
                "position",
                "query",
                "report",
                "passage",
                "key_point",
                "shown_passages",
                "passage_uses",
                "probability",
                "words",
            ),
            **by(("known.set",), "use"),
            **by(("known.set", *PLANS), "quota"),
            **by(("item.sampled",), "drawn"),
        },
        where={"campaign": "campaign__name", "item": "key"},
        scope={"campaign": "campaign", "item": "pk"},
        parts=(
            Part("units", Unit, "item", fixed("kind", "key", "name", "position")),
            Part(
                "samples",
                UnitSampling,
                "item",
                {
                    **fixed("unit_kind", "key", "position", "kind", "seed", "wave"),
                    **by(("item.sampled",), "stratum", "probability", "drawn"),
                },
            ),
            Part(
                "gold",
                GoldAnswer,
                "unit__item",
                by(("known.set",), "unit", "variable", "value", "reason"),
            ),
            Part(
                "allotments", Allotment, "item", by((*SETTINGS, *ACCOUNT_ENDS), "user"), ("user",)
            ),
        ),
    ),
    Kind(
        "admission",
        Admission,
        fixed("campaign", "rater", "reason", "created_at"),
        where={"campaign": "campaign__name", "rater": "rater__name"},
        scope={"campaign": "campaign", "rater": "rater", "account": "rater__user"},
        made=("admission.made",),
        gone=ACCOUNT_ENDS,
    ),
    Kind(
        "guideline",
        GuidelineVersion,
        fixed("campaign", "version", "text", "digest", "created_at"),
        where={"campaign": "campaign__name", "guideline": "version"},
        scope={"campaign": "campaign"},
        made=SETTINGS,
    ),
    Kind(
        "consent text",
        ConsentText,
        fixed("campaign", "version", "text", "created_at"),
        where={"campaign": "campaign__name", "version": "version"},
        scope={"campaign": "campaign"},
        made=SETTINGS,
    ),
    Kind(
        "consent",
        Consent,
        {**fixed("text", "rater", "given_at"), **by(CONSENT, "revoked_at")},
        where={"campaign": "text__campaign__name", "rater": "rater__name"},
        scope={"campaign": "text__campaign", "rater": "rater", "account": "rater__user"},
        made=CONSENT,
        gone=ACCOUNT_ENDS,
    ),
    Kind(
        "background",
        Background,
        {**fixed("campaign", "rater"), **by(("background.given",), "answers", "answered_at")},
        where={"campaign": "campaign__name", "rater": "rater__name"},
        scope={"campaign": "campaign", "rater": "rater", "account": "rater__user"},
        made=("background.given",),
        gone=("consent.revoked", *ACCOUNT_ENDS),
        salt="answered_at",
    ),
    Kind(
        "answer",
        Response,
        {
            **fixed(
                "assignment",
                "revision",
                "payload",
                "comment",
                "door",
                "key",
                "created_at",
                "basis",
                "exposed",
                "assignment__uid",
                "assignment__item",
                "assignment__rater",
                "assignment__replicate",
                "assignment__scope",
                "assignment__created_at",
            ),
            **by((*REPLACED, *CONSENT), "current"),
            **by(
                (*REPLACED, *CONSENT),
                "assignment__asked",
                "assignment__shown",
                "assignment__missing",
                "assignment__seconds",
                "assignment__assisted_by",
            ),
        },
        where={
            "campaign": "assignment__item__campaign__name",
            "rater": "assignment__rater__name",
            "item": "assignment__item__key",
            "scope": "assignment__scope",
            "revision": "revision",
        },
        scope={**_ANSWER, "assignment": "assignment"},
        parts=(
            Part("labels", Label, "response", fixed("unit", "variable", "value", "score", "meta")),
            Part(
                "spans",
                Span,
                "label__response",
                fixed("label", "field", "start", "end", "quote", "method"),
                ("label", "pk"),
            ),
            Part("exposures", Exposure, "response", fixed("kind", "at", "units")),
            Part("decision", Decision, "response", fixed("unit", "by")),
            Part("carried", CarriedAnswer, "response", fixed("campaign")),
        ),
        gone=("consent.revoked",),
        salt="assignment__uid",
    ),
    Kind(
        "look",
        Look,
        {
            **fixed("campaign", "kind", "scope", "rater", "number", "exposing", "upto", "at"),
            **by(ACCOUNT_ENDS, "user"),
            **fixed("digest"),
        },
        where={"campaign": "campaign__name", "rater": "user__rater__name"},
        scope={"campaign": "campaign", "account": "user"},
        gone=ACCOUNT_ENDS,
    ),
)

EXCLUDED = {
    User: {
        "id": KEY,
        "password": "hashed again at log-ins when the method improves",
        "last_login": PASSING,
        "language": "a person's own choice for pages",
        "sessions": "a counter that ends sessions",
        **dict.fromkeys(("username", "first_name", "last_name", "email", "date_joined"), PERSONAL),
    },
    LogInCount: {"*": PASSING},
    Rater: {"id": KEY},
    Membership: {"id": KEY, "by": NULLED},
    Invitation: {"id": KEY, "note": PERSONAL, "by": NULLED, "used_by": NULLED},
    Exclusion: {"id": KEY, "by": NULLED, "undone_by": NULLED},
    ProlificStudy: {"id": KEY},
    Participant: {"id": KEY, "open_until": PASSING},
    Campaign: {"id": KEY, "made_by": NULLED},
    ProtocolFile: {"id": KEY, "made_by": NULLED},
    PersonShare: {"id": KEY},
    CampaignShare: {"id": KEY, "by": NULLED},
    QuerySampling: {"id": KEY},
    Item: {"id": KEY, "taken": COUNTED},
    Unit: {"id": KEY},
    UnitSampling: {"id": KEY},
    GoldAnswer: {"id": KEY},
    Allotment: {"id": KEY},
    Admission: {"id": KEY, "by": NULLED},
    GuidelineVersion: {"id": KEY, "by": NULLED, "note": SHOWN},
    Tally: {"*": COUNTED},
    ConsentText: {"id": KEY, "by": NULLED},
    Consent: {"id": KEY},
    Background: {"id": KEY},
    Assignment: {
        "id": KEY,
        **dict.fromkeys(
            ("status", "slot", "reason"),
            "changes with each step of the work; compared with answers and quotas",
        ),
        **dict.fromkeys(("lease", "held_until", "attempts"), PASSING),
    },
    Rendering: {"*": "computed again from the text, which is sealed"},
    Draft: {"*": "unfinished work that changes with each key; no result reads it"},
    Response: {"id": KEY},
    CarriedAnswer: {"id": KEY, "origin": "becomes empty when the first answer is deleted"},
    Label: {"id": KEY},
    Span: {"id": KEY},
    Decision: {"id": KEY},
    AdjudicationRequest: {"*": "only the order in which units are offered to adjudicators"},
    Look: {"id": KEY},
    Exposure: {"id": KEY, "look": "becomes empty when the other campaign is deleted"},
}

register(KINDS, EXCLUDED)
register_digests(
    [
        StoredDigest(
            GuidelineVersion, "digest", "text", guideline_digest, {"campaign": "campaign__name"}
        ),
        StoredDigest(
            ProtocolFile,
            "digest",
            "text",
            digest_of,
            {"protocol": "name", "team": "team__name"},
            beside=("parts",),
        ),
    ]
)
