"""Tandem's own processes beside a test: commands, and a worker, over a database file of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPORTS, QUESTIONS = 20, 10
UNITS = REPORTS * QUESTIONS


class House:
    """A data folder with a loaded campaign, and the ways to work on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if k not in DECIDED}
        self.env |= {"DEBUG": "1", "TANDEM_DATA_DIR": str(folder)}

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def manage(self, *arguments: str) -> str:
        process = self.start("manage.py", *arguments)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out
        return out

    def open_campaign(self, url: str, *params: str) -> None:
        batch = self.folder / "batch.jsonl"
        batch.write_text("".join(json.dumps(query(n)) + "\n" for n in range(REPORTS)), "utf-8")
        self.manage("migrate", "--verbosity", "0")
        self.manage("load_batch", str(batch), "--name", "b")
        self.manage("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b")
        self.manage("create_judge", "j", "--backend", "openai", "--model", "fake-judge",
                    "--base-url", url, "--granularity", "unit", *params)  # fmt: skip

    def labels(self) -> Counter[tuple[str, str]]:
        """How many labels each unit has."""
        out = self.folder / "labels.jsonl"
        out.unlink(missing_ok=True)
        self.manage("export", "--campaign", "c", "--what", "labels", "--output", str(out))
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        return Counter((row["item"], row["unit"]) for row in rows if row.get("value"))

    def lose_messages(self) -> int:
        queue = self.folder / "broker" / "queue"
        lost = list(queue.iterdir())
        shutil.rmtree(queue)
        queue.mkdir()
        return len(lost)

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[str]]:
        log = (self.folder / "worker.log").open("a")
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "1",
             "--loglevel", "INFO"],
            cwd=ROOT, env=self.env, stdout=log, stderr=log, start_new_session=True, text=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            kill_9(process)
            log.close()


DECIDED = ("DATABASE_URL", "CELERY_BROKER_URL", "CELERY_RESULT_BACKEND", "OPENAI_API_KEY")


def query(number: int) -> dict[str, object]:
    questions = [{"id": f"q{number}:{n}", "text": f"What is {n}?"} for n in range(QUESTIONS)]
    report = {"id": f"r{number}", "text": f"Report {number}: all is well 🌉.", "system": "s"}
    return {"id": f"q{number}", "text": "Tell all.", "questions": questions, "reports": [report]}


def kill_9(process: subprocess.Popen[str]) -> None:
    """The process with all its children, without a chance to tidy up."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def until(holds: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)
