"""Access to judges, runs, calls and preparation, for pages and API.

A judge belongs to a team, and can be read by everybody who reads a campaign in which it ran. A run
belongs to its campaign. To start a run, an account has to manage both.
"""

from __future__ import annotations

import uuid

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from rest_framework.request import Request

from annotation.access import check_managed_campaign, get_account, is_blind
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Membership, Response, User
from annotation.people.membership import may_manage, readable
from annotation.preparation.base import Step
from annotation.presentation import stored_units
from annotation.registry import STEPS
from datasets.access import READERS, NotManagedError, check_managed, in_a_team_of, managed_by
from datasets.models import Batch
from judging.display import with_clock
from judging.models import Judge, JudgeCall, JudgeRun
from judging.preparation.review import AuthoredAnswer, with_related
from judging.preparation.status import campaign_name

BLIND = "You have an open item in this campaign; answer it before you read a judge’s labels."


def visible_judges(user: User) -> QuerySet[Judge]:
    """Return the judges that an account may read, by name."""
    rows = Judge.objects.select_related("rater", "base__rater", "team", "made_by").order_by(
        "rater__name", "pk"
    )
    if user.role == User.Role.ADMIN:
        return rows
    if user.role not in READERS or user.is_guest:
        return rows.none()
    ran = JudgeRun.objects.filter(judge=OuterRef("pk"), campaign__in=readable(user))
    return rows.filter(in_a_team_of(Judge, user) | Q(Exists(ran)))


def judge_of_a_team(user: User) -> Q:
    """Return a filter for raters that are judges which an account may read."""
    return Q(judge__in=visible_judges(user).order_by().values("pk"))


def visible_judge(request: HttpRequest | Request, pk: int) -> Judge:
    """Return a judge that the account may read. Raises Http404 for any other."""
    return get_object_or_404(visible_judges(get_account(request)), pk=pk)


def manageable_judges(user: User) -> QuerySet[Judge]:
    """Return the judges that an account may run, by name, without trials."""
    return managed_by(user, visible_judges(user).filter(base=None))


def managed_judge(request: HttpRequest | Request, pk: int) -> Judge:
    """Return a judge that the account may run. Raises Http404, or NotManagedError."""
    judge = visible_judge(request, pk)
    check_managed(get_account(request), judge)
    return judge


def visible_runs(user: User) -> QuerySet[JudgeRun]:
    """Return the runs over campaigns that an account may read, the newest first."""
    return with_clock(JudgeRun.objects.filter(campaign__in=readable(user))).order_by("-pk")


def visible_calls(user: User) -> QuerySet[JudgeCall]:
    calls = JudgeCall.objects.filter(run__campaign__in=readable(user))
    return calls.select_related("run__campaign", "assignment__item")


def note_call_look(call: JudgeCall) -> None:
    """Record in the ledger that a call's answer and labels are being shown."""
    asked, units = call.assignment, stored_units(call.assignment.item)
    shown = [units[name] for name in asked.asked if name in units]
    saw_answers("judge", call.run.campaign, units=shown, rater=asked.rater_id)


def visible_run(request: HttpRequest | Request, pk: int) -> JudgeRun:
    """Return a run that the account may read. Raises Http404 for any other."""
    return get_object_or_404(visible_runs(get_account(request)), pk=pk)


def managed_run(request: HttpRequest | Request, pk: int) -> JudgeRun:
    """Return a run that the account may control. Raises Http404, or NotManagedError."""
    run = visible_run(request, pk)
    check_managed_campaign(get_account(request), run.campaign)
    return run


def may_review(user: User, campaign: Campaign) -> bool:
    """Whether the account manages the campaign or is one of its researchers."""
    member = campaign.memberships.filter(user=user, ended_at=None, role=Membership.Role.RESEARCHER)
    return member.exists() or may_manage(user, campaign.pk)


def check_reviewer(user: User, campaign: Campaign) -> None:
    """Raise NotManagedError unless the account may review a campaign's preparation."""
    if not may_review(user, campaign):
        raise NotManagedError


def blind_page(request: HttpRequest, campaign: Campaign) -> HttpResponse | None:
    """Return the page for a person with an open item, who must not see others' labels yet."""
    if not is_blind(get_account(request), campaign):
        return None
    return render(request, "reports/blind.html", {"campaign": campaign}, status=403)


def find_step(name: str) -> Step:
    if name not in STEPS:
        raise Http404
    return STEPS[name]


def step_of(campaign: Campaign) -> Step:
    """Return the preparation step of a campaign. Raises Http404 for other campaigns."""
    for step in STEPS.values():
        asked = step.protocol == campaign.protocol
        if asked and campaign_name(campaign.batch, step) == campaign.name:
            return step
    raise Http404


def step_campaign(request: HttpRequest | Request, batch: Batch, step: Step) -> Campaign:
    """Return the campaign of a step. Raises Http404 if it has not begun or is not readable."""
    rows = readable(get_account(request)).filter(batch=batch, protocol=step.protocol)
    return get_object_or_404(rows.select_related("batch"), name=campaign_name(batch, step))


def authored_responses(user: User) -> QuerySet[Response]:
    """Return the current answers in campaigns that an account may read."""
    return Response.objects.filter(
        current=True,
        assignment__replicate=0,
        assignment__item__campaign__in=readable(user),
    )


def find_authored_answer(user: User, uid: uuid.UUID) -> AuthoredAnswer:
    """Return the current answer to an assignment.

    Raises Http404 if the campaign is not readable.
    """
    response = get_object_or_404(with_related(authored_responses(user).filter(assignment__uid=uid)))
    item = response.assignment.item
    saw_answers("prepared", item.campaign, items=[item.pk])
    return AuthoredAnswer(step_of(response.assignment.item.campaign), response)
