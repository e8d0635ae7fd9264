"""What a run came to, in one line."""

from __future__ import annotations

from judging.costs.prices import money
from judging.models import JudgeRun
from judging.rows import ledger


def summary(run: JudgeRun) -> str:
    """Counts of this run, and what is left open."""
    run.refresh_from_db()
    failed = f"{run.failed:,} failed" + by_reason(run.failures)
    tokens = run.prompt_tokens + run.completion_tokens
    line = f"{run.done:,} done, {failed}, {run.calls:,} calls, {tokens:,} tokens"
    line += f", {run.reused:,} reused" if run.reused else ""
    line += f", {money(run.cost)}" if run.cost else ""
    left = ledger.waiting(run.campaign, run.judge)
    return f"{line}; {left:,} left open." if left else f"{line}."


def standing_line(run_done: int, reasons: dict[str, int]) -> str:
    """What stands where nothing is left to do."""
    return f"{run_done:,} done, {sum(reasons.values()):,} missing{by_reason(reasons)}"


def by_reason(reasons: dict[str, int]) -> str:
    listed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(reasons.items()))
    return f" ({listed})" if listed else ""
