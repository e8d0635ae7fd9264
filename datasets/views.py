"""An admin's home: the loaded batches, and what each holds."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Count, Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from datasets.access import role_required
from datasets.models import Batch, Grounding, KeyPoint, Question, Ranking, Report

PAGE = 50
PARTS: dict[str, type[Model]] = {
    "questions": Question,
    "passages": Grounding,
    "key points": KeyPoint,
    "reports": Report,
    "rankings": Ranking,
}


@require_safe
@role_required("researcher", "admin")
def batches(request: HttpRequest) -> HttpResponse:
    rows = [{"batch": batch, "held": _held(batch)} for batch in Batch.objects.all()]
    return render(request, "batches/list.html", {"rows": rows})


@require_safe
@role_required("researcher", "admin")
def batch(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Batch, pk=pk)
    page = Paginator(found.queries.all(), PAGE).get_page(request.GET.get("page"))
    ids = [query.pk for query in page.object_list]
    counts = {name: _counts(model, ids) for name, model in PARTS.items()}
    rows = [
        {"query": query, "counts": [counts[name].get(query.pk, 0) for name in PARTS]}
        for query in page.object_list
    ]
    context = {"batch": found, "held": _held(found), "page": page, "rows": rows, "parts": PARTS}
    return render(request, "batches/batch.html", context)


def _held(batch: Batch) -> list[tuple[int, str]]:
    """What a batch holds, in words."""
    return [(count, name.replace("_", " ")) for name, count in batch.counts.items() if count]


def _counts(model: type[Model], queries: list[int]) -> dict[int, int]:
    """How many parts of a kind each of the queries has, by the query's id."""
    rows = model._default_manager.filter(query__in=queries).order_by().values("query")
    return {row["query"]: row["number"] for row in rows.annotate(number=Count("pk"))}
