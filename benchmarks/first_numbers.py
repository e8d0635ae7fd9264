"""How soon the demonstration's reports can be read, as a ratio to a report shown at its end.

`python -m benchmarks --only numbers`. Both are measured in turn on the same machine, each in a
forked process like that of a job. *At the end* is how reports were shown up to November 2026: one
process, which imports what it needs, and nothing to read before other libraries have computed the
figures again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.processes import manage, python
from benchmarks.report import ENVIRONMENT
from benchmarks.suite import temporary_folder

Figures = dict[str, Any]
FULL, QUICK = 5, 1
BAR = 3.0
"""How many times as soon as at the end the verdict and most sections of a report can be read."""
PARTS = ("first", "whole", "end")
"""The verdict and most sections; all; all of it, checked by other libraries."""


def measure_first_numbers(rounds: int) -> Figures:
    """Measure in a separate process, over a demonstration that is thrown away."""
    with temporary_folder() as folder:
        env = {**ENVIRONMENT, "TANDEM_DATA_DIR": str(folder)}
        manage("demo", "--no-serve", env=env)
        return python("-m", "benchmarks.first_numbers", rounds, env=env).answer()


def _measured(rounds: int) -> Figures:
    import django

    django.setup()
    from analysis.demo import campaigns_with_results

    return {each.name: _of_campaign(each.pk, rounds) for each in campaigns_with_results()}


def _of_campaign(campaign: int, rounds: int) -> Figures:
    runs = [
        (_forked(_at_the_end, campaign), _forked(_as_it_grows, campaign)) for _ in range(rounds)
    ]
    texts = {run["report"] for pair in runs for run in pair}
    return {
        "at the end": median(old["end"] for old, _ in runs),
        **{part: median(new[part] for _, new in runs) for part in PARTS},
        **{f"times {part}": median(old["end"] / new[part] for old, new in runs) for part in PARTS},
        "equal": len(texts) == 1,
    }


def _at_the_end(campaign: int) -> Figures:
    from analysis.campaigns.reports import campaign_report
    from annotation.models import Campaign
    from tandem.labels.selection import ReportOptions

    assert "scipy.stats" not in sys.modules, "it would already be imported"
    of = Campaign.objects.get(pk=campaign)
    start = perf_counter()
    report = campaign_report(of, ReportOptions())
    return {"end": perf_counter() - start, "report": _numbers(report)}


def _as_it_grows(campaign: int) -> Figures:
    from analysis.campaigns.reports import campaign_report
    from annotation.models import Campaign
    from datasets.work.beside import allow_forks
    from datasets.work.worker import _import_everything
    from tandem.labels.selection import ReportOptions

    # A worker does this once, before its first job.
    _import_everything()
    allow_forks()
    of, seconds = Campaign.objects.get(pk=campaign), []
    start = perf_counter()
    report = campaign_report(
        of, ReportOptions(), publish=lambda *_: seconds.append(perf_counter() - start)
    )
    first, whole = seconds
    end = perf_counter() - start
    return {"first": first, "whole": whole, "end": end, "report": _numbers(report)}


def _numbers(report: Figures) -> str:
    """Return a report as text, without the time at which it was computed."""
    return json.dumps({**report, "generated_at": ""})


def _forked(work: Callable[[int], Figures], campaign: int) -> Figures:
    from django.db import connections

    connections.close_all()
    ours, theirs = os.pipe()
    if os.fork() == 0:
        os.close(ours)
        try:
            with os.fdopen(theirs, "w") as out:
                json.dump(work(campaign), out)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        found: Figures = json.loads(pipe.read())
    os.wait()
    return found


def lines(figures: Figures) -> str:
    """Return the figures as lines, with the bar."""
    found = ["campaign                   first   whole  checked  at the end   times as soon"]
    for name, of in figures.items():
        numbers = f"{of['first']:7.2f} {of['whole']:7.2f} {of['end']:8.2f} {of['at the end']:11.2f}"
        times = " ".join(f"{of[f'times {part}']:5.1f}" for part in PARTS)
        same = "" if of["equal"] else "  THE NUMBERS DIFFER"
        found.append(f"{name:24} {numbers} {times}{same}")
    least = min(of["times first"] for of in figures.values())
    kept = "kept" if least >= BAR else "not kept"
    found.append(f"Seconds; first numbers at least {BAR:.0f} times as soon as at the end: {kept}")
    return "\n".join(found)


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]))))
