"""API endpoints of studies: their list, and the chain of one with counts and the next steps."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.models import Study
from analysis.study.access import readable_root, readable_studies, readable_study
from analysis.study.chain import chain_by_hand, chain_of_study
from annotation.access import get_account
from datasets.api.base import Shape
from datasets.api.routes import Routes

api = Routes("studies")


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


class ChainSerializer(Shape):
    """A chain in order: each batch with the campaigns over it."""

    name = serializers.CharField()
    next = NextStepSerializer(many=True)
    links = ChainLinkSerializer(many=True)


@api.list(
    "studies/",
    "List studies",
    "The studies that were applied from files and of which you may read every part, by name.",
    AppliedStudySerializer,
    name="studies",
)
def studies_list(request: Request) -> Any:
    return readable_studies(get_account(request))


@api.get(
    "studies/<int:pk>/",
    "Read the chain of a study",
    "Each batch with the campaigns over it, how much went in and came out, why the rest was "
    "left out, and who has to do what next, as on the study's page.",
    ChainSerializer,
    name="study",
)
def study_read(request: Request, pk: int) -> Any:
    user = get_account(request)
    return chain_of_study(readable_study(user, pk), user).as_json()


@api.get(
    "batches/<int:pk>/chain/",
    "Read the chain of a batch",
    "Everything derived from the first batch that this one comes from, as for a study: for "
    "chains that were created without a study file.",
    ChainSerializer,
    name="batch-chain",
)
def batch_chain(request: Request, pk: int) -> Any:
    user = get_account(request)
    return chain_by_hand(readable_root(user, pk), user).as_json()
