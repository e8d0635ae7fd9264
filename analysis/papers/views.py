"""Pages of a study's tables: the frame at once, the tables when they are computed, and files."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from analysis.pages import attached
from analysis.papers import PAPERS
from analysis.papers.reading import computed_tables, paper_called, readable_study
from analysis.papers.rendering import FORMATS, document
from annotation.access import get_account
from annotation.models import Campaign
from audit.recording import record_export
from datasets.access import READERS, role_required
from judging.access import blind_page


@require_safe
@role_required(*READERS)
def tables(request: HttpRequest, pk: int, paper: str) -> HttpResponse:
    """Render the frame of the page."""
    study, campaigns = readable_study(get_account(request), pk)
    chosen = paper_called(paper)
    context = {
        "study": study,
        "campaigns": campaigns,
        "paper": chosen,
        "papers": PAPERS.values(),
        "formats": FORMATS.values(),
        "published": _published(request),
    }
    return render(request, "papers/tables.html", context)


@require_safe
@role_required(*READERS)
def body(request: HttpRequest, pk: int, paper: str) -> HttpResponse:
    """Render the tables, as a part of the page."""
    study, campaigns = readable_study(get_account(request), pk)
    if blind := _blind(request, campaigns):
        return blind
    report = computed_tables(paper_called(paper), study, campaigns, _published(request))
    return render(request, "papers/body.html", {"document": document(report)})


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int, paper: str, suffix: str) -> HttpResponse:
    """Return the tables as a file, in the format of that suffix."""
    study, campaigns = readable_study(get_account(request), pk)
    form = next((each for each in FORMATS.values() if each.suffix == suffix), None)
    if form is None:
        raise Http404
    if blind := _blind(request, campaigns):
        return blind
    report = computed_tables(paper_called(paper), study, campaigns, _published(request))
    for campaign in campaigns:
        record_export(request, campaign.pk, "paper", suffix)
    return attached(form.render(report), form.media_type, f"{paper}-{study.pk}.{suffix}")


def _published(request: HttpRequest) -> bool:
    return request.GET.get("published") == "1"


def _blind(request: HttpRequest, campaigns: list[Campaign]) -> HttpResponse | None:
    """Return the page for a person with an open item in one of the campaigns."""
    return next(filter(None, (blind_page(request, campaign) for campaign in campaigns)), None)
