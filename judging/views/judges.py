"""Pages of judges: the list, a new judge, and a judge with an item to try."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account, is_blind
from annotation.models import Campaign, User
from annotation.people.membership import readable
from annotation.presentation import ForgottenItemError
from annotation.protocols import PROTOCOLS
from datasets.access import READERS, role_required
from datasets.text import as_sentence, number_in
from judging import library
from judging.access import BLIND, managed_judge, visible_judge, visible_judges, visible_runs
from judging.answer_files import FAKE, SCRIPTED
from judging.backends import HOSTED
from judging.backends.base import SetupError
from judging.backends.wire import parse_base_url
from judging.display import shown, standing_of
from judging.forms import NEW, PARAM_HELP, JudgeForm, TryForm
from judging.judge_file.document import read_file
from judging.judges import JudgeError, define, read_judge_file, shown_params
from judging.models import ACTIVE, Judge
from judging.params import param_text
from judging.prompts.isolation import one_request
from judging.prompts.template import PromptError
from judging.sandbox import (
    BusyError,
    NothingToTryError,
    TooOftenError,
    Trial,
    one_try,
    try_definition,
    try_judge,
)
from judging.servers import GUARDED, Server
from judging.views.judge_files import check_context, library_by_protocol

BUSY = "The maximum number of people are trying judges right now; try again in a moment."
RUNS_SHOWN, PAGE, TRIALS = 50, 100, 200
PROPOSED = {"prompt": "own", "file": "file"}
"""What may be filled in without being stored, each with where the messages then come from."""
REFUSED = (NothingToTryError, SetupError, PromptError, ForgottenItemError, JudgeError)


@require_safe
@role_required(*READERS)
def judges(request: HttpRequest) -> HttpResponse:
    user = get_account(request)
    mine = Q(runs__campaign__in=readable(user).values("pk"))
    rows = (
        visible_judges(user)
        .annotate(
            active=Count("runs", filter=mine & Q(runs__state__in=ACTIVE)),
            number=Count("runs", filter=mine),
            campaigns=Count("runs__campaign", filter=mine, distinct=True),
            last=Max("runs__started_at", filter=mine),
        )
        .order_by("rater__name")
    )
    page = Paginator(rows.filter(base=None), PAGE).get_page(request.GET.get("page"))
    trials = rows.exclude(base=None)
    context = {"judges": page, "page": page, "trials": trials[:TRIALS], "of": trials.count()}
    return render(request, "judges/list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def new_judge(request: HttpRequest) -> HttpResponse:
    """Show the form of a new judge, and define the judge on POST.

    With `propose`, such as from a draft, a prompt or a judge file is only filled in.
    """
    if (what := request.POST.get("propose", "")) in PROPOSED:
        text = request.POST.get("text", "")
        initial = _initial(request) | {"prompt_from": PROPOSED[what], what: text}
        return _form_page(request, JudgeForm(user=get_account(request), initial=initial))
    if request.method != "POST":
        form = JudgeForm(user=get_account(request), initial=_initial(request))
        return _form_page(request, form)
    form = JudgeForm(request.POST, user=get_account(request))
    if not form.is_valid():
        return _form_page(request, form, 422)
    try:
        judge, made = define(form.definition(), form.team(), form.user)
    except JudgeError as error:
        form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return _form_page(request, form, 422)
    if not made:
        form.add_error("name", "A judge has this name already; choose another.")
        return _form_page(request, form, 422)
    return redirect("judge", judge.pk)


def _form_page(
    request: HttpRequest, form: JudgeForm, status: int = 200, **more: Any
) -> HttpResponse:
    context = {
        "form": form,
        "protocols": PROTOCOLS.values(),
        "library": library_by_protocol(),
        **check_context(form),
        **more,
    }
    return render(request, "judges/new.html", context, status=status)


def _initial(request: HttpRequest) -> dict[str, Any]:
    """Return the form's initial values.

    They begin with an existing judge (`like`), a protocol's prompt (`prompt`) or a file of the
    library (`library`).
    """
    initial: dict[str, Any] = {
        "backend": "openai",
        "granularity": "item",
        "prompt_from": "protocol",
    }
    like = number_in(request.GET.get("like", ""))
    if judge := visible_judges(get_account(request)).filter(pk=like).first():
        initial |= _like(judge)
    if protocol := PROTOCOLS.get(request.GET.get("prompt", "")):
        initial |= {"prompt": protocol.prompt, "prompt_from": "own"}
    if (name := request.GET.get("library", "")) in library.names():
        initial |= {"file": library.text_of(name), "prompt_from": "file"}
    return initial


def _like(judge: Judge) -> dict[str, Any]:
    of_file = read_judge_file(judge.file)[1] if judge.file else {}
    known = {
        name: _as_written(judge.params[name])
        for name in PARAM_HELP
        if name in judge.params and judge.params[name] != of_file.get(name)
    }
    server = NEW
    if hosted := HOSTED.get(judge.backend):
        url = parse_base_url(judge.base_url, hosted.public_url)
        server = Server(url, judge.api_key_env).name
    return {
        "name": f"{judge.rater.name} 2"[:150],
        "backend": judge.backend,
        "server": server,
        "model": judge.model,
        "family": judge.family,
        "prompt_from": "file" if judge.file else "own" if judge.prompt else "protocol",
        "file": judge.file,
        "prompt": judge.prompt,
        "granularity": judge.granularity,
    } | known


def _as_written(value: Any) -> Any:
    """Return a parameter's value as a person writes it."""
    return param_text(value) if isinstance(value, list | dict) else value


@require_safe
@role_required(*READERS)
def judge(request: HttpRequest, pk: int) -> HttpResponse:
    return render(
        request,
        "judges/judge.html",
        _judge_context(get_account(request), visible_judge(request, pk)),
    )


def _judge_context(user: User, judge: Judge, form: TryForm | None = None) -> dict[str, Any]:
    found = visible_runs(user).filter(judge=judge)[:RUNS_SHOWN]
    runs = [{"run": run, "standing": standing_of(run)} for run in found]
    params = {
        PARAM_HELP[name][0] if name in PARAM_HELP else name: _as_written(value)
        for name, value in shown_params(judge).items()
    }
    return {
        "judge": judge,
        "params": params,
        "fake": FAKE if judge.backend == SCRIPTED else "",
        "guarded": bool(judge.params.get(GUARDED)),
        "runs": runs,
        "campaigns": readable(user).order_by("name"),
        "trials": visible_judges(user).filter(base=judge),
        "prompt": shown(judge.prompt),
        "one_request": one_request(judge),
        "file_text": shown(judge.file),
        "file": read_file(judge.file) if judge.file else None,
        "form": form or TryForm(user=user),
    }


@require_POST
@role_required(*READERS)
def try_one(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask about one item. The result is shown and not stored, and no labels are read."""
    judge, form = managed_judge(request, pk), TryForm(request.POST, user=get_account(request))
    status, told = _attempt(get_account(request), form, partial(try_judge, judge))
    if request.headers.get("HX-Request"):
        # htmx does not replace anything after an error status.
        return render(request, "judges/_trial.html", {"form": form, **told})
    context = {**_judge_context(get_account(request), judge, form), **told, "tried": True}
    return render(request, "judges/judge.html", context, status=status)


@require_POST
@role_required(*READERS)
def try_draft(request: HttpRequest) -> HttpResponse:
    """Ask the judge of the form, which is not created, about one item. Nothing is stored."""
    user = get_account(request)
    draft, form = JudgeForm(request.POST, user=user, draft=True), TryForm(request.POST, user=user)
    if draft.is_valid():
        status, told = _attempt(user, form, partial(try_definition, draft.definition()))
    else:
        wrong = [(field.label, field.errors) for field in draft if field.errors]
        status, told = 422, {"unfinished": wrong}
    if request.headers.get("HX-Request"):
        return render(request, "judges/_trial.html", {"form": form, **told})
    return _form_page(request, draft, status, attempt=form, **told)


Ask = Callable[[Campaign, int | None], Trial]


def _attempt(user: User, form: TryForm, ask: Ask) -> tuple[int, dict[str, Any]]:
    """Ask once within an account's limits. Returns the HTTP status, and what the page says."""
    if not form.is_valid():
        return 422, {}
    if is_blind(user, form.cleaned_data["campaign"]):
        return 409, {"wrong": BLIND}
    try:
        with one_try(user.pk):
            trial = ask(form.cleaned_data["campaign"], form.cleaned_data["item"])
    except TooOftenError as error:
        return 429, {"wrong": as_sentence(error)}
    except BusyError:
        return 503, {"wrong": BUSY}
    except REFUSED as error:
        return 200, {"wrong": as_sentence(error)}
    return 200, {"trial": trial, **_shown(trial)}


def _shown(trial: Trial) -> dict[str, Any]:
    request = trial.prepared.request
    told = trial.error
    return {
        "number": trial.item.position + 1,
        "messages": [(m.role, shown(m.content)) for m in request.messages],
        "raw": shown(trial.answer.text) if trial.answer else None,
        "reasoning": shown(trial.reasoning),
        "usage": trial.answer.usage if trial.answer else {},
        "why": shown(told.message, 2000) if told else "",
        "body": shown(told.body, 4000) if told else "",
        "problems": [shown(str(problem), 500) for problem in trial.problems],
    }
