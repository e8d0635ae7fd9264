"""Reports that a study may have, each computed once for all tests of figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.analysis.figure_cast import report_of
from tests.analysis.hostile import HOSTILE

JSON = dict[str, Any]
ODD: dict[str, JSON] = {
    "full": {},
    "one rater": {"people": ("Ada",)},
    "no judge": {"judges": ()},
    "judges alone": {"people": ()},
    "few queries": {"queries": 3},
    "forty systems": {
        "systems": [f"system {n} by a name of many words" for n in range(40)],
        "judges": ("mild",),
        "queries": 1,
    },
    "hostile names": {
        "people": (HOSTILE["ada"], HOSTILE["bram"], HOSTILE["chidi"]),
        "judges": (HOSTILE["model-x"], "g" * 140),
        "systems": (HOSTILE["short"],),
    },
}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], JSON]:
    made: dict[str, JSON] = {}

    def of(name: str) -> JSON:
        if name not in made:
            made[name] = report_of(tmp_path_factory.mktemp("labels"), **ODD[name])
        return made[name]

    return of


@pytest.fixture
def full(report: Callable[[str], JSON]) -> JSON:
    return report("full")
