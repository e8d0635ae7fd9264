"""What a run came to, in one line."""

from __future__ import annotations

from judging import ledger
from judging.models import JudgeRun


def summary(run: JudgeRun) -> str:
    """Counts of this run, and what is left open."""
    run.refresh_from_db()
    failed = f"{run.failed:,} failed" + _by_reason(run.failures)
    tokens = run.prompt_tokens + run.completion_tokens
    line = f"{run.done:,} done, {failed}, {run.calls:,} calls, {tokens:,} tokens"
    left = ledger.waiting(run.campaign, run.judge)
    return f"{line}; {left:,} left open." if left else f"{line}."


def standing_line(run_done: int, reasons: dict[str, int]) -> str:
    """What stands where nothing is left to do."""
    return f"{run_done:,} done, {sum(reasons.values()):,} missing{_by_reason(reasons)}"


def _by_reason(reasons: dict[str, int]) -> str:
    listed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(reasons.items()))
    return f" ({listed})" if listed else ""
