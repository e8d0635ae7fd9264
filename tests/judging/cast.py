"""Two queries with two reports each, and judges that say what a test tells them to."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from django.core.management import call_command

from annotation.models import Campaign
from datasets.models import Batch
from judging import tasks
from judging.backends.base import Request
from judging.backends.scripted import Script, Scripted
from judging.engine import Control, Ending
from judging.engine.worker import work
from judging.judges import Definition, define
from judging.models import Judge, JudgeRun
from judging.retries import Patience
from judging.runs import lifecycle

if TYPE_CHECKING:
    import pytest

HASTY = Patience(
    attempts=3, backoff=0.001, rate_patience=0.2, longest_wait=0.01,
    outage=0.3, unproven=0.2, probe=0.02,
)  # fmt: skip
PLANTED = "zeta-system"
SETTING = "dense-setting"


def query(number: int) -> dict[str, Any]:
    """A query whose first report was written by a system whose name no judge may see."""
    return {
        "id": f"q{number}",
        "text": f"How was bridge {number} built?",
        "asked_at": "2024-05-03",
        "questions": [
            {"id": f"q{number}:{n}", "text": text}
            for n, text in enumerate(("When did it open?", "Who built it?", "Is {query} odd?"))
        ],
        "passages": [
            {
                "id": f"p{number}",
                "text": "The bridge opened in 1901. Anna Lee built it.",
                "sentences": ["The bridge opened in 1901.", "Anna Lee built it."],
                "source": "web",
            }
        ],
        "key_points": [
            {"id": f"k{number}", "text": "The bridge opened in 1901.", "passage": f"p{number}"}
        ],
        "nuggets": [{"id": f"n{number}", "text": "Anna Lee built it.", "importance": "vital"}],
        "reports": [
            {
                "id": f"{PLANTED}/{number}",
                "text": f"Anna Lee 🌉 built bridge {number}.\r\nIt opened in 1901. {{units}}",
                "system": PLANTED,
                "setting": SETTING,
                "sentences": [f"Anna Lee 🌉 built bridge {number}.", "It opened in 1901. {units}"],
                "sentence_citations": [[f"p{number}"], []],
            },
            {"id": f"r{number}", "text": f"Nobody knows {number}.", "system": "bm25"},
        ],
    }


def campaign_of(folder: Path, protocol: str = "report-coverage", **options: Any) -> Campaign:
    """A campaign over the two queries, in addition to the module's own if there is one."""
    path = folder / "batch.jsonl"
    path.write_text("".join(json.dumps(query(n)) + "\n" for n in (1, 2)), "utf-8")
    if not Batch.objects.filter(name="bridges").exists():
        command("load_batch", str(path), "--name", "bridges")
    given = [f"--option={name}={value}" for name, value in options.items()]
    name = f"study of {protocol}"
    if Campaign.objects.filter(name=name).exists():
        name = f"another {name}"
    made = ("create_campaign", name, "--protocol", protocol, "--batch", "bridges")
    command(*made, "--pool", "open", *given)
    return Campaign.objects.get(name=name)


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=out)
    return out.getvalue()


def judge(name: str = "judge", backend: str = "lexical", **fields: Any) -> Judge:
    return define(Definition(name, backend, **fields))[0]


def yes(request: Request) -> str:
    """Answer yes to every question and quote the beginning of the report."""
    quote = {"quote": request.facts.texts[0][:10], "start": None}
    answer = {"evidence": [quote], "answerable": "yes"}
    if request.facts.unit_by_unit:
        return json.dumps(answer)
    return json.dumps({unit.name: answer for unit in request.facts.units})


def run_scripted(
    campaign: Campaign,
    rater: Judge,
    script: Script = yes,
    limit: int | None = None,
    control: Control | None = None,
    backend: Scripted | None = None,
) -> tuple[JudgeRun, Ending, Scripted]:
    """A complete run, with its counts as stored."""
    backend = backend or Scripted(script)
    run = lifecycle.start(campaign, rater, limit)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    ending = work(run, lease, control, backend, HASTY)
    run.refresh_from_db()
    return run, ending, backend


def pump_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Celery's task work on its run in this process, whose changes are not committed."""

    def here(source: str, key: str, seconds: float) -> bool:
        taken = tasks.take(key, seconds)
        if taken is not None:
            taken.carry_out(lambda done, total: None)
        return taken is not None

    monkeypatch.setattr(tasks, "carry_out_one", here)
    monkeypatch.setattr(tasks, "signal", SimpleNamespace(SIGTERM=15, signal=lambda *given: None))
