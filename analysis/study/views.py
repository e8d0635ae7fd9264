"""Pages of studies: the list, the chain of one study, and a researcher's first page."""

from __future__ import annotations

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
from analysis.study.chain import chain_by_hand, chain_of_study
from annotation.access import get_account
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
    """Draw the chain of a study that was applied from its file."""
    user = get_account(request)
    found = readable_study(user, pk)
    context = {"study": found, "chain": chain_of_study(found, user)}
    return render(request, "studies/study.html", context)


@require_safe
@role_required(*READERS)
def batch_chain(request: HttpRequest, pk: int) -> HttpResponse:
    """Draw the chain of a batch, from as far back as the account may read."""
    user = get_account(request)
    root = readable_root(user, pk)
    chain = chain_by_hand(root, user, MOST_CAMPAIGNS)
    return render(request, "studies/study.html", {"root": root, "chain": chain})


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
