"""API endpoints of studies: their list, and the chain of one with counts and the next steps."""

from __future__ import annotations

from functools import partial
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.models import Study
from analysis.study.access import readable_root, readable_studies, readable_study
from analysis.study.chain import chain_by_hand, chain_of_study
from annotation.access import get_account
from datasets.access import READERS
from datasets.api.base import (
    List,
    PageParameters,
    Resource,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
)
from datasets.api.permissions import READ

CARD = {
    "name": "points",
    "state": "done",
    "how": "Verified key points from verify, decided by the Reference, else the majority",
    "has": {"queries": 2},
    "flows": [{"what": "key points", "in": 48, "out": 41, "left_out": {"not grounded": 7}}],
    "asked": None,
    "answered": None,
}
CHAIN = {
    "name": "pilot",
    "next": [{"who": "people", "what": "People give 4 of 12 answers in campaign 'recall' …"}],
    "links": [{"batch": CARD, "campaigns": []}],
}
A_STUDY = {"id": 1, "name": "pilot", "preset": "crux", "changed_at": "2026-11-20T09:40:00Z"}


class AppliedStudySerializer(serializers.ModelSerializer[Study]):
    class Meta:
        model = Study
        fields = ("id", "name", "preset", "changed_at")


class NextStepSerializer(serializers.Serializer[Any]):
    who = serializers.CharField(help_text="people or researcher")
    what = serializers.CharField()


class ChainLinkSerializer(serializers.Serializer[Any]):
    batch = serializers.DictField(
        help_text="its name and state, how it was created, and for each kind of part how many went "
        "in, came out, and were left out, by reason"
    )
    campaigns = serializers.ListField(child=serializers.DictField(), help_text="those over it")


class ChainSerializer(serializers.Serializer[Any]):
    """A chain in order: each batch with the campaigns over it."""

    name = serializers.CharField()
    next = NextStepSerializer(many=True)
    links = ChainLinkSerializer(many=True)


class Studies(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}

    @describe_endpoint(
        "List studies",
        "The studies that were applied from files and of which you may read every part, by name.",
        {200: page_serializer(AppliedStudySerializer)},
        tag="studies",
        example=page_example(A_STUDY),
        parameters=[PageParameters],
        operation_id="studies_list",
    )
    def get(self, request: Request) -> Response:
        found = readable_studies(get_account(request))
        return self.page(found, partial(serialize, AppliedStudySerializer))


class OneStudy(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}

    @describe_endpoint(
        "Read the chain of a study",
        "Each batch with the campaigns over it, how much went in and came out, why the rest was "
        "left out, and who has to do what next, as on the study's page.",
        {200: ChainSerializer},
        tag="studies",
        example=CHAIN,
        operation_id="study_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        return Response(chain_of_study(readable_study(user, pk), user).as_json())


class BatchChain(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}

    @describe_endpoint(
        "Read the chain of a batch",
        "Everything derived from the first batch that this one comes from, as for a study: for "
        "chains that were created without a study file.",
        {200: ChainSerializer},
        tag="studies",
        example=CHAIN,
        operation_id="batch_chain",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        return Response(chain_by_hand(readable_root(user, pk), user).as_json())
