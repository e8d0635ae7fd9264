"""The page of a judge's trials, to estimate, start, watch and stop them.

Their results are on the robustness sheet.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.access import check_managed_campaign, get_account, readable_campaign
from annotation.models import Campaign, User
from annotation.people.membership import may_manage
from datasets.access import READERS, check_managed, manages, role_required
from datasets.models import Job
from datasets.text import as_sentence, number_in
from datasets.work import pages as jobs
from judging.access import visible_judges
from judging.estimate import duration
from judging.kinds import PLAN, TRIALS, plan_question, trials_in, trials_question
from judging.models import Judge, JudgeRun
from judging.prompts.perturbations import KINDS
from judging.run_forms import TrialsForm
from judging.trials.runs import (
    KindEstimate,
    TrialSelection,
    stop_trials,
    trial_statuses,
)
from judging.views.runs import trials_address

NOW = "trials-now"
"""The id of the part that shows how far trials are."""


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def trials(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the trials of a judge and estimates of further ones. Start or stop them on POST.

    `judge` chooses one of the judges that ran here, by default the one that ran last.
    """
    campaign, user = readable_campaign(request, pk), get_account(request)
    posted = request.method == "POST"
    judges = judges_of(campaign, user)
    judge_key = number_in((request.POST if posted else request.GET).get("judge", ""))
    judge = judges.filter(pk=judge_key).first() or _last(campaign, judges)
    if judge is None:
        context = {"campaign": campaign, "manages": _may_run(user, campaign)}
        return render(request, "judges/trials.html", context, status=422 if posted else 200)
    if not posted:
        if request.htmx and request.htmx.target == NOW:  # type: ignore[attr-defined]
            return render(request, "judges/_trials_now.html", _now(user, campaign, judge))
        return _page(request, campaign, judge, _from_address(request))
    order, form = request.POST.get("order", ""), TrialsForm(request.POST)
    if order not in ("start", "stop"):
        form.is_valid()
        return _page(request, campaign, judge, form, 200 if order == "estimate" else 422)
    check_managed_campaign(user, campaign)
    check_managed(user, judge)
    if order == "stop":
        stop_trials(campaign, judge)
        return redirect(trials_address(campaign.pk, judge.pk))
    if not form.is_valid():
        return _page(request, campaign, judge, form, 422)
    return _start(request, campaign, judge, form)


def _start(
    request: HttpRequest, campaign: Campaign, judge: Judge, form: TrialsForm
) -> HttpResponse:
    """Request the job that plans the trials and queues their runs, and show its progress."""
    question = plan_question(get_account(request), judge, campaign, form.selection())
    address = trials_address(campaign.pk, judge.pk)
    asked = jobs.follow(request, PLAN, question, address, again=True)
    if asked.job.state == Job.State.FAILED:
        form.add_error(None, as_sentence(asked.job.error))
        return _page(request, campaign, judge, form, 409)
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, address, page=address)
    return redirect(f"{address}#{NOW}")


def judges_of(campaign: Campaign, user: User) -> QuerySet[Judge]:
    """Return the judges without trials that ran in a campaign and are visible to the account."""
    return visible_judges(user).filter(base=None, runs__campaign=campaign).distinct()


def _last(campaign: Campaign, judges: QuerySet[Judge]) -> Judge | None:
    ran = JudgeRun.objects.filter(campaign=campaign, judge__in=judges.order_by().values("pk"))
    last = ran.order_by("-pk").values_list("judge", flat=True)[:1]
    return judges.filter(pk__in=list(last)).first()


def _may_run(user: User, campaign: Campaign) -> bool:
    return may_manage(user, campaign.pk)


def _from_address(request: HttpRequest) -> TrialsForm:
    """Return the form with what the address says, or an empty one."""
    given = request.GET if "chosen" in request.GET else None
    form = TrialsForm(given, initial={"seed": 0})
    if form.is_bound:
        form.is_valid()
    return form


def _page(
    request: HttpRequest, campaign: Campaign, judge: Judge, form: TrialsForm, status: int = 200
) -> HttpResponse:
    """Render the page, or for htmx the part with the estimate, which a job computes."""
    user = get_account(request)
    asked_for = form.selection() if form.is_bound else TrialSelection()
    question = _followed_question(request, campaign, judge) or trials_question(
        judge, campaign, asked_for
    )
    address = trials_address(campaign.pk, judge.pk)
    asked = jobs.follow(request, TRIALS, question, address)
    shown = jobs.result_or_progress_of(request, asked, address, address, "#estimated", trials_in)
    if isinstance(shown, HttpResponse):
        return shown
    kinds = _kinds(shown.value, asked_for.kinds if form.is_bound else None)
    context = {
        "campaign": campaign,
        "judge": judge,
        "judges": judges_of(campaign, user),
        "form": form,
        "shown": shown,
        "kinds": kinds,
        "total": _total([row["estimate"] for row in kinds if row["chosen"]]),
        "address": address,
        "nothing_chosen": "kinds" in form.errors and status == 422,
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "judges/_trials_estimate.html", context)
    return render(
        request, "judges/trials.html", context | _now(user, campaign, judge), status=status
    )


def _followed_question(
    request: HttpRequest, campaign: Campaign, judge: Judge
) -> dict[str, Any] | None:
    """Return the question of the job that the page follows, even if the form has changed since."""
    own = {"kind": TRIALS, "options__campaign": campaign.pk, "options__judge": judge.pk}
    key = request.GET.get("job", "")
    job = Job.objects.filter(key=key, **own).first() if key else None
    return dict(job.options) if job else None


def _kinds(
    estimates: list[KindEstimate] | None, chosen: tuple[str, ...] | None
) -> list[dict[str, Any]]:
    """Return each kind with its estimate, if known, and whether it is chosen.

    Without a choice, all possible kinds are chosen.
    """
    known = {each.kind: each for each in estimates or ()}
    return [
        {
            "name": name,
            "kind": kind,
            "estimate": known.get(name),
            "chosen": (chosen is None or name in chosen)
            and not (name in known and known[name].problem),
        }
        for name, kind in KINDS.items()
    ]


def _total(chosen: list[KindEstimate | None]) -> dict[str, Any] | None:
    """Sum requests, cost and time of the chosen kinds. Return None before they are known.

    Cost and time are None if they are unknown for any of them.
    """
    found = [each for each in chosen if each is not None]
    if not found or len(found) < len(chosen):
        return None
    costs = [each.cost for each in found if each.cost is not None]
    times = [each.seconds for each in found if each.seconds is not None]
    one = next((estimate for each in found for _, estimate in each.trials), None)
    return {
        "calls": sum(each.calls for each in found),
        "cost": sum(costs, Decimal(0)) if len(costs) == len(found) else None,
        "time": duration(sum(times)) if len(times) == len(found) else "",
        "unknown": [why for why in (one.cost_unknown, one.time_unknown) if why] if one else [],
        "notes": one.notes if one else (),
    }


def _now(user: User, campaign: Campaign, judge: Judge) -> dict[str, Any]:
    """Return the progress of a judge's trials."""
    rows = list(trial_statuses(campaign, judge))
    runs = JudgeRun.objects.filter(campaign=campaign, judge=judge).order_by("-pk")
    known = [row.progress for row in rows if row.progress]
    return {
        "campaign": campaign,
        "judge": judge,
        "rows": rows,
        "active": any(row.is_active for row in rows),
        "closed": sum(each.closed for each in known),
        "total_requests": sum(each.total for each in known),
        "last_run": runs.values_list("pk", flat=True).first(),
        "manages": _may_run(user, campaign) and manages(user, judge),
        "address": trials_address(campaign.pk, judge.pk),
    }
