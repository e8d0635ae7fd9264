"""Studies of six systems that people and a judge have labelled, for pages with results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.cache import caches

from annotation.models import Campaign
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_powered import QUERIES, labels, line
from tests.cast import write_lines
from tests.page_cast import make_study

EVERY = list(range(QUERIES))


def load_systems(folder: Path, *names: str) -> None:
    """Load the batch under each name."""
    caches["reports"].clear()
    make_study()
    batch = write_lines(folder / "batch.jsonl", [line(n) for n in EVERY])
    for name in names:
        run("load_batch", str(batch), "--name", name)


def create(name: str, batch: str, protocol: str = "report-coverage", *options: str) -> Campaign:
    run("create_campaign", name, "--protocol", protocol, "--batch", batch, *options)
    return Campaign.objects.get(name=name)


def label(campaign: Campaign, folder: Path, *raters: str) -> None:
    rows = [row for who in raters for row in labels(EVERY, who)]
    import_rows(campaign, folder, rows)


def import_rows(campaign: Campaign, folder: Path, rows: list[dict[str, Any]]) -> None:
    path = write_lines(folder / "labels.jsonl", rows)
    run("import_labels", str(path), "--campaign", campaign.name)


def types() -> Iterator[dict[str, Any]]:
    """A person's types of the questions, by the question's number."""
    codes = {
        "sensitivity": ("static", "slow-changing", "fast-changing"),
        "popularity": ("head", "torso", "tail"),
    }
    for n in EVERY:
        for name, of in codes.items():
            key, value = line(n)["id"], of[n % 3 if name == "sensitivity" else n // 16]
            yield {"item": key, "unit": key, "variable": name, "value": value, "rater": "ada"}
