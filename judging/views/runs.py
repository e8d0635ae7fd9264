"""Starting a run after its estimate, watching it, and what can be asked of it meanwhile."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Campaign
from audit.recording import record_export
from datasets.access import role_required
from judging.backends.base import SetupError
from judging.conditions.masses import warning_of
from judging.estimating import estimate
from judging.models import Judge, JudgeRun
from judging.pages.forms import CampaignForm, ConcurrencyForm, StartForm
from judging.pages.showing import file_of, progress_of, seconds_in_words, with_clock
from judging.prompting import PromptError
from judging.rows import runs
from judging.running.beginning import NothingOpenError, begin, resume
from judging.running.manifests import manifest_of
from judging.views.access import READERS, blind_page, person, runs_of


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def start(request: HttpRequest, pk: int) -> HttpResponse:
    """What a run over the chosen campaign will ask and cost, and with a POST its beginning."""
    judge = get_object_or_404(Judge.objects.select_related("rater"), pk=pk)
    posted = request.method == "POST"
    chosen = CampaignForm(request.POST if posted else request.GET or None, user=person(request))
    if not chosen.is_valid():
        status = 422 if chosen.is_bound else 200
        context = {"judge": judge, "chosen": chosen}
        return render(request, "judges/start.html", context, status=status)
    campaign = chosen.cleaned_data["campaign"]
    form = StartForm(request.POST if posted else None, initial={"reuse": JudgeRun.Reuse.NEVER})
    if not posted:
        return _start_page(request, judge, campaign, form)
    if not form.is_valid():
        return _start_page(request, judge, campaign, form, 422)
    if "estimate" in request.POST:
        return _start_page(request, judge, campaign, form)
    try:
        run = begin(judge, campaign, form.cleaned_data)
    except (
        NothingOpenError, runs.ChangedPromptError, runs.OutError, runs.HeldError, SetupError,
        PromptError,
    ) as error:  # fmt: skip
        form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return _start_page(request, judge, campaign, form, 409)
    return redirect("judge-run", run.pk)


def _start_page(
    request: HttpRequest, judge: Judge, campaign: Campaign, form: StartForm, status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {"judge": judge, "campaign": campaign, "form": form}
    context["active"] = active = runs.active(campaign, judge).first()
    context["out"] = file_of(active) if active else ""
    bound = form.cleaned_data if form.is_bound and form.is_valid() else {}
    try:
        given = {name: bound.get(name) for name in ("reuse", "limit", "concurrency")}
        context["estimate"] = estimate(judge, campaign, **{k: v for k, v in given.items() if v})
    except (SetupError, PromptError) as error:
        context["wrong"] = f"{str(error)[:1].upper()}{str(error)[1:]}."
    return render(request, "judges/start.html", context, status=status)


@require_safe
@role_required(*READERS)
def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = _run(request, pk)
    form = ConcurrencyForm(initial={"concurrency": _most_at_once(found)})
    return render(request, "judges/run.html", {**_context(found), "form": form})


@require_safe
@role_required(*READERS)
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """The moving part of a run's page. When the run has ended the whole page is fetched anew."""
    context = _context(_run(request, pk))
    response = render(request, "judges/_live.html", context)
    if context["progress"].ended and request.headers.get("HX-Request"):
        response["HX-Refresh"] = "true"
    return response


def _context(found: JudgeRun) -> dict[str, Any]:
    progress = progress_of(found)
    masses = found.manifest.get("label_mass")
    return {
        "run": found,
        "progress": progress,
        "warnings": found.manifest.get("warnings") or [],
        "low_mass": warning_of(masses) if masses else "",
        "left": seconds_in_words(progress.left),
        "per_minute": round(progress.rate * 60, 1) if progress.rate else None,
    }


def _most_at_once(run: JudgeRun) -> int:
    return int(run.concurrency or run.judge.params.get("concurrency") or 16)


@require_POST
@role_required(*READERS)
def order(request: HttpRequest, pk: int) -> HttpResponse:
    """Stop, cancel, resume the server, or another number of requests at once."""
    found, wanted = _run(request, pk), request.POST.get("order", "")
    if wanted == "concurrency":
        form = ConcurrencyForm(request.POST)
        if not form.is_valid():
            return render(request, "judges/run.html", {**_context(found), "form": form}, status=422)
        runs.set_concurrency(found, form.cleaned_data["concurrency"])
    elif wanted == "stop":
        runs.ask_to_stop(found)
    elif wanted == "cancel":
        runs.ask_to_cancel(found)
    elif wanted == "resume" and found.lane is not None:
        resume(found)
    return redirect("judge-run", pk)


@require_safe
@role_required(*READERS)
def manifest(request: HttpRequest, pk: int) -> HttpResponse:
    """All that the run was made with, as a file."""
    found = _run(request, pk)
    if blind := blind_page(request, found.campaign):
        return blind
    text = json.dumps(manifest_of(found), ensure_ascii=False, indent=2, sort_keys=True)
    record_export(request, found.campaign_id, "manifest", "json", found)
    response = HttpResponse(text + "\n", content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="run-{pk}.manifest.json"'
    return response


def _run(request: HttpRequest, pk: int) -> JudgeRun:
    return get_object_or_404(with_clock(runs_of(person(request))), pk=pk)
