"""The small cast of the statistics tests, and the readers of the data kit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.statistics import Estimate, Floats, Ints

DATA = Path(__file__).resolve().parents[2] / "../shared/data"

needs_data = pytest.mark.skipif(not DATA.exists(), reason="the data kit is not beside the project")

#: Four observers, twelve units, five categories, missing labels: the worked example of
#: Krippendorff 2011, of Gwet's handbook and of most libraries.
FOUR_OBSERVERS = (
    np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    ).T
    - 1
)

#: Fourteen psychiatrists, ten patients, five diagnoses: the usual example of Fleiss' kappa.
FOURTEEN_RATERS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)

SETTINGS = ("oracle", "bm25", "dr_rankfirst")


def number(value: float | None) -> float:
    """The value, which must not be None."""
    assert value is not None
    return value


def interval(made: Estimate) -> tuple[float, float]:
    """The two ends of the interval, which must exist."""
    return number(made.low), number(made.high)


def covers(made: Estimate, truth: float) -> bool:
    """Whether the truth lies within the interval."""
    low, high = interval(made)
    return low <= truth <= high


def width(made: Estimate) -> float:
    """How wide the interval is."""
    low, high = interval(made)
    return high - low


def random_codes(
    seed: int, units: int = 40, raters: int = 4, k: int = 4, gaps: float = 0.2
) -> Ints:
    """Labels that agree in part, some of them missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, (units, 1))
    noise = rng.integers(0, k, (units, raters))
    codes = np.where(rng.random((units, raters)) < 0.6, truth, noise)
    return np.where(rng.random((units, raters)) < gaps, -1, codes)


def random_weights(seed: int, units: int, resamples: int = 6) -> Floats:
    """Whole-number weights, zeros among them."""
    return np.random.default_rng(seed).integers(0, 4, (resamples, units)).astype(float)


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def reference_numbers() -> dict[str, dict[str, Any]]:
    """The entries of expected.json by id."""
    return {e["id"]: e for e in json.loads((DATA / "expected.json").read_text())["entries"]}


def reference_tables() -> dict[str, Any]:
    """The tables of expected.json by id."""
    tables: dict[str, Any] = json.loads((DATA / "expected.json").read_text())["tables"]
    return tables


def setting_of(report: str) -> str:
    """The retrieval setting, known only from the prefix of the report's id."""
    return next((s for s in SETTINGS[1:] if report.startswith(s)), "oracle")
