"""The numbers of the bench, from a campaign's report, its runs and its trials, and their job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.db.models import Avg, Count, Max

from analysis.campaigns.cache import computed_report, state_of
from analysis.campaigns.evaluators import declared_for, judges_named, stored_evaluators
from analysis.campaigns.frames import campaign_frame, campaign_strata
from analysis.campaigns.people_sample import chosen_items
from analysis.campaigns.report_job import campaign_of, may_see, restore_dataclass
from analysis.robustness.sheet import Resampling, sheet
from annotation.models import Campaign
from datasets.work import JobError, Kind, Options, Result
from judging.answers.results import ANSWERED
from judging.models import Judge, JudgeCall, Price
from judging.runs.comparison import compare_judges
from judging.trial_effects import trials_in
from tandem.labels.frame import evaluation_items
from tandem.labels.resampling import Sample
from tandem.labels.selection import ALL_LABELS, ReportOptions
from tandem.sections.between_judges import errors_alike
from tandem.sections.comparison import comparable_part
from tandem.types import JSON, Progress, ignore_progress

NOT_RUN = "its labels come from a file or from votes, and no run is known"
NO_TRIALS = "it was not tried under perturbations"
UNPRICED = "the price of its model is unknown"
REPORT_KEYS = (
    "reference",
    "units",
    "ties",
    "missing",
    "agreement",
    "human_ceiling",
    "gap",
    "floor",
)
WORST = {"repeat": "flips", "attack": "went_over", "control": "mean_score"}
"""By a trial's purpose, the figure of which higher values are worse."""


class BenchError(ValueError):
    """Judges cannot be compared. The message says what is wrong and what to do."""


def bench(
    campaign: Campaign,
    judges: Sequence[str] = (),
    options: ReportOptions = ALL_LABELS,
    progress: Progress = ignore_progress,
) -> JSON:
    """Return the figures of several judges over a campaign, in the order named (default: all).

    An evaluator's name stands for its judges, which are compared one by one. Figures against people
    are those of the report with the same options. The result is empty for a campaign without
    judges. Raises BenchError if a named judge has no label there.
    """
    judges, evaluators = judges_named(campaign, judges), stored_evaluators(campaign)
    options = replace(options, judges=tuple(sorted(judges)))
    report = computed_report(campaign, options, progress).report
    names = _names(report, judges)
    copied = (
        "campaign",
        "protocol",
        "batch",
        "generated_at",
        "version",
        "commit",
        "seed",
        "resamples",
    )
    facts = _facts(campaign, names, report, options)
    return {
        **{name: report[name] for name in copied},
        "chosen_items": chosen_items(campaign),
        "evaluators": [each.as_json() for each in evaluators if {*each.judges} & {*names}],
        "judges": facts,
        "variables": _variables(campaign, report, names, options),
    }


def _names(report: JSON, names: Sequence[str]) -> list[str]:
    there = [
        rater["name"]
        for rater in report["raters"]
        if rater["kind"] == "judge" and not rater["excluded"]
    ]
    if strange := [name for name in names if name not in there]:
        raise BenchError(
            f"Judge {strange[0]!r} has no label in campaign {report['campaign']!r}, or is "
            "excluded; run it first."
        )
    return list(dict.fromkeys(names)) or there


def _variables(
    campaign: Campaign, report: JSON, names: Sequence[str], options: ReportOptions
) -> JSON:
    if not names:
        return {}
    frame = campaign_frame(campaign, options, campaign_strata(campaign), kind="report")
    comparable = evaluation_items(frame.strata, options)
    found: JSON = {}
    for variable, block in report["variables"].items():
        labels = frame.variables[variable]
        sample = comparable_part(Sample(labels, options.resamples, options.seed), comparable)
        there = [name for name in names if name in block["judges"]]
        found[variable] = {
            "measurement": block["measurement"],
            "coefficient": block["coefficient"],
            "judges": {name: _of_report(block, name) for name in there},
            "errors": errors_alike(sample, there),
        }
    return found


def _of_report(variable: JSON, judge: str) -> JSON:
    block = variable["judges"][judge]
    found = {name: block[name] for name in REPORT_KEYS}
    found |= {name: block[name] for name in ("own_family",) if name in block}
    return {**found, "coefficient": variable["coefficient"]}


def _facts(
    campaign: Campaign, names: Sequence[str], report: JSON, options: ReportOptions
) -> list[JSON]:
    """Return each judge's definition, the usage of its runs, and its trials."""
    defined = {j.rater.name: j for j in Judge.objects.filter(rater__name__in=names)}
    ran = {row["judge"].pk: row for row in compare_judges(campaign)}
    seconds = _seconds(campaign, defined.values())
    fakes = {rater["name"] for rater in report["raters"] if rater.get("scripted")}
    found = []
    for name in names:
        judge = defined.get(name)
        row = ran.get(judge.pk) if judge else None
        found.append(
            {
                "name": name,
                "backend": judge.backend if judge else None,
                "model": judge.model if judge else None,
                "granularity": judge.granularity if judge else None,
                "family": judge.family or None if judge else None,
                "scripted": name in fakes,
                **_usage(row),
                "seconds": seconds.get(judge.pk) if judge else None,
                "robustness": _robustness(campaign, judge, options) if judge else None,
            }
        )
    return found


def _usage(row: Mapping[str, Any] | None) -> JSON:
    """Return the calls, tokens and cost of all runs over the campaign."""
    if row is None:
        return {"calls": None, "reused": None, "tokens": None, "cost": None, "unknown": NOT_RUN}
    spent, cost = row["spent"], row["cost"]
    kinds = ("prompt", "cached", "completion", "thinking")
    return {
        "calls": spent["calls"],
        "reused": spent["reused"],
        "tokens": {kind: spent[f"{kind}_tokens"] for kind in kinds},
        "cost": None if cost is None else f"{cost.normalize():f}",
        "unknown": UNPRICED if cost is None else "",
    }


def _seconds(campaign: Campaign, judges: Iterable[Judge]) -> dict[int, JSON]:
    """Return the mean seconds of each judge's answered calls, and their number."""
    calls = JudgeCall.objects.filter(
        run__campaign=campaign,
        run__judge__in=[judge.pk for judge in judges],
        state=ANSWERED,
        reused_from=None,
        seconds__gt=0,
    )
    timed = calls.order_by().values_list("run__judge").annotate(mean=Avg("seconds"), n=Count("pk"))
    return {judge: {"mean": mean, "calls": n} for judge, mean, n in timed}


def _robustness(campaign: Campaign, judge: Judge, options: ReportOptions) -> JSON | None:
    """Return the worst trial of each purpose, by variable. None without a trial."""
    if not trials_in(campaign, judge):
        return None
    found = sheet(campaign, judge, Resampling(options.seed, options.resamples))
    worst: JSON = {}
    for trial in found["trials"]:
        figure = WORST[trial["purpose"]]
        for variable, of in trial["variables"].items():
            made = {"trial": trial["title"], "figure": figure, **of[figure]}
            known = worst.setdefault(variable, {}).get(trial["purpose"])
            if known is None or (made["value"] or 0) > (known["value"] or 0):
                worst[variable][trial["purpose"]] = made
    return worst


BENCH = "bench"


def question(campaign: Campaign, judges: Sequence[str], options: ReportOptions) -> dict[str, Any]:
    """Return the question of a bench, for `datasets.work.ask`."""
    return {"campaign": campaign.pk, "judges": list(judges), "options": asdict(options)}


def calls_of(campaign: Campaign) -> dict[str, Any]:
    """Return the number and the newest of the calls of judges over a campaign."""
    calls = JudgeCall.objects.filter(run__campaign=campaign)
    return calls.aggregate(number=Count("pk"), newest=Max("pk"))


def _state(options: Options) -> Any:
    campaign = campaign_of(options)
    prices = Price.objects.aggregate(number=Count("pk"), newest=Max("pk"))
    return [state_of(campaign), calls_of(campaign), prices, declared_for(campaign)]


def _carry_out(options: Options, progress: Progress) -> Result:
    chosen = restore_dataclass(ReportOptions, options["options"])
    try:
        found = bench(campaign_of(options), options["judges"], chosen, progress)
    except BenchError as error:
        raise JobError(str(error)) from error
    return Result.of(found)


BENCH_KIND = Kind(BENCH, "Bench", _state, _carry_out, may_see, heavy=True)
