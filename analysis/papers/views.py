"""Pages and files of a study's tables.

Pages show the last tables at once; a job computes new ones.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.pages import attached
from analysis.papers.index import PAPERS
from analysis.papers.options import TableForm
from analysis.papers.rendering import FORMATS, document
from analysis.papers.stored import paper_called, readable_study
from analysis.papers.tables_job import TABLES, question
from annotation.access import get_account
from annotation.models import Campaign
from audit.recording import record_export
from datasets.access import READERS, found_or_404, role_required
from datasets.work import pages as jobs
from datasets.work import results
from judging.access import blind_page


@require_safe
@role_required(*READERS)
def tables(request: HttpRequest, pk: int, paper: str) -> HttpResponse:
    """Render the tables with their job's status; htmx gets this part of the page alone."""
    study, campaigns = readable_study(get_account(request), pk)
    chosen = paper_called(paper)
    if blind := _blind(request, campaigns):
        return blind
    form = TableForm(jobs.options_of(request), chosen, study)
    shown = None
    if form.is_valid():
        page = jobs.address_of(request)
        asked = question(chosen, study, form.given)
        made = jobs.result_or_progress(request, TABLES, asked, page, page)
        if isinstance(made, HttpResponse):
            return made
        shown = made
    context = {
        "study": study,
        "campaigns": campaigns,
        "paper": chosen,
        "papers": PAPERS.values(),
        "formats": FORMATS.values(),
        "form": form,
        "query": jobs.options_of(request).urlencode(),
        "shown": shown,
        "document": document(shown.value) if shown and shown.value else None,
    }
    name = "papers/body.html" if request.htmx else "papers/tables.html"  # type: ignore[attr-defined]
    return render(request, name, context, status=200 if shown else 422)


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int, paper: str, suffix: str) -> HttpResponse:
    """Return the tables as a file, in the format of that suffix."""
    study, campaigns = readable_study(get_account(request), pk)
    chosen = paper_called(paper)
    form = found_or_404(next((each for each in FORMATS.values() if each.suffix == suffix), None))
    if blind := _blind(request, campaigns):
        return blind
    page = jobs.address_of(request, reverse("study-paper", args=[pk, paper]))
    options = TableForm(jobs.options_of(request), chosen, study)
    if not options.is_valid():
        return redirect(page)
    asked = jobs.follow(request, TABLES, question(chosen, study, options.given))
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, page)
    try:
        report = results.value(asked.job)
    except results.GoneError:
        return redirect(request.get_full_path())
    for campaign in campaigns:
        record_export(request, campaign.pk, "paper", suffix)
    return attached(form.render(report), form.media_type, f"{paper}-{study.pk}.{suffix}")


def _blind(request: HttpRequest, campaigns: list[Campaign]) -> HttpResponse | None:
    """Return the page for a person with an open item in one of the campaigns."""
    return next(filter(None, (blind_page(request, campaign) for campaign in campaigns)), None)
