"""A coefficient is one record: whoever adds one finds it in every face of a report."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs._reference import reports
from tandem.crosscheck import process
from tandem.formats import FORMATS
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.results import Report
from tandem.sections.citations import CITED
from tandem.sections.methods import methods
from tandem.statistics import AMONG, CORRELATIONS, OF_TWO, Coefficient, Scale, fleiss_kappa
from tests.cast import write_lines

JSON = dict[str, Any]
SCOTT = Coefficient(
    "scott_pi",
    "Scott's pi",
    lambda counts, weights, scale: fleiss_kappa(counts, weights),
    "fleiss_kappa",
    "Scott's pi",
    citation="fleiss1971",
    rank=5,
    with_judge=True,
    library={"figure": "fleiss", "method": "fleiss"},
)


def bennett(table: np.ndarray[Any, Any], scale: Scale) -> Any:
    equal = np.trace(table, axis1=-2, axis2=-1) / table.sum(axis=(-2, -1))
    return (equal - 1 / scale.k) / (1 - 1 / scale.k)


BENNETT = Coefficient(
    "bennett_s",
    "Bennett's S",
    bennett,
    "randolph_kappa",
    "Bennett's S",
    citation="randolph2005",
    library={"figure": "cohen", "weights": None},
)


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    rows = [
        {"item": f"i{n}", "unit": "u", "query": f"q{n}", "variable": "v", "rater": rater}
        | {"rater_kind": "judge" if rater == "model-x" else "human", "value": value}
        for n in range(12)
        for rater, value in (
            ("Ada", "yn"[n % 2]),
            ("Bram", "yn"[n % 2 if n % 3 else 0]),
            ("model-x", "yn"[n % 4 == 3]),
        )
    ]
    return write_lines(tmp_path / "labels.jsonl", rows)


@pytest.fixture
def report(labels: Path, monkeypatch: pytest.MonkeyPatch) -> JSON:
    monkeypatch.setattr(process, "IS_ON", True)
    monkeypatch.setitem(AMONG, SCOTT.key, SCOTT)
    monkeypatch.setitem(OF_TWO, BENNETT.key, BENNETT)
    made: JSON = labels_report([labels], {}, ReportOptions(resamples=2))
    return made


def test_a_new_coefficient_is_in_every_face_of_a_report(report: JSON) -> None:
    block = report["variables"]["v"]
    people, judge = block["agreement"], block["judges"]["model-x"]
    assert people[SCOTT.key]["value"] == people["fleiss_kappa"]["value"]
    places = (people["pairs"][0], judge["agreement"])
    assert all(of[BENNETT.key]["value"] is not None for of in places)
    assert judge["agreement"][SCOTT.key]["value"] is not None
    for name in ("md", "latex", "html"):
        text = unescape(FORMATS[name].render(report))
        assert all(each.named_with("majority") in text for each in (SCOTT, BENNETT)), name
    for each in (SCOTT, BENNETT):
        assert f",{each.key}," in FORMATS["csv"].render(report)
        assert f"{each.method} {CITED[each.citation]}" in " ".join(methods(report))
        assert each.statistic in reports._coefficients()[each.key]


def test_another_library_computes_a_new_coefficient_by_its_record(report: JSON) -> None:
    check = report["check"]
    paths = {each["figure"].rsplit(".")[-1] for each in check["differs"]}
    # The library computes Fleiss' kappa for Scott's pi, and Cohen's, which differs, for Bennett's.
    assert paths == {BENNETT.key}


def test_a_notebook_shows_a_new_coefficient(report: JSON) -> None:
    variable = Report(report, lambda: pytest.fail("no labels needed"), ReportOptions())["v"]
    assert variable.coefficients.keys() == AMONG.keys()
    assert f"People: {SCOTT.name}" in [row[0] for row in variable._table().rows]


@pytest.mark.parametrize("key", [*AMONG, *OF_TWO, *CORRELATIONS])
def test_every_record_is_complete(key: str) -> None:
    for each in filter(None, (of.get(key) for of in (AMONG, OF_TWO, CORRELATIONS))):
        assert each.key == key
        assert each.method
        assert each.citation in CITED or each.bounds == (0.0, 1.0)
        assert each.statistic in reports._coefficients()[key] or key == "percent"


def test_a_snapshot_from_before_a_coefficient_keeps_its_tables(labels: Path) -> None:
    old = labels_report([labels], {}, ReportOptions(resamples=2))
    text = FORMATS["md"].render(json.loads(json.dumps(old)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(AMONG, SCOTT.key, SCOTT)
        patch.setitem(OF_TWO, BENNETT.key, BENNETT)
        assert FORMATS["md"].render(old) == text
