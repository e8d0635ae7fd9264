"""Pages of studies: the list, one study's chain, figures and evaluators, and a first page.

They are the last finished ones, as on each campaign's first page.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from analysis.attention import Facts, facts_of
from analysis.campaigns.evaluators import campaigns_of, stored_variables, study_evaluators
from analysis.campaigns.report_job import REPORT
from analysis.campaigns.report_job import question as report_question
from analysis.cockpit.tiles import Tiles, jobs_for_page, tiles_of
from analysis.models import Study
from analysis.study.access import (
    chains_by_hand,
    manages_study,
    readable_root,
    readable_studies,
    readable_study,
)
from analysis.study.cards import Chain
from analysis.study.chain import chain_by_hand, chain_of_study
from analysis.study.evaluators import declare, remove
from annotation.access import get_account, is_blind
from annotation.models import Campaign, User
from annotation.registry import get_protocol
from datasets.access import READERS, role_required
from datasets.models import Job
from datasets.work import queue
from tandem.labels.evaluators import Evaluator, EvaluatorError
from tandem.labels.selection import ReportOptions

MOST_ASKED = 6
"""The largest number of campaigns whose figures one visit asks for."""


@dataclass(frozen=True)
class CampaignFigures:
    """A campaign of a study with the figures of its first page."""

    campaign: Campaign
    title: str
    facts: Facts
    tiles: Tiles

    @property
    def has_answers(self) -> bool:
        return not self.tiles.is_new

    @property
    def weight(self) -> tuple[bool, int, bool, int]:
        """How much a reader of the study learns from this campaign."""
        tiles = self.tiles
        judges = len(tiles.judges) + tiles.more_judges
        units = tiles.people["units"] if tiles.people else 0
        return tiles.people is not None, judges, tiles.score is not None, units


@dataclass(frozen=True)
class StudyFigures:
    """The campaigns with answers: the one that says most, and the others in the study's order."""

    lead: CampaignFigures | None
    others: Sequence[CampaignFigures]
    jobs: Sequence[Job]

    @property
    def under_way(self) -> list[Job]:
        return [job for job in self.jobs if job.state in queue.ACTIVE]

    @property
    def seen(self) -> str:
        """A short text that changes whenever a job does."""
        return ".".join(f"{job.key}-{job.state}" for job in self.jobs)


def study_figures(
    request: HttpRequest, user: User, campaigns: Sequence[Campaign], asks: bool
) -> StudyFigures:
    """Return the figures of campaigns in a study's order. With `asks`, those that are due are asked
    for, and `jobs` are the jobs that compute them.
    """
    found = _figures(user, campaigns)
    jobs: dict[int, Job] = {}
    for each in _by_weight(found)[:MOST_ASKED] if asks else ():
        if not each.tiles.hidden:
            page = reverse("results", args=[each.campaign.pk])
            asked = {REPORT: report_question(each.campaign, ReportOptions())}
            for job in jobs_for_page(request, asked, page):
                jobs[each.campaign.pk] = job
    if jobs:
        # A job may have ended since the figures were read, and then nothing asks for them again.
        active = {pk for pk, job in jobs.items() if job.state in queue.ACTIVE}
        found = _figures(user, campaigns, active)
    lead = next(iter(_by_weight(found)), None)
    others = [each for each in found if each is not lead]
    return StudyFigures(lead, others, list(jobs.values()))


def _figures(
    user: User, campaigns: Sequence[Campaign], computing: Collection[int] = ()
) -> list[CampaignFigures]:
    """Return the figures of the campaigns with answers, in their order.

    Those `computing` have a job under way, and say so where they have no figures yet.
    """
    found = [
        CampaignFigures(
            facts.campaign,
            get_protocol(facts.campaign).title,
            facts,
            tiles_of(facts, is_blind(user, facts.campaign), facts.campaign.pk in computing),
        )
        for facts in facts_of([each.pk for each in campaigns])
    ]
    return [each for each in found if each.has_answers]


def _by_weight(found: Sequence[CampaignFigures]) -> list[CampaignFigures]:
    # Of two that say as much, the later one is closer to what the study is about.
    return sorted(found, key=lambda each: each.weight)[::-1]


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


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def evaluators(request: HttpRequest, pk: int) -> HttpResponse:
    """List the evaluators. Whoever manages all campaigns of the study declares and removes them."""
    user = get_account(request)
    study = readable_study(user, pk)
    manages, problem = manages_study(user, study), ""
    if request.method == "POST":
        if not manages:
            raise Http404
        try:
            _change(request, study)
            return redirect("study-evaluators", pk)
        except EvaluatorError as error:
            problem = f"{error}."
    found, wrong = _found(study)
    context = {
        "study": study,
        "manages": manages,
        "evaluators": found,
        "judges": _judges(study) if manages else [],
        "given": request.POST,
        "chosen": request.POST.getlist("judges"),
        "problem": problem or wrong,
    }
    status = 422 if problem else 200
    return render(request, "studies/evaluators.html", context, status=status)


def _found(study: Study) -> tuple[tuple[Evaluator, ...], str]:
    """Return the study's evaluators, or those declared and why they do not fit the labels."""
    try:
        return study_evaluators(study), ""
    except EvaluatorError as error:
        declared = (Evaluator(name, tuple(of), True) for name, of in study.evaluators.items())
        return tuple(declared), f"{error}."


def _judges(study: Study) -> list[str]:
    labelled = stored_variables(campaigns_of(study))
    return sorted({judge for _, variables in labelled for judge in variables})


def _change(request: HttpRequest, study: Study) -> None:
    if name := request.POST.get("remove"):
        remove(study, name)
        return
    judges = list(dict.fromkeys(request.POST.getlist("judges")))
    if strange := [judge for judge in judges if judge not in _judges(study)]:
        raise EvaluatorError(f"judge {strange[0]!r} has no label in this study; choose others")
    declare(study, {request.POST.get("name", "").strip(): judges})
