"""The parts on which the figures of scale depend; the bars themselves are never tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from annotation.counters import numbers
from annotation.models import Campaign, Label
from annotation.progress.counts import with_counts
from benchmarks.many_items import free, make
from benchmarks.scale import BAR, NEXT, OPEN, READ, SAVE, WORK, lines
from tests.annotation.answering import person
from tests.cast import ROOT, exported
from tests.databases import ON_POSTGRESQL
from tests.patience import PATIENCE


def verdict(p95: float) -> str:
    page = {"n": 9, "median": 1.0, "p95": p95, "worst": p95}
    said = lines({"postgresql": {"items": 5, "making_seconds": 1.0, "pages": {"a page": page}}})
    return said.splitlines()[-1].split()[-5]


def test_a_bar_is_met_or_missed_by_the_95th_percentile() -> None:
    assert verdict(BAR) == "holds:"
    assert verdict(BAR + 1) == "MISSED:"


@pytest.mark.django_db
def test_the_made_campaign_has_consistent_counts() -> None:
    made = make("c", items=25, people=3, others=2)
    campaign: Any = with_counts(Campaign.objects.filter(pk=made["id"])).get()
    assert (campaign.items_total, campaign.places, campaign.people_done) == (25, 50, 25)
    assert campaign.people == 5
    assert Label.objects.count() == 25
    counts = numbers(campaign)
    assert (counts["free/study"], counts["units/drawn"]) == (25, 25)
    assert counts["queries/evaluation/drawn"] == 3
    assert len(exported("c", "labels")) == len(exported("c", "units")) == 25


@pytest.mark.django_db
def test_claimed_slots_are_released_again() -> None:
    made = make("c", items=3, people=1)
    item = Campaign.objects.get(pk=made["id"]).items.earliest("position")
    held = person(item, "somebody")
    assert held.slot == 2
    assert free("c") == {"freed": 1}


@pytest.mark.long
@pytest.mark.processes
def test_a_quick_run_measures_every_page(tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--only", "scale", "--quick", "--items", "200"]
    database = "postgresql" if ON_POSTGRESQL else "sqlite"
    done = subprocess.run(
        [*command, "--database", database, "--output", str(output)],
        cwd=ROOT, capture_output=True, text=True, timeout=3 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pages = json.loads(output.read_text("utf-8"))["scale"][database]["pages"]
    assert set(pages) == {NEXT, OPEN, SAVE, *READ, *WORK}
    assert all(page["median"] <= page["p95"] <= page["worst"] for page in pages.values())
