"""The judges of a campaign: agreement with people, cost and progress.

Agreement comes from the last finished report and costs from the last finished comparison, each with
its age. Only a run's progress comes directly from the counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.attention import Facts, facts_of
from analysis.campaigns.cache import labels_since
from analysis.campaigns.report_job import REPORT
from analysis.campaigns.report_job import question as report_question
from analysis.cockpit.missing import Missing
from analysis.cockpit.tiles import jobs_for_page
from annotation.access import get_account, is_blind, readable_campaign
from annotation.counters import answers, answers_by_rater, raters_in
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from annotation.models import Campaign, Item, Rater
from annotation.people.membership import may_manage
from datasets.access import READERS, role_required
from datasets.models import Job
from datasets.work import queue, results
from judging.display import (
    Progress,
    RunStatus,
    describe_status,
    progress_of,
    seconds_in_words,
    with_clock,
)
from judging.judges import BASELINE
from judging.kinds import COMPARISON, compared_runs, comparison_question
from judging.models import ACTIVE, Judge, JudgeRun
from tandem.labels.selection import ReportOptions
from tandem.types import JSON

LOOK = "judges"


@dataclass(frozen=True)
class JudgeRow:
    """A judge of a campaign. `judge` and `run` are None if its labels come from a file.

    `done`, `failed` and `open` count its requests. `figures` come from the report, for the page's
    variable, and `spent` from the comparison; both are None if unknown, and `why_no_figures` says
    why there are none. `progress` belongs to an active run, and `left` is its remaining time in
    words.
    """

    name: str
    judge: Judge | None
    run: JudgeRun | None
    status: RunStatus | None
    progress: Progress | None
    done: int
    failed: int
    open: int
    figures: JSON | None
    why_no_figures: str
    spent: Mapping[str, Any] | None

    @property
    def left(self) -> str:
        return seconds_in_words(self.progress.left) if self.progress else ""


@require_safe
@role_required(*READERS)
def judges(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the page with the last figures; for htmx its changing part, and ask for newer ones.

    Without scripts, `now` in the address asks for newer ones.
    """
    campaign, user = readable_campaign(request, pk), get_account(request)
    in_place, blind = bool(request.htmx), is_blind(user, campaign)  # type: ignore[attr-defined]
    jobs: list[Job] = []
    if in_place or "now" in request.GET:
        asked = {COMPARISON: comparison_question(campaign)}
        if not blind:
            asked[REPORT] = report_question(campaign, ReportOptions())
        jobs = jobs_for_page(request, asked, reverse("judges-compared", args=[pk]))
    is_computing = any(job.kind == REPORT and job.state in queue.ACTIVE for job in jobs)
    context = _context(request, campaign, blind, is_computing)
    seen = _page_state(jobs, context["rows"])
    if in_place and seen and request.GET.get("seen") == seen:
        return HttpResponse(status=204)
    under_way = [job for job in jobs if queue.is_under_way(job)]
    polled = {"seen": seen, **{job.kind: job.key for job in jobs}}
    if context["variables"]:
        polled["variable"] = context["variable"]
    context |= {
        "manages": may_manage(user, pk),
        "under_way": under_way,
        "failed": next((job for job in jobs if job.state == Job.State.FAILED), None),
        "polls": bool(under_way) or any(row.progress for row in context["rows"]),
        "poll": f"{request.path}?{urlencode(polled)}",
    }
    name = "cockpit/_judges.html" if in_place else "cockpit/judges.html"
    return render(request, name, context)


def _context(
    request: HttpRequest, campaign: Campaign, blind: bool, is_computing: bool
) -> dict[str, Any]:
    (facts,) = facts_of([campaign.pk])
    report = None if blind else facts.report
    variables = [each["name"] for each in (report or {}).get("variables", ())]
    asked_variable = request.GET.get("variable", "")
    variable = asked_variable if asked_variable in variables else next(iter(variables), "")
    compared, compared_at = _last_comparison(campaign)
    blocks = [each for each in (report or {}).get("variables", ()) if each["name"] == variable]
    missing = Missing(facts, next(iter(blocks), {}), is_computing)
    rows = _rows(facts, _figures(campaign, blocks), compared, missing)
    return {
        "campaign": campaign,
        "rows": rows,
        "variables": variables if len(variables) > 1 else [],
        "variable": variable,
        "hidden": blind,
        "report_at": facts.report_at if report else None,
        "newer": labels_since(campaign, report.get("newest", 0)) if report else 0,
        "compared_at": compared_at,
        "compared": [row for row in compared if row["judge"].base_id is None],
        "trials": [row for row in compared if row["judge"].base_id],
        "has_baseline": any(row.judge and row.judge.backend == BASELINE for row in rows),
        "people_done": facts.campaign.people_done,  # type: ignore[attr-defined]  # of with_counts
    }


def _figures(campaign: Campaign, blocks: Sequence[JSON]) -> Mapping[str, JSON]:
    """Return the judges' figures by name, and record that they are shown.

    Figures over fewer than `FEWEST_UNITS` units are left out, so that the page exposes no labels.
    """
    found = {
        each["name"]: each
        for block in blocks
        for each in block["judges"]
        if each["units"] >= FEWEST_UNITS
    }
    if found:
        saw_figures(LOOK, campaign, min(each["units"] for each in found.values()))
    return found


def _last_comparison(campaign: Campaign) -> tuple[list[dict[str, Any]], Any]:
    """Return the rows of the last finished comparison, and when it ended."""
    last = queue.last_finished(queue.question_of(COMPARISON, comparison_question(campaign)))
    if last is None:
        return [], None
    try:
        return compared_runs(last), last.ended_at
    except results.GoneError:
        return [], None


def _rows(
    facts: Facts,
    figures: Mapping[str, JSON],
    compared: Sequence[Mapping[str, Any]],
    missing: Missing,
) -> list[JudgeRow]:
    campaign = facts.campaign
    counts = answers_by_rater(campaign)
    raters = Rater.objects.filter(kind=Rater.Kind.JUDGE)
    there = raters.filter(pk__in=raters_in(campaign.pk)).select_related("judge").order_by("name")
    newest = with_clock(JudgeRun.objects.filter(pk__in=[run.pk for run in facts.runs]))
    runs = {run.judge.rater_id: run for run in newest}
    spent = {row["judge"].pk: row for row in compared}
    rows = []
    for rater in there:
        run, judge = runs.get(rater.pk), getattr(rater, "judge", None)
        known = counts.get(rater.pk, {})
        done, failed, waiting = (
            sum(known.get(answers(use, status, False), 0) for use in Item.Use.values)
            for status in ("done", "failed", "open")
        )
        figure = figures.get(rater.name)
        rows.append(
            JudgeRow(
                rater.name,
                judge,
                run,
                describe_status(run) if run else None,
                progress_of(run) if run and run.state in ACTIVE else None,
                done,
                failed,
                waiting,
                figure and missing.fresh(figure, "value"),
                "" if figure or not done else missing.of_judge(rater.name),
                spent.get(judge.pk) if judge else None,
            )
        )
    return rows


def _page_state(jobs: Sequence[Job], rows: Sequence[JudgeRow]) -> str:
    """Return a short text that changes whenever the polled part of the page changes."""
    moving = [f"{job.key}-{job.state}" for job in jobs]
    moving += [
        f"{row.run.pk}-{row.status.word}-{row.done}-{row.failed}"
        for row in rows
        if row.run and row.status
    ]
    return ".".join(moving).replace(" ", "_")
