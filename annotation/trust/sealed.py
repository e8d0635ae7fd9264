"""What the audit trail seals of plans: all of it, in tables whose rows never change."""

from __future__ import annotations

from django.db.models import Model

from annotation.models import TrustCertificate, TrustDraw, TrustEnd, TrustLook, TrustPlan
from audit.append_only import protect
from audit.sealed.digests import StoredDigest, register_digests
from audit.sealed.kinds import Kind, fixed, register
from datasets.sealed import KEY
from tandem.trust.canonical import digest_of

PLANS = ("trust.planned", "trust.drawn", "trust.ended")
"""The events by which a plan changes whom a campaign asks."""
MODELS = (TrustPlan, TrustDraw, TrustLook, TrustCertificate, TrustEnd)


def _of_plan(name: str, model: type[Model], event: str, *columns: str) -> Kind:
    """Return the kind of a plan's rows, each of which an event of its own explains."""
    return Kind(
        name,
        model,
        fixed("plan", *columns),
        where={"campaign": "plan__campaign__name", "plan": "plan__digest"},
        scope={"campaign": "plan__campaign", "trustplan": "plan"},
        made=(event,),
    )


KINDS = (
    Kind(
        "plan",
        TrustPlan,
        fixed(
            "uid",
            "campaign",
            "kind",
            "variable",
            "judge",
            "number",
            "document",
            "digest",
            "created_at",
        ),
        where={"campaign": "campaign__name", "plan": "digest"},
        scope={"campaign": "campaign", "trustplan": "pk"},
        made=("trust.planned",),
    ),
    _of_plan(
        "draw", TrustDraw, "trust.drawn", "place", "cut", "query", "turn", "units", "drawn_at"
    ),
    _of_plan("look at a plan", TrustLook, "trust.looked", "labelled", "state", "at"),
    _of_plan("certificate", TrustCertificate, "trust.certified", "document", "digest", "at"),
    _of_plan("end of a plan", TrustEnd, "trust.ended", "reason", "at"),
)

register(KINDS, {model: {"id": KEY} for model in MODELS})
protect(*(model._meta.db_table for model in MODELS))
register_digests(
    [
        StoredDigest(model, "digest", "document", digest_of, {"campaign": place})
        for model, place in (
            (TrustPlan, "campaign__name"),
            (TrustCertificate, "plan__campaign__name"),
        )
    ]
)
