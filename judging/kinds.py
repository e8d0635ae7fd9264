"""The jobs of judges: estimates of runs and trials, plans of trials, manifests, comparisons.

Also the notices at the end of runs and trials.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.db.models import Count, Max
from django.urls import reverse
from django.utils import timezone

from annotation.access import may_read
from annotation.counters import answers_by_rater
from annotation.models import Campaign, User
from annotation.people.membership import find_readable, may_manage
from datasets.access import manages, visible_batches
from datasets.models import Job
from datasets.text import number_in
from datasets.work import JobError, Kind, Options, Progress, Result, register, results
from datasets.work.notices import Work, register_notices
from datasets.work.queue import question_of
from datasets.work.sources import register_source
from judging.access import manageable_judges, visible_judges, visible_runs
from judging.backends.base import SetupError
from judging.display import describe_status
from judging.estimate import Estimate, estimate
from judging.manifest import manifest_of
from judging.models import ACTIVE, Judge, JudgeCall, JudgeRun, Price, UnassignedCall
from judging.preparation import build_job as builds
from judging.prompts.template import PromptError
from judging.runs.comparison import compare_judges
from judging.runs.fit import check_fit
from judging.tasks import NOT_STARTED, NothingOpenError, runs
from judging.trials.one_item_jobs import TRY_KIND
from judging.trials.perturbed_judges import TrialError
from judging.trials.runs import (
    KindEstimate,
    TrialSelection,
    estimates,
    start_trials,
    trial_runs,
)

ESTIMATE, MANIFEST, COMPARISON = "estimate", "manifest", "judges"
TRIALS, PLAN = "trials", "trials-plan"
RUN_FIELDS = (
    "pk", "judge", "state", "done", "failures", "calls", "reused", "prompt_tokens",
    "cached_tokens", "completion_tokens", "thinking_tokens", "cost", "ended_at",
)  # fmt: skip


def estimate_question(judge: Judge, campaign: Campaign, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question of an estimate. `given` has the run's limits that are not empty."""
    return {"judge": judge.pk, "campaign": campaign.pk, "given": dict(given)}


def manifest_question(run: JudgeRun) -> dict[str, Any]:
    return {"run": run.pk, "campaign": run.campaign_id}


def comparison_question(campaign: Campaign) -> dict[str, Any]:
    return {"campaign": campaign.pk}


def trials_question(judge: Judge, campaign: Campaign, selection: TrialSelection) -> dict[str, Any]:
    """Return the question that estimates each kind of trial of a judge."""
    given = {"items": selection.items, "seed": selection.seed, "prompt": selection.prompt}
    return {"judge": judge.pk, "campaign": campaign.pk, **given}


def plan_question(
    user: User, judge: Judge, campaign: Campaign, selection: TrialSelection
) -> dict[str, Any]:
    """Return the question by which a person starts trials of a judge."""
    chosen = {**trials_question(judge, campaign, selection), "kinds": list(selection.kinds)}
    return {"user": user.pk, **chosen}


def find_plan(user: User, key: str, judge: Judge, campaign: Campaign) -> Job | None:
    """Return an account's own job that plans trials of a judge in a campaign."""
    of = {"options__user": user.pk, "options__judge": judge.pk, "options__campaign": campaign.pk}
    return Job.objects.filter(kind=PLAN, key=key, **of).first()


def estimate_in(job: Job) -> Estimate:
    """Return the estimate of a finished job. Raises GoneError."""
    return _estimate_of(results.value(job))


def trials_in(job: Job) -> list[KindEstimate]:
    """Return the estimates of trials by kind from a finished job. Raises GoneError."""
    return [
        KindEstimate(
            each["kind"],
            each["problem"],
            tuple((name, _estimate_of(found)) for name, found in each["trials"]),
        )
        for each in results.value(job)
    ]


def _estimate_of(found: Mapping[str, Any]) -> Estimate:
    cost = None if found["cost"] is None else Decimal(found["cost"])
    return Estimate(**{**found, "cost": cost, "notes": tuple(found["notes"])})


def _estimate_as_json(found: Estimate) -> dict[str, Any]:
    return {**asdict(found), "cost": None if found.cost is None else str(found.cost)}


def compared_runs(job: Job) -> list[dict[str, Any]]:
    """Return the rows that a finished job compared, as `compare_judges` does. Raises GoneError."""
    rows = results.value(job)
    judges = Judge.objects.select_related("rater").in_bulk([row["judge"] for row in rows])
    return [
        {
            **row,
            "judge": judges[row["judge"]],
            "cost": None if row["cost"] is None else Decimal(row["cost"]),
        }
        for row in rows
        if row["judge"] in judges
    ]


def _counts(campaign: int) -> list[Any]:
    """Return a state that changes with every run and every answer in a campaign."""
    runs = JudgeRun.objects.filter(campaign=campaign).order_by("pk").values_list(*RUN_FIELDS)
    found = Campaign.objects.get(pk=campaign)
    tries = UnassignedCall.objects.filter(campaign=campaign, run=None).count()
    return [list(runs), sorted(answers_by_rater(found).items()), tries]


def _state(options: Options) -> Any:
    return _counts(options["campaign"])


def _state_of_estimate(options: Options) -> Any:
    prices = Price.objects.aggregate(number=Count("pk"), newest=Max("pk"))
    calls = JudgeCall.objects.aggregate(newest=Max("pk"))
    return [_counts(options["campaign"]), prices, calls, timezone.now().date()]


def _estimate(options: Options, progress: Progress) -> Result:
    judge = Judge.objects.select_related("rater", "base").get(pk=options["judge"])
    campaign = Campaign.objects.select_related("batch").get(pk=options["campaign"])
    try:
        check_fit(campaign, judge)
        found = estimate(judge, campaign, **options["given"])
    except (SetupError, PromptError) as error:
        raise JobError(str(error)) from error
    return Result.of(_estimate_as_json(found))


def _estimate_trials(options: Options, progress: Progress) -> Result:
    judge = Judge.objects.select_related("rater", "base").get(pk=options["judge"])
    campaign = Campaign.objects.select_related("batch").get(pk=options["campaign"])
    selection = TrialSelection((), options["items"], options["seed"], options["prompt"])
    try:
        found = estimates(campaign, judge, selection, progress)
    except (TrialError, SetupError, PromptError) as error:
        raise JobError(str(error)) from error
    rows = [
        {
            "kind": each.kind,
            "problem": each.problem,
            "trials": [(name, _estimate_as_json(one)) for name, one in each.trials],
        }
        for each in found
    ]
    return Result.of(rows)


def _state_of_plan(options: Options) -> Any:
    """Return a state that changes when a plan ends, so that the button plans again each time."""
    done = Job.objects.filter(question=question_of(PLAN, options), state=Job.State.DONE)
    return done.aggregate(newest=Max("pk"))


def _plan_trials(options: Options, progress: Progress) -> Result:
    """Plan the wanted trials and queue a run for each."""
    judge = Judge.objects.select_related("rater", "base").get(pk=options["judge"])
    campaign = Campaign.objects.select_related("batch").get(pk=options["campaign"])
    kinds = tuple(options["kinds"])
    selection = TrialSelection(kinds, options["items"], options["seed"], options["prompt"])
    try:
        runs = start_trials(campaign, judge, selection, progress)
    except (NothingOpenError, TrialError, *NOT_STARTED) as error:
        raise JobError(str(error)) from error
    return Result.of({"runs": [run.pk for run in runs]})


def _manifest(options: Options, progress: Progress) -> Result:
    run = JudgeRun.objects.select_related("campaign__batch", "judge__rater").get(pk=options["run"])
    text = json.dumps(manifest_of(run), ensure_ascii=False, indent=2, sort_keys=True)
    return Result([f"{text}\n".encode()], f"run-{run.pk}.manifest.json")


def _comparison(options: Options, progress: Progress) -> Result:
    rows = compare_judges(Campaign.objects.get(pk=options["campaign"]))
    return Result.of([{**_plain(row), "spent": _plain(row["spent"])} for row in rows])


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> Any:
    if isinstance(value, Judge):
        return value.pk
    return str(value) if isinstance(value, Decimal) else value


def _sees_estimate(user: User, options: Options) -> bool:
    there = visible_judges(user).filter(pk=options["judge"]).exists()
    return there and _sees_campaign(user, options)


def _sees_campaign(user: User, options: Options) -> bool:
    return find_readable(user, options["campaign"]) is not None


def _sees_plan(user: User, options: Options) -> bool:
    """Whether the plan is the person's own, and they still manage its judge and campaign."""
    judges = manageable_judges(user).filter(pk=options["judge"])
    managed = may_manage(user, options["campaign"])
    return user.pk == options["user"] and judges.exists() and managed


def _sees_manifest(user: User, options: Options) -> bool:
    return may_read(user, options["campaign"])


def _sees_build(user: User, options: Options) -> bool:
    """Whether a person may build from the batch and may currently read the authored answers."""
    batch = visible_batches(user).filter(pk=options["batch"]).first()
    may_build = batch is not None and manages(user, batch)
    may_see = options["campaign"] is None or may_read(user, options["campaign"])
    return user.pk == options["user"] and may_build and may_see


def _runs(user: Any, keys: Sequence[str]) -> Iterator[Work]:
    """Yield runs over campaigns that an account may read."""
    for run in visible_runs(user).filter(pk__in=[number_in(key) for key in keys]):
        name = f"run:{run.pk}"
        if run.state in ACTIVE:
            yield Work(name)
            continue
        missing = f", {run.failed:,} missing" if run.failed else ""
        text = f"Judge {run.judge} in {run.campaign.name}: {describe_status(run).word.lower()}"
        address = reverse("judge-run", args=[run.pk])
        yield Work(name, f"{text}, {run.done:,} answered{missing}.", address)


def _trials(user: Any, keys: Sequence[str]) -> Iterator[Work]:
    """Yield one notice for all trials of a judge in a campaign, under the keys of both."""
    for key in keys:
        of, _, judge = key.partition("-")
        campaign = find_readable(user, number_in(of))
        base = visible_judges(user).filter(pk=number_in(judge)).first()
        if campaign is None or base is None:
            continue
        runs = trial_runs(campaign, base)
        if runs.filter(state__in=ACTIVE).exists():
            yield Work(f"trials:{key}")
            continue
        text = f"Trials of judge {base} in {campaign.name}: ended."
        address = reverse("campaign-trials", args=[campaign.pk])
        yield Work(f"trials:{key}", text, f"{address}?judge={base.pk}")


register_notices("run", _runs)
register_notices("trials", _trials)
register_source(runs)
register(
    TRY_KIND,
    Kind(builds.BUILD, "Built batch", builds.state, builds.carry_out, _sees_build),
    Kind(ESTIMATE, "Estimate", _state_of_estimate, _estimate, _sees_estimate, listed=False),
    Kind(TRIALS, "Estimate", _state_of_estimate, _estimate_trials, _sees_estimate, listed=False),
    Kind(PLAN, "Plan of the trials", _state_of_plan, _plan_trials, _sees_plan),
    Kind(MANIFEST, "Manifest", _state, _manifest, _sees_manifest),
    Kind(COMPARISON, "Comparison of judges", _state, _comparison, _sees_campaign, listed=False),
)
