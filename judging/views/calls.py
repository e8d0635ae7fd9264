"""Every call of a run: what was asked, what came back word for word, and what was made of it."""

from __future__ import annotations

import json
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.models import Label
from annotation.presenting import ForgottenItemError
from annotation.views.mine import is_blind
from datasets.access import role_required
from judging.backends.base import SetupError
from judging.models import JudgeCall
from judging.pages.showing import is_cut, logprob_facts, shown
from judging.prompting import PromptError, read_prompt
from judging.prompts.preparing import Preparer
from judging.prompts.repairing import can_be_read
from judging.rows.lanes import backend_of
from judging.rows.runs import prompt_of
from judging.views.access import BLIND, READERS, person, runs_of

PAGE = 50
LABELS = 500
LOST = (SetupError, PromptError, ForgottenItemError, KeyError)


@require_safe
@role_required(*READERS)
def calls(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(runs_of(person(request)).select_related("judge__rater"), pk=pk)
    counted = run.judge_calls.order_by().values("state").annotate(number=Count("pk"))
    states = dict(counted.values_list("state", "number").order_by("-number", "state"))
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in states else ""
    rows = run.judge_calls.select_related("assignment__item").order_by("-pk")
    rows = rows.filter(state=chosen) if chosen else rows
    page = Paginator(rows.defer("completion", "body", "logprobs"), PAGE)
    context = {"run": run, "states": states, "chosen": chosen, "total": sum(states.values())}
    context["page"] = page.get_page(request.GET.get("page"))
    return render(request, "judges/calls.html", context)


@require_safe
@role_required(*READERS)
def call(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(
        JudgeCall.objects.filter(run__in=runs_of(person(request))).select_related(
            "run__judge__rater", "run__campaign", "assignment__item__campaign",
            "assignment__item__query", "assignment__item__report", "assignment__rater",
        ),
        pk=pk,
    )  # fmt: skip
    if is_blind(person(request), found.run.campaign):
        context = {"call": found, "run": found.run, "blind": BLIND}
        return render(request, "judges/call.html", context)
    raw = found.completion
    context = {
        "call": found,
        "run": found.run,
        "raw": None if raw is None else shown(raw),
        "raw_cut": raw is not None and is_cut(raw),
        "body": shown(found.body, 8000),
        "usage": shown(json.dumps(found.usage, ensure_ascii=False, indent=2), 4000),
        "logprobs": logprob_facts(found.logprobs),
        "labels": _labels(found),
        **_asked(found),
    }
    return render(request, "judges/call.html", context)


def _asked(call: JudgeCall) -> dict[str, Any]:
    """The request, written anew from the stored material, and whether it is still the same."""
    try:
        prepared = _preparer(call).prepare(call.assignment)
    except LOST as error:
        return {"lost": f"{type(error).__name__}: {error}"}
    messages = [(m.role, shown(m.content)) for m in prepared.request.messages]
    # What is shown of a repair is the request before it; its own holds the answer to that as well.
    same = call.repair or prepared.request_hash == call.request_hash
    return {"messages": messages, "same": same}


def _preparer(call: JudgeCall) -> Preparer:
    campaign, judge = call.run.campaign, call.run.judge
    prompt = read_prompt(prompt_of(judge, campaign))
    return Preparer(campaign, judge, prompt, backend_of(judge))


def _stands(call: JudgeCall) -> bool:
    """Whether the answer that stands is this call's: the last one's, or the one's before a repair
    that brought none that can be read."""
    rows = JudgeCall.objects.filter(assignment=call.assignment_id, state="answered")
    later = list(rows.filter(pk__gt=call.pk))
    if call.repair:
        return not later and _is_readable(call)
    return not any(not each.repair or _is_readable(each) for each in later)


def _is_readable(call: JudgeCall) -> bool:
    """Of a call whose request cannot be written anew nothing else is known."""
    try:
        preparer = _preparer(call)
        prepared = preparer.prepare(call.assignment)
    except LOST:
        return True
    return can_be_read(prepared, call.completion or "", preparer.by_unit)


def _labels(call: JudgeCall) -> list[dict[str, Any]]:
    """What the answer that stands says, where it is this call's."""
    if call.state != "answered" or not _stands(call):
        return []
    labels = (
        Label.objects.filter(response__assignment=call.assignment_id, response__current=True)
        .select_related("unit")
        .annotate(quotes=Count("spans"))
        .order_by("unit__position", "pk")
    )
    return [
        {"unit": each.unit.name, "variable": each.variable, "value": each.value,
         "score": each.score, "quotes": each.quotes}
        for each in labels[:LABELS]
    ]  # fmt: skip
