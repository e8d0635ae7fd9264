"""Tries: a worker asks a judge about one item, within an account's limits.

Each press of the button creates a job, unless one is in progress, which it joins. The judge is a
stored one, or a draft: the fields of the form of a new judge. The result is kept with those of
other jobs, only for the person who asked, and gives no label.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Max, QuerySet
from django.utils import timezone

from annotation.access import is_blind, may_read
from annotation.models import Campaign, User
from annotation.presentation import ForgottenItemError
from datasets.access import managed_by
from datasets.models import Job
from datasets.work import JobError, JobRequest, Kind, Options, Progress, Result, ask
from datasets.work.queue import ACTIVE, question_of
from judging.access import BLIND
from judging.backends.base import SetupError
from judging.forms import JudgeForm
from judging.judges import JudgeError, draft
from judging.models import Judge
from judging.prompts.template import PromptError
from judging.trials.one_item import NothingToTryError, try_judge

TRY = "try"
TRIES, WINDOW = 10, timedelta(minutes=1)
REFUSED = (NothingToTryError, SetupError, PromptError, ForgottenItemError, JudgeError)


class TooOftenError(Exception):
    """The account has used its tries of this minute, or has another one in progress.

    `seconds` is how long to wait.
    """

    def __init__(self, sentence: str, seconds: int) -> None:
        super().__init__(sentence)
        self.seconds = seconds


def try_question(
    user: User,
    campaign: Campaign,
    number: int | None,
    judge: Judge | None = None,
    fields: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the question of a try: of a judge, or of a draft by the `fields` of a valid form.

    `number` is an item's number from 1; without it, a random item is chosen.
    """
    return {
        "user": user.pk,
        "campaign": campaign.pk,
        "item": number,
        "judge": judge.pk if judge else None,
        "draft": dict(fields or {}),
    }


def ask_once(question: Options, user: User, address: str) -> JobRequest:
    """Ask for a try whose result is at `address`. Raises TooOftenError, or TooManyError."""
    check_limits(question, user)
    return ask(TRY, question, user, address, again=True)


def check_limits(question: Options, user: User) -> None:
    """Raise TooOftenError unless the account may try now or is already waiting for this try."""
    mine = _tries(user)
    under_way = mine.filter(state__in=ACTIVE, askers__withdrawn=False)
    if under_way.filter(question=question_of(TRY, question)).exists():
        return
    if under_way.exists():
        raise TooOftenError("your last try is still in progress; wait for its end, or cancel it", 5)
    now = timezone.now()
    times = mine.filter(created_at__gt=now - WINDOW).order_by("-pk").values_list("created_at")
    if len(recent := list(times[:TRIES])) >= TRIES:
        left = WINDOW - (now - recent[-1][0])
        raise TooOftenError(
            f"you tried {TRIES} times in this minute; wait a moment", int(left.total_seconds()) + 1
        )


def _tries(user: User) -> QuerySet[Job]:
    return Job.objects.filter(kind=TRY, askers__user=user)


def find_try(user: User, key: str, judge: Judge | None = None) -> Job | None:
    """Return an account's own try of a judge, or of a draft if no judge is given."""
    job = find_any_try(user, key)
    return job if job and job.options["judge"] == (judge.pk if judge else None) else None


def find_any_try(user: User, key: str) -> Job | None:
    """Return an account's own try, of a judge or of a draft."""
    return Job.objects.filter(kind=TRY, key=key, options__user=user.pk).first() if key else None


def _state(options: Options) -> Any:
    """Return a state that changes when a try ends, so that the button asks again each time."""
    done = Job.objects.filter(question=question_of(TRY, options), state=Job.State.DONE)
    return done.aggregate(newest=Max("pk"))


def _carry_out(options: Options, progress: Progress) -> Result:
    user = User.objects.get(pk=options["user"])
    campaign = Campaign.objects.select_related("batch").get(pk=options["campaign"])
    if is_blind(user, campaign):
        raise JobError(BLIND.rstrip("."))
    if _tries(user).filter(created_at__gt=timezone.now() - WINDOW).count() > TRIES:
        raise JobError(f"you tried {TRIES} times in this minute; wait a moment")
    try:
        found = try_judge(_judge(options, user), campaign, options["item"])
    except REFUSED as error:
        raise JobError(str(error)) from error
    # A model may write half of a surrogate pair, which cannot be encoded.
    return Result([json.dumps(found.as_json()).encode("ascii")])


def _judge(options: Options, user: User) -> Judge:
    """Return the judge of a try, which is not stored if it is a draft. Raises JudgeError."""
    if options["judge"] is not None:
        return Judge.objects.select_related("rater", "base").get(pk=options["judge"])
    form = JudgeForm(options["draft"], user=user, draft=True)
    if not form.is_valid():
        raise JudgeError("its definition is no longer valid; look at the form again")
    return draft(form.definition(), form.asking_team)


def _may_see(user: User, options: Options) -> bool:
    """Whether it is the person's own try, of a judge and a campaign that they may use now."""
    judges = managed_by(user, Judge.objects.filter(pk=options["judge"]))
    may_ask = options["judge"] is None or judges.exists()
    return user.pk == options["user"] and may_ask and may_read(user, options["campaign"])


TRY_KIND = Kind(TRY, "Answer of the judge", _state, _carry_out, _may_see)
