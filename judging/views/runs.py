"""Pages of runs: estimate and start one, watch and control it, and list its calls.

Jobs compute estimates and manifests.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import (
    check_managed_campaign,
    get_account,
    is_blind,
    managed_campaign,
    readable_campaign,
)
from annotation.models import Campaign, Label
from annotation.people.membership import may_manage
from annotation.presentation import ForgottenItemError
from audit.recording import record_export
from datasets.access import READERS, TeamError, role_required
from datasets.text import as_sentence, number_in
from datasets.work import pages as jobs
from datasets.work import wake
from judging.access import (
    BLIND,
    blind_page,
    manageable_judges,
    managed_judge,
    managed_run,
    note_call_look,
    visible_calls,
    visible_judge,
    visible_run,
)
from judging.answer_files import replays_other_items
from judging.answers.asked import asked_by
from judging.answers.results import answer_of
from judging.backends.base import SetupError
from judging.costs import cost_of_stored_call, count_tokens, format_dollars
from judging.display import (
    describe_status,
    first_batch_file,
    is_cut,
    is_leased,
    logprob_facts,
    make_displayable,
    progress_of,
    seconds_in_words,
)
from judging.judge_backends import build_backend
from judging.judges import JudgeError, baseline_judge
from judging.kinds import ESTIMATE, MANIFEST, estimate_in, estimate_question, manifest_question
from judging.manifest import warnings_of
from judging.models import ACTIVE, Judge, JudgeCall, JudgeRun
from judging.prompts.repair import is_readable
from judging.prompts.request import Preparer
from judging.prompts.template import PromptError
from judging.run_forms import CampaignForm, SpeedForm, StartForm
from judging.runs import ledger
from judging.runs import lifecycle as runs
from judging.runs.prompts import checked_prompt
from judging.runs.shards import count_assistants
from judging.servers import address_of, missing_key
from judging.tasks import NOT_STARTED, NothingOpenError, begin, go_on, resume
from judging.trial_effects import mass_warning


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def start(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the estimate of a run over the chosen campaign, and start the run on POST."""
    posted = request.method == "POST"
    judge = managed_judge(request, pk) if posted else visible_judge(request, pk)
    chosen = CampaignForm(
        request.POST if posted else request.GET or None, user=get_account(request)
    )
    if not chosen.is_valid():
        status = 422 if chosen.is_bound else 200
        context = {"judge": judge, "chosen": chosen}
        return render(request, "judges/start.html", context, status=status)
    campaign = chosen.cleaned_data["campaign"]
    if posted:
        check_managed_campaign(get_account(request), campaign)
    if not posted:
        return _start_page(request, judge, campaign, _start_form(request))
    form = StartForm(request.POST)
    if not form.is_valid():
        return _start_page(request, judge, campaign, form, 422)
    if "estimate" in request.POST:
        return _start_page(request, judge, campaign, form)
    try:
        run = begin(judge, campaign, form.cleaned_data)
    except (NothingOpenError, *NOT_STARTED) as error:
        form.add_error(None, as_sentence(error))
        return _start_page(request, judge, campaign, form, 409)
    return redirect("judge-run", run.pk)


LIMITS = ("reuse", "limit", "concurrency")
"""The limits that an estimate depends on."""


def _start_form(request: HttpRequest) -> StartForm:
    """Return the form with the limits in the address, where the page follows their estimate."""
    named = {name: request.GET[name] for name in LIMITS if request.GET.get(name)}
    if named and (form := StartForm({"reuse": JudgeRun.Reuse.NEVER, **named})).is_valid():
        return form
    return StartForm(initial={"reuse": JudgeRun.Reuse.NEVER})


@require_safe
@role_required(*READERS)
def start_here(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the estimate of a run over this campaign, with a choice of the judges that fit it.

    `judge` in the address chooses one. By default it is the judge that ran here last. If that is
    done, it is another one that can start, or the first.
    """
    campaign, user = readable_campaign(request, pk), get_account(request)
    judges = manageable_judges(user)
    ran = list(runs_of(campaign).values_list("judge", "state"))
    chosen = request.GET.get("judge", "")
    judge = judges.filter(pk=chosen).first() if chosen.isascii() and chosen.isdigit() else None
    of_mine = judges[:MOST_JUDGES]
    offered = [each for each in of_mine if _fits(campaign, each)]
    unfit = len(of_mine) - len(offered)
    judge = (
        judge
        or _proposed_judge(offered, ran)
        or judges.filter(pk__in=[r for r, _ in ran[:1]]).first()
    )
    if judge is None:
        return _first_page(request, campaign)
    if judge not in offered:
        offered.insert(0, judge)
    proposed = _start_form(request)
    return _start_page(request, judge, campaign, proposed, judges=offered, unfit=unfit)


def _proposed_judge(offered: Sequence[Judge], ran: Sequence[tuple[int, str]]) -> Judge | None:
    """Choose a judge by the campaign's runs, newest first. A judge that is done comes last."""
    begun = {judge for judge, _ in ran}
    fresh = next((each for each in offered if each.pk not in begun), None)
    if not ran:
        return fresh
    last, state = ran[0]
    newest = next((each for each in offered if each.pk == last), None)
    return fresh or newest if state == JudgeRun.State.DONE else newest


def _fits(campaign: Campaign, judge: Judge) -> bool:
    """Return whether a judge can answer a campaign, and does not replay a file about another."""
    try:
        runs.check_fit(campaign, judge)
        return not replays_other_items(judge, campaign)
    except SetupError:
        return False


def _first_page(
    request: HttpRequest, campaign: Campaign, problem: str = "", status: int = 200
) -> HttpResponse:
    """Render the page for a reader who has no judge yet that could answer the campaign."""
    manages = may_manage(get_account(request), campaign.pk)
    context = {"campaign": campaign, "manages": manages, "problem": problem}
    return render(request, "judges/start_here.html", context, status=status)


@require_POST
@role_required(*READERS)
def start_baseline(request: HttpRequest, pk: int) -> HttpResponse:
    """Run the judge that compares words. It is created if the account has none yet."""
    campaign, user = managed_campaign(request, pk), get_account(request)
    try:
        judge = baseline_judge(campaign, user)
        # A second click does not start a second run.
        if not runs.active_runs(campaign, judge).exists():
            begin(judge, campaign, {})
    except NothingOpenError:
        pass
    except (*NOT_STARTED, JudgeError, TeamError) as error:
        return _first_page(request, campaign, as_sentence(error), 409)
    return redirect("judges-compared", pk)


def runs_of(campaign: Campaign) -> QuerySet[JudgeRun]:
    """Return the runs of judges over a campaign, without those of trials, the newest first."""
    return JudgeRun.objects.filter(campaign=campaign, judge__base=None).order_by("-pk")


def _start_page(
    request: HttpRequest,
    judge: Judge,
    campaign: Campaign,
    form: StartForm,
    status: int = 200,
    judges: Sequence[Judge] = (),
    unfit: int = 0,
) -> HttpResponse:
    """Render the page, or for htmx the part with the estimate, which a job computes.

    The reader can choose among `judges`. `unfit` counts those that cannot answer the campaign.
    """
    bound = form.cleaned_data if form.is_bound and form.is_valid() else {}
    given = {name: bound[name] for name in LIMITS if bound.get(name)}
    chosen = {"judge": judge.pk} if judges else {"campaign": campaign.pk}
    address = f"{request.path}?{urlencode({**chosen, **given})}"
    question = estimate_question(judge, campaign, given)
    asked = jobs.follow(request, ESTIMATE, question, address)
    shown = jobs.result_or_progress_of(request, asked, address, address, "#estimated", estimate_in)
    if isinstance(shown, HttpResponse):
        return shown
    active = runs.active_runs(campaign, judge).first()
    context = {
        "judge": judge,
        "campaign": campaign,
        "form": form,
        "judges": judges,
        "unfit": unfit,
        "shown": shown,
        "estimate": shown.value,
        "active": active,
        "answered": 0 if active else _answered_before(judge, campaign),
        "missing_key": missing_key(judge),
        "out": first_batch_file(active) if active else None,
    }
    part = request.htmx and request.method == "GET"  # type: ignore[attr-defined]
    name = "judges/_estimate.html" if part else "judges/start.html"
    return render(request, name, context, status=status)


def _answered_before(judge: Judge, campaign: Campaign) -> int:
    """Count the requests with a result of a judge whose last run here ended early.

    0 if there was no run, or if it asked everything.
    """
    last = runs_of(campaign).filter(judge=judge).first()
    if last is None or last.state in (*ACTIVE, JudgeRun.State.DONE):
        return 0
    counts = ledger.count_by_status(campaign, judge)
    return counts.get("done", 0) + counts.get("failed", 0)


@require_safe
@role_required(*READERS)
def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = visible_run(request, pk)
    form = _speed_form(found)
    return render(request, "judges/run.html", {**_context(found), "form": form})


@require_safe
@role_required(*READERS)
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the part of a run's page that is polled. After the run, the page is reloaded."""
    context = _context(visible_run(request, pk))
    response = render(request, "judges/_live.html", context)
    if context["progress"].ended and request.headers.get("HX-Request"):
        response["HX-Refresh"] = "true"
    return response


def _speed_form(run: JudgeRun) -> SpeedForm:
    return SpeedForm(initial={"concurrency": run.most_at_once, "workers": run.workers})


def _context(found: JudgeRun) -> dict[str, Any]:
    progress = progress_of(found)
    masses = found.manifest.get("label_mass")
    return {
        "run": found,
        "progress": progress,
        "warnings": warnings_of(found),
        "offered": found.manifest.get("probe", {}).get("facts", {}).get("offers_decisions", ""),
        "low_mass": mass_warning(masses) if masses else "",
        "at_work": count_assistants(found) + is_leased(found),
        "left": seconds_in_words(progress.left),
        "per_minute": round(progress.rate * 60, 1) if progress.rate else None,
    }


@require_POST
@role_required(*READERS)
def order(request: HttpRequest, pk: int) -> HttpResponse:
    """Stop or cancel a run, resume its server, work on it here, or set its speed.

    A run that ended early goes on as a new run.
    """
    found, given = managed_run(request, pk), request.POST.get("order", "")
    if given == "speed":
        form = SpeedForm(request.POST)
        if not form.is_valid():
            return render(request, "judges/run.html", {**_context(found), "form": form}, status=422)
        if form.cleaned_data["concurrency"] != found.most_at_once:
            runs.set_concurrency(found, form.cleaned_data["concurrency"])
        if form.cleaned_data["workers"] != found.workers:
            runs.set_workers(found, form.cleaned_data["workers"])
    elif given == "stop":
        runs.ask_to_stop(found)
    elif given == "cancel":
        runs.ask_to_cancel(found)
    elif given == "resume" and found.lane is not None:
        resume(found)
    elif given == "go-on" and found.ended_early and found.state not in ACTIVE:
        try:
            return redirect("judge-run", go_on(found).pk)
        except (NothingOpenError, *NOT_STARTED) as error:
            form = _speed_form(found)
            context = {**_context(found), "form": form, "problem": as_sentence(error)}
            return render(request, "judges/run.html", context, status=409)
    elif given == "here" and describe_status(found).untaken:
        wake.start_here()
        back = request.POST.get("back")
        if back == "judges":
            return redirect("judges-compared", found.campaign_id)
        if back == "trials" and found.judge.base_id:
            return redirect(trials_address(found.campaign_id, found.judge.base_id))
    return redirect("judge-run", pk)


def trials_address(campaign: int, judge: int) -> str:
    """Return the address of the trials of a judge in a campaign."""
    return f"{reverse('campaign-trials', args=[campaign])}?{urlencode({'judge': judge})}"


@require_safe
@role_required(*READERS)
def manifest(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Download the run's manifest."""
    found = visible_run(request, pk)
    if blind := blind_page(request, found.campaign):
        return blind
    record = partial(record_export, request, found.campaign_id, "manifest", "json", found)
    back = reverse("judge-run", args=[pk])
    return jobs.file(request, MANIFEST, manifest_question(found), back, record)


PAGE = 50
MOST_JUDGES = 200
UNREBUILDABLE = (SetupError, PromptError, ForgottenItemError, KeyError)


@require_safe
@role_required(*READERS)
def calls(request: HttpRequest, pk: int) -> HttpResponse:
    run = visible_run(request, pk)
    counted = run.judge_calls.order_by().values("state").annotate(number=Count("pk"))
    states = dict(counted.values_list("state", "number").order_by("-number", "state"))
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in states else ""
    rows = run.judge_calls.select_related("assignment__item").order_by("-pk")
    rows = rows.filter(state=chosen) if chosen else rows
    page = Paginator(rows.defer("completion", "reasoning", "body", "logprobs"), PAGE)
    context = {"run": run, "states": states, "chosen": chosen, "total": sum(states.values())}
    context["page"] = page.get_page(request.GET.get("page"))
    return render(request, "judges/calls.html", context)


@require_safe
@role_required(*READERS)
def call(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(
        visible_calls(get_account(request)).select_related(
            "run__judge__rater",
            "run__campaign",
            "assignment__item__campaign",
            "assignment__item__query",
            "assignment__item__report",
            "assignment__rater",
        ),
        pk=pk,
    )
    if is_blind(get_account(request), found.run.campaign):
        context = {"call": found, "run": found.run, "blind": BLIND}
        return render(request, "judges/call.html", context)
    note_call_look(found)
    raw, unit = found.completion, number_in(request.GET.get("unit", "")) or None
    labels = _labels(found)
    context = {
        "call": found,
        "run": found.run,
        "came_from": unit,
        "asked": asked_by(found, labels, unit),
        "has_labels": bool(labels),
        "tokens": count_tokens(found.usage) if found.usage else None,
        "cost": format_dollars(cost_of_stored_call(found)),
        "raw": None if raw is None else make_displayable(raw),
        "raw_cut": raw is not None and is_cut(raw),
        "reasoning": make_displayable(found.reasoning),
        "reasoning_cut": is_cut(found.reasoning),
        "body": make_displayable(found.body, 8000),
        "usage": make_displayable(json.dumps(found.usage, ensure_ascii=False, indent=2), 4000),
        "logprobs": logprob_facts(found.logprobs),
        "address": address_of(found),
        **_rebuilt_request(found),
    }
    return render(request, "judges/call.html", context)


def _rebuilt_request(call: JudgeCall) -> dict[str, Any]:
    """Rebuild the request from stored data, and return whether it is still the same."""
    try:
        prepared = _preparer(call).prepare(call.assignment)
    except UNREBUILDABLE as error:
        return {"lost": f"{type(error).__name__}: {error}"}
    messages = [(m.role, make_displayable(m.content)) for m in prepared.request.messages]
    # A repair shows the request before it, since its own also contains the answer to that.
    same = call.repair or prepared.request_hash == call.request_hash
    return {"messages": messages, "same": same}


def _preparer(call: JudgeCall) -> Preparer:
    campaign, judge = call.run.campaign, call.run.judge
    prompt = checked_prompt(judge, campaign)
    return Preparer(campaign, judge, prompt, build_backend(judge))


def _is_current(call: JudgeCall) -> bool:
    """Return whether the current answer is from this call: the last call, or the call before an
    unreadable repair.
    """
    rows = JudgeCall.objects.filter(assignment=call.assignment_id, state="answered")
    later = list(rows.filter(pk__gt=call.pk))
    if call.repair:
        return not later and _is_readable(call)
    return not any(not each.repair or _is_readable(each) for each in later)


def _is_readable(call: JudgeCall) -> bool:
    """Return whether a call's answer is readable, assumed so if its request cannot be rebuilt."""
    try:
        prepared = _preparer(call).prepare(call.assignment)
    except UNREBUILDABLE:
        return True
    return is_readable(prepared, answer_of(call))


def _labels(call: JudgeCall) -> list[Label]:
    """Return the current labels if they are from this call."""
    if call.state != "answered" or not _is_current(call):
        return []
    labels = Label.objects.filter(
        response__assignment=call.assignment_id, response__current=True
    ).prefetch_related("spans")
    return list(labels.order_by("unit__position", "pk"))
