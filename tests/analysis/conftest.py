"""The contract's study and CRUX's, loaded once per module, and reference numbers from elsewhere."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Campaign
from tandem.scores.options import PRESETS
from tandem.sections import alt_power
from tandem.statistics import alternative_floors, components, resampling
from tandem.trust import better
from tests.databases import emptying_after, rolled_back

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
CONTRACT = Path(__file__).resolve().parents[1] / "contract"
ABSENT = "the folder ../shared/data is not there; it holds data that is not ours to ship"

PEOPLE = ("annotator1", "annotator2", "annotator3")

FEW_RESAMPLES = 60
FEW_CONTEXTS = 6
# The studies, permutations, futures and parts that a report simulates or leaves out.
FEW_TRIALS = FEW_PERMUTATIONS = FEW_PATHS = 40
FEW_PARTS = 12


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.fixture(scope="package", autouse=True)
def _few_resamples() -> Iterator[None]:
    """Resample and simulate less, which takes longer than a report: no test here checks digits.

    What simulates is tested by tests/statistics and tests/trust, with as much as users get.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "RESAMPLES_OF_FEW", FEW_RESAMPLES)
        patch.setattr(resampling, "RESAMPLES", FEW_RESAMPLES)
        patch.setattr(alt_power, "TRIALS", FEW_TRIALS)
        patch.setattr(components, "MOST_SINGLE", FEW_PARTS)
        patch.setattr(components, "PARTS", FEW_PARTS)
        given = alternative_floors.permuted.__kwdefaults__ or {}
        patch.setitem(given, "permutations", FEW_PERMUTATIONS)
        patch.setattr(better.Standing.more, "__defaults__", (0, FEW_PATHS))
        yield


@pytest.fixture(scope="package", autouse=True)
def _few_contexts() -> Iterator[None]:
    """Sample fewer contexts: those of 48 take a quarter of the time of all measures."""
    with pytest.MonkeyPatch.context() as patch:
        for name, preset in PRESETS.items():
            patch.setitem(PRESETS, name, replace(preset, samples=FEW_CONTEXTS))
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(ABSENT)
    return SHARED


@pytest.fixture(scope="session")
def expected(data: Path) -> dict[str, dict[str, Any]]:
    """The entries of `expected.json` by id."""
    entries = json.loads((data / "expected.json").read_text("utf-8"))["entries"]
    return {entry["id"]: entry for entry in entries}


@pytest.fixture(scope="module")
def crux(data: Path, django_db_setup: None, django_db_blocker: Any) -> Any:
    """A campaign with the labels of CRUX's three annotators; removed after the module."""
    with emptying_after(django_db_blocker):
        run("load_batch", str(data / "crux"), "--name", "crux")
        run("create_campaign", "crux-t1", "--protocol", "report-coverage", "--batch", "crux",
            "--raters-per-item", "3")  # fmt: skip
        files = [str(data / "crux" / "annotations" / p / "qlabels.jsonl") for p in PEOPLE]
        run("import_labels", *files, "--campaign", "crux-t1")
        yield Campaign.objects.get(name="crux-t1")


@pytest.fixture(scope="module")
def crux_report(crux: Any) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(run("report", "--campaign", crux.name))
    return report


@pytest.fixture(scope="module")
def ferries(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Campaign]:
    """The contract's example with its answers; the database is rolled back after the module."""
    rows = (CONTRACT / "labels.jsonl").read_text("utf-8").split("\n")
    path = tmp_path_factory.mktemp("ferries") / "labels.jsonl"
    path.write_text("\n".join(r for r in rows if '"variable": "answerable"' in r), "utf-8")
    with rolled_back(django_db_blocker):
        run("load_batch", str(CONTRACT / "batch.jsonl"), "--name", "ferries")
        run("create_campaign", "ferries", "--protocol", "report-coverage", "--batch", "ferries",
            "--pool", "open")  # fmt: skip
        run("import_labels", str(path), "--campaign", "ferries")
        yield Campaign.objects.get()


@pytest.fixture
def labelled(ferries: Campaign, db: None) -> Campaign:
    return Campaign.objects.get(pk=ferries.pk)
