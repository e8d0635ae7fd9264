"""Pages of batches, the search in a batch, and the native format's schema and example."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import (
    Count,
    F,
    Func,
    IntegerField,
    Model,
    OrderBy,
    OuterRef,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from datasets.access import READERS, role_required, visible_batch, visible_batches
from datasets.lineage import ancestors, behind_for, count_lines, derive_again_address, summary
from datasets.material import FORMAT_FILES
from datasets.models import (
    Batch,
    Grounding,
    KeyPoint,
    Nugget,
    Query,
    Question,
    Ranking,
    Report,
    Upload,
)
from datasets.query_page import query_context
from datasets.search import MOST_HITS, find, hits, words_of
from datasets.sorting import PARAMETER, Column, Order, heads_of, order_of
from datasets.uploads.receiving import STATUS_NAMES, uploads_of

PAGE, HITS = 50, 25
PARTS: dict[str, type[Model]] = {
    "questions": Question,
    "passages": Grounding,
    "key points": KeyPoint,
    "nuggets": Nugget,
    "reports": Report,
    "rankings": Ranking,
}


BATCH_COLUMNS = {
    "name": Column("name", "Batch"),
    "format": Column("format", "Format"),
    "counts__queries": Column("content", "Content", highest_first=True),
    "number_of_warnings": Column("warnings", "Warnings", is_number=True, highest_first=True),
    "created_at": Column("loaded", "Loaded", highest_first=True),
}
"""The columns of the list of batches, by the field that sorts them."""


class LengthOfArray(Func):
    """The number of entries of a JSON array."""

    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function="json_array_length", **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function="jsonb_array_length", **extra)


@require_safe
@role_required(*READERS)
def batches(request: HttpRequest) -> HttpResponse:
    columns = BATCH_COLUMNS.values()
    found, order = visible_batches(request.user), order_of(columns, request.GET.get(PARAMETER, ""))
    if order.by:
        field = next(field for field, each in BATCH_COLUMNS.items() if each.name == order.by)
        found = found.annotate(number_of_warnings=LengthOfArray("warnings"))
        found = found.order_by(_directed(field, order.is_descending), "name")
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    rows = [{"batch": batch, "contents": _contents(batch)} for batch in page]
    ended = (Upload.State.KEPT, Upload.State.DISCARDED)
    own = uploads_of(request.user).exclude(state__in=ended)[:PAGE]
    uploads = [(upload, *STATUS_NAMES[Upload.State(upload.state)]) for upload in own]
    context = {
        "rows": rows,
        "page": page,
        "uploads": uploads,
        "heads": heads_of(columns, order),
        "query": urlencode({PARAMETER: str(order)}) if order.by else "",
    }
    return render(request, "batches/list.html", context)


@require_safe
@role_required(*READERS)
def batch(request: HttpRequest, pk: int) -> HttpResponse:
    """List the queries of a batch, or the hits of a search."""
    found = visible_batch(request.user, pk)
    asked = request.GET.get("q", "").strip()
    words, number = words_of(asked), request.GET.get("page")
    context: dict[str, Any] = {
        "batch": found,
        "contents": _contents(found),
        "asked": asked,
        "ancestors": _ancestors(found, request.user),
    }
    sort = request.GET.get(PARAMETER, "")
    more = _hits(found, words, number) if words else _queries(found, number, sort)
    return render(request, "batches/batch.html", context | more)


@require_safe
@role_required(*READERS)
def query(request: HttpRequest, pk: int, position: int) -> HttpResponse:
    """Show one query with its parts, a page of each."""
    found = visible_batch(request.user, pk)
    stored = get_object_or_404(found.queries, position=position)
    asked = request.GET.get("q", "").strip()
    context = {
        "batch": found,
        "query": stored,
        "asked": asked,
        "position": position,
        "last": found.counts.get("queries", position + 1) - 1,
    }
    more = query_context(stored, request.GET.dict(), words_of(asked))
    return render(request, "batches/query.html", context | more)


def _ancestors(found: Batch, user: Any) -> list[dict[str, Any]]:
    """Return the lineage of a batch, from itself back to the one that was loaded."""
    return [
        {
            "batch": each.batch,
            "lineage": each.lineage,
            "how": summary(each.lineage) if each.lineage else "",
            "counts": list(count_lines(each.lineage.counts)) if each.lineage else [],
            "behind": each.behind,
            "again": derive_again_address(each.lineage) if each.behind and each.lineage else "",
        }
        for each in ancestors(found, visible_batches(user), behind_for(user))
    ]


QUERY_COLUMNS = (
    Column("query", "Query"),
    *(Column(name, name.capitalize(), is_number=True, highest_first=True) for name in PARTS),
)


def _queries(found: Batch, number: str | None, asked: str) -> dict[str, Any]:
    queries, order = found.queries.all(), order_of(QUERY_COLUMNS, asked)
    if order.by:
        queries = _sorted(queries, order)
    page = Paginator(queries, PAGE).get_page(number)
    ids = [query.pk for query in page.object_list]
    counts = {name: _counts(model, ids) for name, model in PARTS.items()}
    rows = [
        {"query": query, "counts": [counts[name].get(query.pk, 0) for name in PARTS]}
        for query in page.object_list
    ]
    return {
        "page": page,
        "rows": rows,
        "parts": PARTS,
        "heads": heads_of(QUERY_COLUMNS, order),
        "sorted": urlencode({PARAMETER: str(order)}) if order.by else "",
    }


def _sorted(queries: QuerySet[Query], order: Order) -> QuerySet[Query]:
    """Sort queries by their id, or by the number of parts of a kind."""
    if order.by == "query":
        return queries.order_by(_directed("key", order.is_descending))
    parts = PARTS[order.by]._default_manager.filter(query=OuterRef("pk")).order_by()
    number = Subquery(parts.values("query").annotate(n=Count("pk")).values("n"))
    counted = queries.annotate(number=Coalesce(number, 0))
    return counted.order_by(_directed("number", order.is_descending), "position")


def _directed(field: str, is_descending: bool) -> OrderBy:
    """Order by a field; rows without a value come last."""
    one = F(field)
    return one.desc(nulls_last=True) if is_descending else one.asc(nulls_last=True)


def _hits(found: Batch, words: list[str], number: str | None) -> dict[str, Any]:
    everywhere = find(found, words)
    page = Paginator(everywhere[:MOST_HITS], HITS).get_page(number)
    more = len(everywhere) > MOST_HITS
    return {"page": page, "hits": hits(page.object_list, words), "words": words, "more": more}


def _contents(batch: Batch) -> list[tuple[int, str]]:
    """Return the number and the name of each kind of part in a batch."""
    return [(count, name.replace("_", " ")) for name, count in batch.counts.items() if count]


def _counts(model: type[Model], queries: list[int]) -> dict[int, int]:
    """Count the parts of a kind that each query has, by the query's primary key."""
    rows = model._default_manager.filter(query__in=queries).order_by().values("query")
    return {row["query"]: row["number"] for row in rows.annotate(number=Count("pk"))}


@require_safe
@role_required(*READERS)
def format_file(request: HttpRequest, name: str) -> HttpResponse:
    chosen = FORMAT_FILES[name]
    response = HttpResponse(chosen.read(), content_type=f"{chosen.media_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{chosen.name}"'
    return response
