"""API endpoints: batches, their queries, and the search in their texts."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Model
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from audit.recording import current_actor
from datasets import material
from datasets.access import several_for, visible_batch, visible_batches
from datasets.api.base import Exact, PageParameters, Shape
from datasets.api.permissions import MANAGE, READ
from datasets.api.routes import Reply, Routes, given
from datasets.material import as_line
from datasets.models import Batch, Grounding, KeyPoint, Nugget, Query, Question, Ranking, Report
from datasets.search import LONGEST, MOST_HITS, Hit, find, hits, words_of

api = Routes("batches")
PARTS: dict[str, type[Model]] = {
    "questions": Question,
    "passages": Grounding,
    "key_points": KeyPoint,
    "nuggets": Nugget,
    "reports": Report,
    "rankings": Ranking,
}


class BatchParameters(PageParameters):
    name = Exact("only the batch of exactly this name")


class OwnerSerializer(serializers.Serializer[Any]):
    team = serializers.CharField(source="team.name")
    by = serializers.CharField(
        source="made_by.username",
        default=None,
        allow_null=True,
        help_text="the account that created it; null for a command, or if it is deleted",
    )


class OwnedSerializer(serializers.Serializer[Any]):
    """The base class for serializers of owned objects. A site with one team leaves out the team."""

    owner = OwnerSerializer(
        source="*", required=False, help_text="only on a site with several teams"
    )

    def to_representation(self, instance: Any) -> Any:
        found = super().to_representation(instance)
        if not several_for(current_actor().request):
            found.pop("owner", None)
        return found


class BatchSerializer(OwnedSerializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    format = serializers.CharField(help_text="the format of the file that it came from")
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="the number of its parts of each kind"
    )
    warnings = serializers.SerializerMethodField(help_text="the number of warnings from loading it")
    created_at = serializers.DateTimeField()

    def get_warnings(self, batch: Batch) -> int:
        return len(batch.warnings)


class WholeBatchSerializer(BatchSerializer):
    warnings = serializers.ListField(  # type: ignore[assignment]
        child=serializers.CharField(), help_text="the warnings from loading it"
    )
    skipped = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="what was left out when loading it, and how often",
    )


class QuerySerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="its position in the batch, from 0")
    id = serializers.CharField()
    text = serializers.CharField()
    asked_at = serializers.CharField(allow_null=True)
    counts = serializers.DictField(child=serializers.IntegerField())


class QueryLineSerializer(Shape):
    """A query with all its parts, as a line of the native batch file."""

    id = serializers.CharField()
    text = serializers.CharField()
    history = serializers.ListField(child=serializers.DictField(), required=False)
    asked_at = serializers.CharField(required=False)
    questions = serializers.ListField(child=serializers.DictField(), required=False)
    passages = serializers.ListField(child=serializers.DictField(), required=False)
    key_points = serializers.ListField(child=serializers.DictField(), required=False)
    nuggets = serializers.ListField(child=serializers.DictField(), required=False)
    reports = serializers.ListField(child=serializers.DictField(), required=False)
    rankings = serializers.ListField(child=serializers.DictField(), required=False)
    references = serializers.ListField(child=serializers.DictField(), required=False)
    meta = serializers.DictField(required=False)


@api.list(
    "batches/",
    "List batches",
    "The loaded batches, by name.",
    BatchSerializer,
    name="batches",
    takes=BatchParameters,
)
def batches_list(request: Request) -> Any:
    rows, asked = visible_batches(request.user), given(request)
    return rows.filter(name=asked["name"]) if "name" in asked else rows


@api.get(
    "batches/<int:pk>/",
    "Read a batch",
    "The contents of a batch, and the warnings from loading it.",
    WholeBatchSerializer,
    name="batch",
)
def batches_read(request: Request, pk: int) -> Batch:
    return visible_batch(request.user, pk)


@api.list(
    "batches/<int:pk>/queries/",
    "List the queries of a batch",
    "The queries in order, each with the number of its parts of each kind.",
    QuerySerializer,
    name="queries",
)
def queries_list(request: Request, pk: int) -> Reply:
    return Reply(visible_batch(request.user, pk).queries.order_by("position"), lines=_counted)


@api.get(
    "batches/<int:pk>/queries/<int:position>/",
    "Read a query",
    "A query with all its parts, the same object as its line of the native batch file and of "
    "`export --what batch`. `position` is its position in the batch, from 0.",
    QueryLineSerializer,
    name="query",
)
def queries_read(request: Request, pk: int, position: int) -> Any:
    query = get_object_or_404(visible_batch(request.user, pk).queries, position=position)
    return as_line(material.as_row(query))


def _counted(queries: list[Query]) -> list[Any]:
    """Return queries with the number of their parts, by one database query for each kind."""
    ids = [query.pk for query in queries]
    counts = {name: _counts(model, ids) for name, model in PARTS.items()}
    return [
        {
            "position": query.position,
            "id": query.key,
            "text": query.text,
            "asked_at": query.asked_at,
            "counts": {name: counts[name].get(query.pk, 0) for name in PARTS},
        }
        for query in queries
    ]


def _counts(model: type[Model], queries: list[int]) -> dict[int, int]:
    rows = model._default_manager.filter(query__in=queries).order_by().values("query")
    return {row["query"]: row["number"] for row in rows.annotate(number=Count("pk"))}


class SearchParameters(PageParameters):
    q = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=LONGEST,
        help_text='words that a text has to contain, at least one; "in quotes" they count as one',
    )


class HitSerializer(serializers.Serializer[Hit]):
    kind = serializers.CharField(help_text="query, passage or report")
    position = serializers.IntegerField(help_text="position of its query in the batch, from 0")
    id = serializers.CharField(source="key")
    snippet = serializers.SerializerMethodField(help_text="the words with the text around them")
    found = serializers.SerializerMethodField(help_text="the words as spelt in the text")

    def get_snippet(self, hit: Hit) -> str:
        return "".join(text for text, _ in hit.snippet)

    def get_found(self, hit: Hit) -> list[str]:
        return [text for text, is_word in hit.snippet if is_word]


@api.list(
    "batches/<int:pk>/search/",
    "Search a batch",
    f"Queries, passages and reports that contain all the words, at most {MOST_HITS} of each, "
    "in the order of their queries. Case is ignored.",
    HitSerializer,
    name="search",
    scopes=(READ, MANAGE),
    takes=SearchParameters,
)
def batches_search(request: Request, pk: int) -> Reply:
    batch, words = visible_batch(request.user, pk), words_of(given(request)["q"])
    if not words:
        raise ValidationError({"q": "holds no word; write one"})
    return Reply(find(batch, words), lines=lambda matches: hits(matches, words))
