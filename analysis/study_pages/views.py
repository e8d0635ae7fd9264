"""Pages of studies: the list, the chain of one study, and a researcher's first page."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from analysis.study.access import (
    chains_by_hand,
    readable_root,
    readable_studies,
    readable_study,
)
from analysis.study.cards import Chain
from analysis.study.chain import chain_by_hand, chain_of_study
from analysis.study_pages.figures import study_figures
from annotation.access import get_account
from annotation.models import User
from datasets.access import READERS, role_required

PAGE = MOST_CAMPAIGNS = 50


@require_safe
@role_required(*READERS)
def studies(request: HttpRequest) -> HttpResponse:
    """List the studies applied from files, and the chains created without a file."""
    user = get_account(request)
    counted = readable_studies(user).annotate(
        batches=Count("parts", Q(parts__kind="batch")),
        campaigns=Count("parts", Q(parts__kind="campaign")),
    )
    page = Paginator(counted, PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "by_hand": chains_by_hand(user)[:PAGE]}
    return render(request, "studies/list.html", context)


@require_safe
@role_required(*READERS)
def study(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the figures and the chain of a study that was applied from its file."""
    user = get_account(request)
    found = readable_study(user, pk)
    return _page(request, user, chain_of_study(found, user), {"study": found})


@require_safe
@role_required(*READERS)
def batch_chain(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the figures and the chain of a batch, from as far back as the account may read."""
    user = get_account(request)
    root = readable_root(user, pk)
    return _page(request, user, chain_by_hand(root, user, MOST_CAMPAIGNS), {"root": root})


def _page(request: HttpRequest, user: User, chain: Chain, context: dict[str, Any]) -> HttpResponse:
    """Render the page with the last figures; for htmx these alone, and ask for newer ones.

    Without scripts, `now` in the address asks for newer ones.
    """
    in_place = bool(request.htmx)  # type: ignore[attr-defined]
    figures = study_figures(request, user, chain.campaigns, in_place or "now" in request.GET)
    if in_place and figures.seen and request.GET.get("seen") == figures.seen:
        return HttpResponse(status=204)
    context |= {"chain": chain, "figures": figures, "first": not in_place}
    name = "studies/_figures.html" if in_place else "studies/study.html"
    return render(request, name, context)


@require_safe
@role_required(*READERS)
def start(request: HttpRequest) -> HttpResponse:
    """Redirect a researcher with a single study to it, and all others to the campaigns."""
    user = get_account(request)
    applied = list(readable_studies(user).values_list("pk", flat=True)[:2])
    by_hand = [] if len(applied) > 1 else chains_by_hand(user)[:2]
    if len(applied) + len(by_hand) != 1:
        return redirect("campaigns")
    return redirect("study", applied[0]) if applied else redirect("batch-chain", by_hand[0].pk)
