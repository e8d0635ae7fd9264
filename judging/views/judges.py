"""Pages of judges: the list, a new judge, and a judge with an item to try."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account, is_blind
from annotation.models import Campaign, User
from annotation.people.membership import readable
from annotation.protocols import PROTOCOLS
from datasets.access import READERS, role_required
from datasets.models import Job
from datasets.text import as_sentence, number_in
from datasets.work import JobRequest, TooManyError, results
from datasets.work import pages as jobs
from judging import library
from judging.access import BLIND, managed_judge, visible_judge, visible_judges, visible_runs
from judging.answer_files import DIGEST, FAKE, SCRIPTED
from judging.backends import HOSTED
from judging.display import describe_status, make_displayable
from judging.forms import NEW, ON_PAGES, JudgeForm
from judging.judge_file.document import file_of
from judging.judges import JudgeError, define, read_judge_file, shown_params
from judging.models import ACTIVE, Judge
from judging.params import param_text
from judging.prompts.isolation import one_request
from judging.run_forms import TryForm
from judging.servers import GUARDED, servers_of
from judging.trials.one_item_jobs import TRY_KIND, TooOftenError, ask_once, find_try, try_question
from judging.views.judge_files import TRY_FORM, check_context, library_by_protocol

RESULT_GONE = "The result of this try no longer exists; ask again."
RUNS_SHOWN, PAGE, TRIALS = 50, 100, 200
DEFAULT_SOURCES = {"prompt": "own", "file": "file"}
"""What may be filled in without being stored, each with where the messages then come from."""


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

    A POST with `propose`, such as from a draft, only fills its prompt or judge file into the form.
    `job` names a try of a form that was filled in: the page shows that form with the result.
    `campaign` is the one that the person came from, and goes back to with the new judge.
    """
    if (what := request.POST.get("propose", "")) in DEFAULT_SOURCES:
        text = request.POST.get("text", "")
        initial = _initial(request) | {"prompt_from": DEFAULT_SOURCES[what], what: text}
        return _form_page(request, JudgeForm(user=get_account(request), initial=initial))
    if job := find_try(get_account(request), request.GET.get("job", "")):
        return _try_page(request, job)
    if request.method != "POST":
        form = JudgeForm(user=get_account(request), initial=_initial(request))
        return _form_page(request, form)
    form = JudgeForm(request.POST, user=get_account(request))
    if not form.is_valid():
        return _form_page(request, form, 422)
    try:
        judge, made = define(form.definition(), form.team(), form.user)
    except JudgeError as error:
        form.add_error(None, as_sentence(error))
        return _form_page(request, form, 422)
    if not made:
        form.add_error("name", "A judge has this name already; choose another.")
        return _form_page(request, form, 422)
    if campaign := _came_from(request):
        start = reverse("campaign-judge-start", args=[campaign.pk])
        return redirect(f"{start}?{urlencode({'judge': judge.pk})}")
    return redirect("judge", judge.pk)


def _came_from(request: HttpRequest) -> Campaign | None:
    """Return the campaign that the address names, if the account may read it."""
    number = number_in(request.GET.get("campaign", ""))
    return readable(get_account(request)).filter(pk=number).first() if number else None


def _here(request: HttpRequest, name: str = "judge-new") -> str:
    """Return the address of a page of the new judge, with the campaign that one came from."""
    campaign = _came_from(request)
    query = f"?{urlencode({'campaign': campaign.pk})}" if campaign else ""
    return f"{reverse(name)}{query}"


def _try_page(request: HttpRequest, job: Job) -> HttpResponse:
    """Render the tried form, or for htmx only the part with the result."""
    context, user = _try_context(request, job, _here(request)), get_account(request)
    if isinstance(context, HttpResponse):
        return context
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "judges/_trial.html", context)
    form = JudgeForm(job.options["draft"], user=user, draft=True)
    attempt = TryForm(user=user, initial=job.options, form_id=TRY_FORM)
    return _form_page(request, form, attempt=attempt, **context)


def _form_page(
    request: HttpRequest, form: JudgeForm, status: int = 200, **more: Any
) -> HttpResponse:
    context = {
        "form": form,
        "protocols": PROTOCOLS.values(),
        "library": library_by_protocol(),
        "came_from": _came_from(request),
        "here": _here(request),
        "try_here": _here(request, "judge-new-try"),
        **check_context(form),
        **more,
    }
    return render(request, "judges/new.html", context, status=status)


def _initial(request: HttpRequest) -> dict[str, Any]:
    """Return the form's initial values.

    They may come from an existing judge (`like`), a protocol's prompt (`prompt`) or a file of the
    library (`library`).
    """
    initial: dict[str, Any] = {
        "backend": "openai",
        "granularity": "item",
        "prompt_from": "protocol",
    }
    if campaign := _came_from(request):
        initial["campaign"] = campaign.pk
    like = number_in(request.GET.get("like", ""))
    if judge := visible_judges(get_account(request)).filter(pk=like).first():
        initial |= _copied_fields(judge)
    if protocol := PROTOCOLS.get(request.GET.get("prompt", "")):
        initial |= {"prompt": protocol.prompt, "prompt_from": "own"}
    if (name := request.GET.get("library", "")) in library.names():
        initial |= {"file": library.text_of(name), "prompt_from": "file"}
    return initial


def _copied_fields(judge: Judge) -> dict[str, Any]:
    of_file = read_judge_file(judge.file)[1] if judge.file else {}
    known = {
        name: _form_value(judge.params[name])
        for name in ON_PAGES
        if name in judge.params and judge.params[name] != of_file.get(name)
    }
    server = NEW
    if judge.backend in HOSTED:
        server = servers_of(judge)[0].name
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


def _form_value(value: Any) -> Any:
    """Format a parameter's value for the form."""
    return param_text(value) if isinstance(value, list | dict) else value


@require_safe
@role_required(*READERS)
def judge(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a judge. `job` names a try of it; htmx gets only the part with the result."""
    found, user = visible_judge(request, pk), get_account(request)
    job = find_try(user, request.GET.get("job", ""), found)
    context = _try_context(request, job, request.path)
    if isinstance(context, HttpResponse):
        return context
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "judges/_trial.html", context)
    form = TryForm(user=user, initial=context.get("tried"))
    return render(request, "judges/judge.html", {**_judge_context(user, found, form), **context})


def _judge_context(user: User, judge: Judge, form: TryForm | None = None) -> dict[str, Any]:
    found = visible_runs(user).filter(judge=judge)[:RUNS_SHOWN]
    runs = [{"run": run, "status": describe_status(run)} for run in found]
    shown = shown_params(judge)
    digest = shown.pop(DIGEST, "")
    params = {
        ON_PAGES[name].label if name in ON_PAGES else name: _form_value(value)
        for name, value in shown.items()
    }
    return {
        "judge": judge,
        "params": params,
        "labels_digest": digest,
        "fake": FAKE if judge.backend == SCRIPTED else "",
        "guarded": bool(judge.params.get(GUARDED)),
        "runs": runs,
        "campaigns": readable(user).order_by("name"),
        "trials": visible_judges(user).filter(base=judge),
        "prompt": make_displayable(judge.prompt),
        "one_request": one_request(judge),
        "file_text": make_displayable(judge.file),
        "file": file_of(judge) if judge.file else None,
        "form": form or TryForm(user=user),
    }


@require_POST
@role_required(*READERS)
def try_one(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask about one item.

    A worker sends the request; the judge's page shows the answer to this person.
    """
    user = get_account(request)
    judge, form = managed_judge(request, pk), TryForm(request.POST, user=user)
    page = reverse("judge", args=[pk])
    answer, status, context = _attempt(request, form, page, partial(_question, user, form, judge))
    if answer is not None:
        return answer
    if request.htmx:  # type: ignore[attr-defined]
        # htmx does not replace anything after an error status.
        return render(request, "judges/_trial.html", {"form": form, **context})
    return render(
        request,
        "judges/judge.html",
        {**_judge_context(user, judge, form), **context},
        status=status,
    )


@require_POST
@role_required(*READERS)
def try_draft(request: HttpRequest) -> HttpResponse:
    """Like `try_one`, for the judge that the form describes, which is not created."""
    user = get_account(request)
    draft = JudgeForm(request.POST, user=user, draft=True)
    form = TryForm(request.POST, user=user, form_id=TRY_FORM)
    answer: HttpResponse | None = None
    if draft.is_valid():
        fields = {name: request.POST[name] for name in draft.fields if name in request.POST}
        asking = partial(_question, user, form, fields=fields)
        answer, status, context = _attempt(request, form, _here(request), asking)
    else:
        wrong = [(field.label, field.errors) for field in draft if field.errors]
        status, context = 422, {"unfinished": wrong}
    if answer is not None:
        return answer
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "judges/_trial.html", {"form": form, **context})
    return _form_page(request, draft, status, attempt=form, **context)


def _question(user: User, form: TryForm, judge: Judge | None = None, **draft: Any) -> Any:
    chosen = form.cleaned_data
    return try_question(user, chosen["campaign"], chosen["item"], judge, **draft)


def _attempt(
    request: HttpRequest, form: TryForm, page: str, question: Callable[[], Any]
) -> tuple[HttpResponse | None, int, dict[str, Any]]:
    """Start a try within an account's limits.

    Return the address that follows it, or the status and the error.
    """
    user = get_account(request)
    if not form.is_valid():
        return None, 422, {}
    if is_blind(user, form.cleaned_data["campaign"]):
        return None, 409, {"wrong": BLIND}
    try:
        job = ask_once(question(), user, page).job
    except (TooOftenError, TooManyError) as error:
        return None, 429, {"wrong": as_sentence(error)}
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(f"{jobs.address_with_job(page, job)}#try"), 302, {}
    found = _try_context(request, job, page)
    if isinstance(found, HttpResponse):
        return found, 200, {}
    return render(request, "judges/_trial.html", found), 200, {}


def _try_context(request: HttpRequest, job: Job | None, page: str) -> Any:
    """Return the context of a try, or the response to htmx if nothing is new."""
    if job is None:
        return {}
    user = get_account(request)
    campaign = Campaign.objects.filter(pk=job.options["campaign"]).first()
    if campaign is None or not TRY_KIND.may_see(user, job.options):
        return {"wrong": BLIND if campaign and is_blind(user, campaign) else RESULT_GONE}
    asked = JobRequest(job, job if job.state == Job.State.DONE else None)
    here = jobs.address_with_job(page, job)
    found = jobs.result_or_progress_of(request, asked, page, here, "#trial", results.value)
    if isinstance(found, HttpResponse):
        return found
    if found.value is None and found.status is None:
        return {"wrong": RESULT_GONE}
    shown_trial = _displayable_trial(found.value) if found.value else {}
    return {"following": found.status, "campaign": campaign, "tried": job.options, **shown_trial}


def _displayable_trial(trial: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a try with foreign texts made safe to display."""
    entries = [
        {
            **each,
            "labels": [(n, v, each["grades"].get(n, "")) for n, v in each["values"].items()],
            "lost": list(each.get("missing", {}).items()),
        }
        for each in trial["entries"]
    ]
    completion = trial["completion"]
    return {
        "trial": {**trial, "entries": entries, "cost": trial["cost"] and Decimal(trial["cost"])},
        "messages": [
            (each["role"], make_displayable(each["content"])) for each in trial["messages"]
        ],
        "raw": None if completion is None else make_displayable(completion),
        "reasoning": make_displayable(trial["reasoning"]),
        "usage": trial["usage"],
        "why": make_displayable(trial["message"], 2000),
        "body": make_displayable(trial["body"], 4000),
        "problems": [make_displayable(each, 500) for each in trial["problems"]],
    }
