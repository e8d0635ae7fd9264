"""Where words stand in a batch, as the search on its page finds them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from datasets.api.base import READERS, List, page_shape, rendered
from datasets.api.batches import visible_batch
from datasets.api.describing import described
from datasets.api.scopes import MANAGE, READ
from datasets.api.shapes import PageParameters
from datasets.searching import LONGEST, MOST_HITS, Found, Hit, find, hits, words_of

A_HIT = {
    "kind": "passage",
    "position": 0,
    "id": "p1",
    "snippet": "… the bridge opened in 1901 …",
    "found": ["opened"],
}


class SearchParameters(PageParameters):
    q = serializers.CharField(
        max_length=LONGEST, help_text='words that all have to stand there; "several words" are one'
    )


class HitShape(serializers.Serializer[Hit]):
    kind = serializers.CharField(help_text="query, passage or report")
    position = serializers.IntegerField(help_text="of its query in the batch, from 0")
    id = serializers.CharField(source="key")
    snippet = serializers.SerializerMethodField(help_text="the words with what stands around them")
    found = serializers.SerializerMethodField(help_text="the words as they stand there")

    def get_snippet(self, hit: Hit) -> str:
        return "".join(text for text, _ in hit.snippet)

    def get_found(self, hit: Hit) -> list[str]:
        return [text for text, is_word in hit.snippet if is_word]


class Search(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}
    takes = SearchParameters

    @described(
        "Search a batch",
        f"Queries, passages and reports that hold all the words, {MOST_HITS} of each at most, in "
        "the order of their queries. Only the case of ASCII letters does not count.",
        {200: page_shape(HitShape)},
        tag="batches",
        example={"count": 1, "next": None, "previous": None, "results": [A_HIT]},
        parameters=[SearchParameters],
        operation_id="batches_search",
    )
    def get(self, request: Request, pk: int) -> Response:
        batch, words = visible_batch(request.user, pk), words_of(self.chosen["q"])
        if not words:
            raise ValidationError({"q": "holds no word; give one"})

        def shown(found: list[Found]) -> list[Any]:
            return rendered(HitShape, hits(found, words))

        return self.page(find(batch, words), shown)
