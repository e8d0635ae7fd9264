"""The time of CRUX's measures of a large study: every passage rated, 20 systems."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.processes import manage, python
from benchmarks.report import ENVIRONMENT

Figures = dict[str, Any]
NAME, JUDGE = "measures", "judge"
RATING_SHARES = (0.55, 0.1, 0.1, 0.1, 0.1, 0.05)
WORDS_A_PASSAGE = 200
MOST_SECONDS = 5.0


@dataclass(frozen=True)
class Size:
    """`queries`, each with a number of sub-questions and passages, ranked by `systems`."""

    queries: int
    questions: int
    passages: int
    systems: int
    resamples: int


FULL = Size(1_000, 10, 10, 20, 2_000)
QUICK = Size(12, 3, 4, 4, 20)


def measure_measures(size: Size) -> Figures:
    """Time all measures of a campaign over SQLite, in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**ENVIRONMENT, "TANDEM_DATA_DIR": folder}
        batch = _written(Path(folder, "batch.jsonl"), create_batch(size))
        ratings = _written(Path(folder, "labels.jsonl"), create_ratings(size))
        design = ("--protocol", "rubric-passage", "--batch", NAME, "--option", "sampling=all")
        manage("migrate", "--verbosity", "0", env=env)
        manage("load_batch", batch, "--name", NAME, env=env)
        manage("create_campaign", NAME, *design, env=env)
        manage("import_labels", ratings, "--campaign", NAME, env=env)
        cost = python("-m", "benchmarks.measures", size.resamples, env=env)
    made = size.queries * size.questions * size.passages
    return {**asdict(size), "ratings": made, "peak_mb": cost.peak_mb, **cost.answer()}


def create_batch(size: Size) -> Iterator[Figures]:
    """Create queries whose oracle context is half of their passages, ranked by each system."""
    generator = np.random.default_rng(0)
    for query in range(size.queries):
        passages = [f"q{query}-p{n}" for n in range(size.passages)]
        yield {
            "id": f"q{query}",
            "text": f"query {query}",
            "questions": [{"id": f"q{query}:{n}", "text": f"{n}?"} for n in range(size.questions)],
            "passages": [
                {"id": each, "text": "word " * (WORDS_A_PASSAGE + n)}
                for n, each in enumerate(passages)
            ],
            "reports": [
                {
                    "id": f"q{query}-oracle",
                    "text": "words",
                    "system": "oracle",
                    "context": passages[: -(-size.passages // 2)],
                }
            ],
            "rankings": [
                {"system": f"system {n}", "passages": generator.permutation(passages).tolist()}
                for n in range(1, size.systems)
            ],
        }


def create_ratings(size: Size) -> Iterator[Figures]:
    """Create a rating of every sub-question by every passage of its query."""
    generator = np.random.default_rng(1)
    shape = size.queries, size.passages, size.questions
    ratings = generator.choice(len(RATING_SHARES), shape, p=RATING_SHARES)
    for (query, passage, question), rating in np.ndenumerate(ratings):
        yield {
            "item": f"q{query}/q{query}-p{passage}",
            "unit": f"q{query}:{question}",
            "variable": "rating",
            "value": str(rating),
            "rater": JUDGE,
            "rater_kind": "judge",
        }


def _written(path: Path, rows: Iterable[Figures]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def seconds(resamples: int) -> Figures:
    """Time the function behind `measures --campaign`, and the reading that is part of it."""
    import django

    django.setup()

    from analysis.campaigns.frames import campaign_frame
    from analysis.evaluation.build import measures_report
    from annotation.models import Campaign
    from datasets.material import batch_rows
    from tandem.labels.selection import ReportOptions
    from tandem.scores.options import PRESETS

    campaign, choices = Campaign.objects.get(name=NAME), ReportOptions(resamples=resamples)
    began = perf_counter()
    campaign_frame(campaign, choices)
    list(batch_rows(campaign.batch))
    read = perf_counter()
    report = measures_report(campaign, PRESETS["crux"], "crux", choices)
    numbers = sum(len(of["systems"]) for of in report["measures"].values())
    return {"seconds": perf_counter() - read, "reading": read - began, "numbers": numbers}


def lines(figures: Mapping[str, Any]) -> str:
    """Return the seconds with their bar, and the parts that they consist of."""
    whole, held = figures["seconds"], figures["seconds"] <= MOST_SECONDS
    return "\n".join(
        (
            f"{figures['ratings']:,} ratings ({figures['queries']:,} queries x "
            f"{figures['questions']} sub-questions x {figures['passages']} passages), "
            f"{figures['systems']} systems, {figures['resamples']:,} resamples",
            f"all measures, {figures['numbers']:,} numbers: {whole:.3g} s, bar "
            f"{MOST_SECONDS:g} s: {'holds' if held else 'MISSED'}",
            f"reading in it: {figures['reading']:.3g} s, so {whole - figures['reading']:.3g} s "
            f"without it; peak {figures['peak_mb']:.0f} MB",
        )
    )


if __name__ == "__main__":
    print(json.dumps(seconds(int(sys.argv[1]))))
