"""The report of a campaign, on labels like those in `benchmarks.report` in a database."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.processes import manage, python
from benchmarks.report import DOMAINS, ENVIRONMENT, JUDGES, QUERIES, SKILL, SYSTEMS

QUESTIONS, NAME = 16, "study"


def measure_campaign_report(labels: int, resamples: int) -> dict[str, Any]:
    """Time the report and its reading of labels, over SQLite, in a separate process."""
    reports = -(-labels // (QUERIES * QUESTIONS * len(SKILL)))
    with tempfile.TemporaryDirectory() as folder:
        env = {**ENVIRONMENT, "TANDEM_DATA_DIR": folder}
        batch = _written(Path(folder, "batch.jsonl"), create_batch(reports))
        answers = _written(Path(folder, "labels.jsonl"), create_answers(reports))
        design = ("--protocol", "report-coverage", "--batch", NAME)
        manage("migrate", "--verbosity", "0", env=env)
        manage("load_batch", batch, "--name", NAME, env=env)
        manage("create_campaign", NAME, *design, "--raters-per-item", 3, env=env)
        manage("import_labels", answers, "--campaign", NAME, env=env)
        cost = python("-m", "benchmarks.campaign_report", resamples, env=env)
    made = reports * QUERIES * QUESTIONS * len(SKILL)
    return {"labels": made, "peak_mb": cost.peak_mb, **cost.answer()}


def create_batch(reports: int) -> Iterator[dict[str, Any]]:
    """Create queries with sub-questions and reports by four systems, in three domains."""
    for query in range(QUERIES):
        yield {
            "id": f"q{query}",
            "text": f"query {query}",
            "meta": {"domain": DOMAINS[query % len(DOMAINS)]},
            "questions": [{"id": f"q{query}:{n}", "text": f"{n}?"} for n in range(QUESTIONS)],
            "reports": [
                {
                    "id": f"q{query}/{n}",
                    "text": "word " * (100 + n),
                    "system": SYSTEMS[n % len(SYSTEMS)],
                    "setting": f"{query % 2}",
                }
                for n in range(reports)
            ],
        }


def create_answers(reports: int) -> Iterator[dict[str, Any]]:
    """Create answers without evidence by three people and three judges; judges give scores."""
    generator = np.random.default_rng(0)
    for query in range(QUERIES):
        for report in range(reports):
            truth = generator.random(QUESTIONS) < 0.5
            for rater, skill in SKILL.items():
                says = np.where(generator.random(QUESTIONS) < skill, truth, ~truth)
                scores = np.clip(says + generator.normal(0, 0.3, QUESTIONS), 0, 1)
                for n, yes in enumerate(says):
                    line: dict[str, Any] = {
                        "item": f"q{query}/{report}",
                        "unit": f"q{query}:{n}",
                        "variable": "answerable",
                        "value": "yes" if yes else "no",
                        "rater": rater,
                    }
                    if rater in JUDGES:
                        line |= {"rater_kind": "judge", "score": float(scores[n])}
                    yield line


def _written(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def seconds(resamples: int) -> dict[str, float]:
    """Time the function behind `report --campaign`, and the reading that is part of it."""
    import django

    django.setup()

    from analysis.campaigns.frames import campaign_frame
    from analysis.campaigns.reports import campaign_report
    from annotation.models import Campaign
    from tandem.labels.selection import ReportOptions

    campaign, began = Campaign.objects.get(name=NAME), perf_counter()
    campaign_frame(campaign)
    read = perf_counter()
    campaign_report(campaign, ReportOptions(resamples=resamples))
    return {"seconds": perf_counter() - read, "reading": read - began}


if __name__ == "__main__":
    print(json.dumps(seconds(int(sys.argv[1]))))
