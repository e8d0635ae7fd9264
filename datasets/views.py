"""Pages of batches, the search in a batch, and the native format's schema and example."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from datasets.access import READERS, role_required
from datasets.behind import behind_for
from datasets.lineage import ancestors, count_lines, derive_again_address, summary
from datasets.models import (
    Batch,
    Grounding,
    KeyPoint,
    Question,
    Ranking,
    Report,
    Upload,
)
from datasets.native_format import FORMAT_FILES
from datasets.query_page import query_context
from datasets.search import MOST_HITS, find, hits, words_of
from datasets.teams import visible_batch, visible_batches
from datasets.uploads.decisions import STATUS_NAMES
from datasets.uploads.receiving import uploads_of

PAGE, HITS = 50, 25
PARTS: dict[str, type[Model]] = {
    "questions": Question,
    "passages": Grounding,
    "key points": KeyPoint,
    "reports": Report,
    "rankings": Ranking,
}


@require_safe
@role_required(*READERS)
def batches(request: HttpRequest) -> HttpResponse:
    page = Paginator(visible_batches(request.user), PAGE).get_page(request.GET.get("page"))
    rows = [{"batch": batch, "contents": _contents(batch)} for batch in page]
    ended = (Upload.State.KEPT, Upload.State.DISCARDED)
    own = uploads_of(request.user).exclude(state__in=ended)[:PAGE]
    uploads = [(upload, *STATUS_NAMES[Upload.State(upload.state)]) for upload in own]
    return render(request, "batches/list.html", {"rows": rows, "page": page, "uploads": uploads})


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
    more = _hits(found, words, number) if words else _queries(found, number)
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


def _queries(found: Batch, number: str | None) -> dict[str, Any]:
    page = Paginator(found.queries.all(), PAGE).get_page(number)
    ids = [query.pk for query in page.object_list]
    counts = {name: _counts(model, ids) for name, model in PARTS.items()}
    rows = [
        {"query": query, "counts": [counts[name].get(query.pk, 0) for name in PARTS]}
        for query in page.object_list
    ]
    return {"page": page, "rows": rows, "parts": PARTS}


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
