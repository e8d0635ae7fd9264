"""API endpoints of plans that certify a judge: commit, draw, look, end."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.trust.cells import TrustError
from analysis.trust.certificates import certificates_of, issue
from analysis.trust.options import PLAN_OPTIONS, PlanOptions
from analysis.trust.plans import commit, end
from analysis.trust.running import draw_queries, look_and_describe, running_plan
from annotation.api.access import managed_unless_blind, readable_unless_blind
from annotation.models import TrustCertificate, TrustPlan
from datasets.api.base import Strict
from datasets.api.routes import Routes, given
from datasets.option_fields import OptionFields
from tandem.options import values_of

api = Routes("campaigns")
RAISES = {TrustError: 422}


class PlanBody(OptionFields):
    options = PLAN_OPTIONS


class PlanSerializer(serializers.Serializer[TrustPlan]):
    digest = serializers.CharField(help_text="SHA-256 of the canonical JSON of `document`")
    kind = serializers.CharField(help_text="certify or compare")
    variable = serializers.CharField()
    judge = serializers.CharField(
        source="judge.name", default=None, allow_null=True, help_text="null for a comparison"
    )
    number = serializers.IntegerField(help_text="which plan for this judge and these queries")
    document = serializers.JSONField(help_text="the commitment, which never changes")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(
        source="end.at", default=None, allow_null=True, help_text="null while it runs"
    )


class DrawBody(Strict):
    queries = serializers.IntegerField(
        min_value=1, max_value=1000, default=10, help_text="how many more queries people get"
    )


class DrawnSerializer(serializers.Serializer[Any]):
    drawn = serializers.ListField(
        child=serializers.CharField(),
        help_text="the queries in the order of the draw, by key, each as often as it is drawn",
    )


class LookSerializer(serializers.Serializer[Any]):
    look = serializers.JSONField(
        help_text="counts only: the state, what is certified, bounds, and evidence by cut"
    )
    text = serializers.CharField(help_text="the same in sentences")


class CertificateSerializer(serializers.Serializer[TrustCertificate]):
    digest = serializers.CharField(help_text="SHA-256 of the canonical JSON of `document`")
    document = serializers.JSONField(help_text="an in-toto statement, which never changes")
    at = serializers.DateTimeField()


class EndBody(Strict):
    reason = serializers.CharField(max_length=200, default="", allow_blank=True)


@api.list(
    "campaigns/<int:pk>/trust/",
    "List the plans of a campaign",
    "The newest first. A plan is committed before its first label and never changes.",
    PlanSerializer,
    name="trust",
)
def campaigns_trust_list(request: Request, pk: int) -> Any:
    plans = readable_unless_blind(request, pk).trust_plans
    return plans.select_related("judge", "end").order_by("-id")


@api.post(
    "campaigns/<int:pk>/trust/",
    "Commit to a plan",
    "Fixes what shall be certified, and a seed, before any label. People are asked about no query "
    "of the plan until it is drawn. 422 if a plan is running, or if it could not hold.",
    PlanSerializer,
    name="trust",
    body=PlanBody,
    status=201,
    raises=RAISES,
    once=True,
)
def campaigns_trust_create(request: Request, pk: int) -> Any:
    campaign, body = managed_unless_blind(request, pk), given(request)
    return commit(campaign, PlanOptions(**values_of(PLAN_OPTIONS, body)))


@api.post(
    "campaigns/<int:pk>/trust/draws/",
    "Draw queries of the running plan",
    "People are asked about the next queries in the order of the draw.",
    DrawnSerializer,
    name="trust-draws",
    body=DrawBody,
    status=201,
    raises=RAISES,
    once=True,
)
def campaigns_trust_draw(request: Request, pk: int) -> Any:
    plan = running_plan(managed_unless_blind(request, pk))
    made = draw_queries(plan, given(request)["queries"])
    return {"drawn": [draw.query.key for draw in made]}


@api.post(
    "campaigns/<int:pk>/trust/looks/",
    "Look at the running plan",
    "What the labels prove so far, recomputed from them, and recorded. Looks may be as frequent "
    "as you like.",
    LookSerializer,
    name="trust-looks",
    status=201,
    raises=RAISES,
    once=True,
)
def campaigns_trust_look(request: Request, pk: int) -> Any:
    look, text = look_and_describe(running_plan(managed_unless_blind(request, pk)))
    return {"look": look, "text": text}


@api.list(
    "campaigns/<int:pk>/trust/certificates/",
    "List the certificates of a campaign",
    "The newest first. The SHA-256 of the canonical JSON of `document` is `digest`.",
    CertificateSerializer,
    name="trust-certificates",
)
def campaigns_trust_certificates_list(request: Request, pk: int) -> Any:
    return certificates_of(readable_unless_blind(request, pk)).order_by("-id")


@api.post(
    "campaigns/<int:pk>/trust/certificates/",
    "Issue the certificate of the running plan",
    "Looks, and writes down what the labels have proven. 422 if nothing is certified, or if the "
    "plan is stale.",
    CertificateSerializer,
    name="trust-certificates",
    status=201,
    raises=RAISES,
    once=True,
)
def campaigns_trust_certify(request: Request, pk: int) -> Any:
    return issue(running_plan(managed_unless_blind(request, pk)))


@api.post(
    "campaigns/<int:pk>/trust/end/",
    "End the running plan",
    "Its labels are then read like all others, and people are asked as before the plan.",
    PlanSerializer,
    name="trust-end",
    body=EndBody,
    raises=RAISES,
    once=True,
)
def campaigns_trust_end(request: Request, pk: int) -> Any:
    plan = running_plan(managed_unless_blind(request, pk))
    end(plan, given(request)["reason"])
    return plan
