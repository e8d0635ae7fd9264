"""Rules about judges: waiting and interrupted runs, budgets, and missing answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from analysis.attention.base import Action, Facts, Finding, count
from judging.models import ACTIVE, JudgeRun
from tandem.document import join_words

PATIENCE = timedelta(seconds=60)
NEARLY = 0.8
"""A budget counts as nearly spent from this share on."""
BELOW = "below_floor"
State = JudgeRun.State


def waiting(facts: Facts) -> Iterator[Finding]:
    """Find runs, and reports, that wait although no worker takes them."""
    for run in facts.runs:
        if (
            run.state == State.QUEUED
            and run.lease is None
            and facts.now - run.started_at > PATIENCE
        ):
            text = f"The run of {run.judge.rater.name} waits, and no worker has taken it."
            yield Finding("urgent", text, (_open(run, "Open the run"),))
    if facts.is_stuck:
        text = "The report waits, and no worker is running."
        yield Finding("urgent", text, (Action("Start a worker", "jobs"),))


def paused(facts: Facts) -> Iterator[Finding]:
    """Find runs whose server is paused."""
    for run in facts.runs:
        if run.state in ACTIVE and run.lane is not None and run.lane.paused:
            text = f"{run.judge.rater.name} is paused: {run.lane.paused.rstrip('.')}."
            yield Finding("urgent", text, (_open(run, "Open the run"),))


def interrupted(facts: Facts) -> Iterator[Finding]:
    """Find runs that ended before everything was asked."""
    for run in facts.runs:
        if run.state == State.INTERRUPTED or (run.error and run.state not in ACTIVE):
            why = f": {run.error.rstrip('.')}" if run.error else ""
            text = f"The run of {run.judge.rater.name} was interrupted{why}."
            start = Action(
                "Continue",
                "judge-start",
                (run.judge_id,),
                query={"campaign": facts.campaign.pk},
                changes=True,
            )
            yield Finding("warning", text, (_open(run, "Open the run"), start))


def failed(facts: Facts) -> Iterator[Finding]:
    """Find judges with missing answers."""
    for run in facts.runs:
        name = run.judge.rater.name
        if number := facts.failed.get(name):
            reasons = sorted(run.failures.items(), key=lambda each: (-each[1], each[0]))
            why = join_words([f"{n} {reason}" for reason, n in reasons]) if reasons else ""
            text = f"{count(number, 'answer')} of {name} {'is' if number == 1 else 'are'} missing"
            shown = (facts.campaign.pk, run.judge_id)
            calls = Action("Look", "judge-answers", shown, query={"state": "failed"})
            yield Finding("warning", f"{text}{f' ({why})' if why else ''}.", (calls,))


def budget(facts: Facts) -> Iterator[Finding]:
    """Find runs that have nearly spent their budget."""
    for run in facts.runs:
        if spent := _spent(run):
            yield Finding("warning", spent, (_open(run, "Open the run"),))


def _spent(run: JudgeRun) -> str:
    if run.state not in ACTIVE and run.state != State.STOPPED:
        return ""
    name, tokens = run.judge.rater.name, run.prompt_tokens + run.completion_tokens
    if run.most_cost and float(run.cost) >= NEARLY * float(run.most_cost):
        return f"{name} has spent ${run.cost:,.2f} of the ${run.most_cost:,.2f} that this run may."
    if run.most_tokens and tokens >= NEARLY * run.most_tokens:
        return f"{name} has used {tokens:,} of the {run.most_tokens:,} tokens that this run may."
    return ""


def below_baseline(facts: Facts) -> Iterator[Finding]:
    """Find judges that agree with people less than word overlap does."""
    for warning in (facts.report or {}).get("warnings", ()):
        if warning["code"] == BELOW:
            text = f"{warning['rater']} agrees with people less than comparing words does"
            of = f" on {warning['variable']}" if len((facts.report or {})["variables"]) > 1 else ""
            results = Action("Results", "results", (facts.campaign.pk,))
            query = {"show": "judge", "judge": warning["rater"]}
            units = Action("Disagreements", "disagreements", (facts.campaign.pk,), query=query)
            yield Finding("warning", f"{text}{of}.", (results, units))


def _open(run: JudgeRun, label: str) -> Action:
    return Action(label, "judge-run", (run.pk,))
