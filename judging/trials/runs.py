"""Runs of a judge's trials: estimate, start and stop them.

The command `robustness` and the page of a judge's trials call these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import QuerySet

from annotation.models import Assignment, Campaign
from datasets.work.guard import for_workers
from judging.display import Progress, progress_of, with_clock
from judging.estimate import Estimate, estimate
from judging.models import ACTIVE, Judge, JudgeRun
from judging.prompts.perturbations import KINDS
from judging.runs import lifecycle
from judging.runs.planning import TrialSample, plan_copies, sample_assignments, trial_sample_for
from judging.tasks import NothingOpenError, begin
from judging.trial_effects import trials_in
from judging.trials.perturbed_judges import ensure_trials, find_trials, kind_problems

ReportProgress = Callable[[int, int], None]
"""Called with the number of trials done, and of all trials."""


@dataclass(frozen=True)
class TrialSelection:
    """A selection of a judge's trials: of these `kinds`, or of all possible ones.

    Each repeats `items` of the items that the judge has answered, by default its usual share, in
    the order of the `seed`. `prompt` is a checked text that replaces the built-in paraphrase.
    """

    kinds: tuple[str, ...] = ()
    items: int | None = None
    seed: int = 0
    prompt: str = ""


@dataclass(frozen=True)
class KindEstimate:
    """The estimates of one kind's trials, or the reason why they are impossible."""

    kind: str
    problem: str = ""
    trials: tuple[tuple[str, Estimate], ...] = ()

    @property
    def title(self) -> str:
        return KINDS[self.kind].title

    @property
    def reason(self) -> str:
        """The reason why the kind is impossible, without the advice to leave it out."""
        return self.problem.removesuffix("; leave it out")

    @property
    def calls(self) -> int:
        return sum(each.calls for _, each in self.trials)

    @property
    def cost(self) -> Decimal | None:
        """US dollars for all trials of the kind; None if any of them is unknown."""
        costs = [each.cost for _, each in self.trials]
        known = [cost for cost in costs if cost is not None]
        return sum(known, Decimal(0)) if len(known) == len(costs) else None

    @property
    def seconds(self) -> float | None:
        """The total time of the kind's trials, one after the other; None if any is unknown."""
        known = [each.seconds for _, each in self.trials if each.seconds is not None]
        return sum(known) if len(known) == len(self.trials) else None


@dataclass(frozen=True)
class TrialStatus:
    """A trial with its newest run over a campaign, if any, and its progress."""

    trial: Judge
    progress: Progress | None

    @property
    def title(self) -> str:
        found = self.trial.variation
        title = KINDS[found["kind"]].title
        return f"{title}: {found['family']}" if "family" in found else title

    @property
    def is_active(self) -> bool:
        return self.progress is not None and not self.progress.ended


def possible_kinds(campaign: Campaign, base: Judge, selection: TrialSelection) -> dict[str, str]:
    """Map each kind to the reason why it is impossible, empty if it is possible."""
    found = kind_problems(campaign, base)
    if selection.prompt and not base.file:
        found["paraphrase"] = ""
    return found


@for_workers
def estimates(
    campaign: Campaign,
    base: Judge,
    selection: TrialSelection,
    heard: ReportProgress = lambda done, total: None,
) -> list[KindEstimate]:
    """Estimate the wanted trials, kind by kind, without storing anything.

    A named kind that is impossible has a reason. Without names, every kind is listed. Raises
    TrialError for a judge without trials, SetupError or PromptError.
    """
    problems = possible_kinds(campaign, base, selection)
    kinds = selection.kinds or tuple(KINDS)
    found = {kind: find_trials(campaign, base, kind, selection.seed, selection.prompt)
             for kind in kinds if not problems[kind]}  # fmt: skip
    total, done = sum(map(len, found.values())), 0
    samples = _Samples(campaign, base, selection)
    rows: list[KindEstimate] = []
    for kind in kinds:
        each: list[tuple[str, Estimate]] = []
        for trial in found.get(kind, ()):
            each.append((str(trial), estimate(trial, campaign, copied=samples.of(trial))))
            done += 1
            heard(done, total)
        rows.append(KindEstimate(kind, problems[kind], tuple(each)))
    return rows


@for_workers
def plan_trials(
    campaign: Campaign,
    base: Judge,
    selection: TrialSelection,
    heard: ReportProgress = lambda done, total: None,
) -> list[Judge]:
    """Return the selected trials, and create missing ones with their assignments.

    No request is sent yet. Raises TrialError.
    """
    kinds = selection.kinds
    if not kinds:
        kinds = tuple(k for k, why in possible_kinds(campaign, base, selection).items() if not why)
    samples = _Samples(campaign, base, selection)
    trials = [
        trial
        for kind in kinds
        for trial in ensure_trials(campaign, base, kind, selection.seed, selection.prompt)
    ]
    for done, trial in enumerate(trials, 1):
        plan_copies(campaign, trial, samples.of(trial))
        heard(done, len(trials))
    return trials


class _Samples:
    """Caches the answers that trials repeat, for trials with equally large samples."""

    def __init__(self, campaign: Campaign, base: Judge, selection: TrialSelection) -> None:
        self._campaign, self._base, self._wanted = campaign, base, selection
        self._known: dict[TrialSample, Sequence[Assignment]] = {}

    def of(self, trial: Judge) -> Sequence[Assignment]:
        sample = trial_sample_for(trial, self._wanted.items)
        if sample not in self._known:
            self._known[sample] = sample_assignments(
                self._campaign, self._base, sample, self._wanted.seed
            )
        return self._known[sample]


def start_trials(
    campaign: Campaign,
    base: Judge,
    selection: TrialSelection,
    heard: ReportProgress = lambda done, total: None,
) -> list[JudgeRun]:
    """Queue a run for each wanted trial that has not answered all of its items; return the runs.

    Raises NothingOpenError if there is none, TrialError, and what `judging.tasks.begin` raises.
    """
    runs = []
    for trial in plan_trials(campaign, base, selection, heard):
        try:
            runs.append(begin(trial, campaign, {}))
        except NothingOpenError:
            continue
    if not runs:
        raise NothingOpenError("these trials have answered all of their items; choose more items")
    return runs


def trial_runs(campaign: Campaign, base: Judge) -> QuerySet[JudgeRun]:
    """Return the runs of a judge's trials over a campaign, without those of drafts."""
    return JudgeRun.objects.filter(
        campaign=campaign, judge__base=base, judge__variation__kind__in=list(KINDS)
    )


def stop_trials(campaign: Campaign, base: Judge) -> int:
    """Stop the active runs of a judge's trials, which can be continued; return their number."""
    runs = trial_runs(campaign, base).filter(state__in=ACTIVE)
    return sum(lifecycle.ask_to_stop(run) for run in runs.select_related("judge", "campaign"))


def trial_statuses(campaign: Campaign, base: Judge) -> Iterator[TrialStatus]:
    """Yield a judge's trials in a campaign, in the order of their kinds, each with its progress."""
    trials = trials_in(campaign, base)
    runs = trial_runs(campaign, base).order_by("pk")
    newest = {run.judge_id: run for run in with_clock(runs)}
    for trial in trials:
        run = newest.get(trial.pk)
        yield TrialStatus(trial, progress_of(run) if run else None)
