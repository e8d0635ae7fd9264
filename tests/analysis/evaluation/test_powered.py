"""Estimates from people and a judge: which queries count, by the stored sample and the splits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.models import Campaign, QuerySampling
from tandem.statistics import prediction_powered_mean
from tests.analysis.conftest import run
from tests.cast import write_lines

pytestmark = pytest.mark.django_db

QUERIES, SYSTEMS = 48, ("good", "fair", "plain", "slack", "poor", "idle")


def line(n: int) -> dict[str, Any]:
    return {
        "id": f"t{n:02}",
        "text": "?",
        "questions": [{"id": f"q{n:02}-{m}", "text": "?"} for m in range(4)],
        "reports": [{"id": f"{s}{n:02}", "text": "Words.", "system": s} for s in SYSTEMS],
    }


def said(n: int, system: str, question: int, rater: str) -> dict[str, Any]:
    """People say yes more often for better systems; the judge is sometimes lenient."""
    place = SYSTEMS.index(system)
    yes = (n * 4 + question * 3 + place) % 7 > place
    lenient = rater == "judge" and (n + question + place) % 6 == 0
    spans = [{"field": "report", "start": 0, "end": 5, "text": "Words"}]
    return {
        "item": f"{system}{n:02}",
        "unit": f"q{n:02}-{question}",
        "variable": "answerable",
        "value": "yes" if yes or lenient else "no",
        "rater": rater,
        "rater_kind": "judge" if rater == "judge" else "human",
        **({"spans": spans} if yes or lenient else {}),
    }


def labels(queries: list[int], rater: str) -> list[dict[str, Any]]:
    return [said(n, s, q, rater) for n in queries for s in SYSTEMS for q in range(4)]


@pytest.fixture
def drawn(tmp_path: Path) -> list[int]:
    """A campaign that asks people half of the queries; a quarter is for development."""
    batch = write_lines(tmp_path / "batch.jsonl", [line(n) for n in range(QUERIES)])
    run("load_batch", str(batch), "--name", "b")
    run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b",
        "--human-share", "0.5", "--option", "development=0.25")  # fmt: skip
    asked = QuerySampling.objects.filter(drawn=True).values_list("query__key", flat=True)
    return [int(key[1:]) for key in asked]


def reported(tmp_path: Path, *given: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [row for each in given for row in each]
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", rows)), "--campaign", "c")
    found: dict[str, Any] = json.loads(run("measures", "--campaign", "c", "--resamples", "20"))
    return found


def coverage(queries: list[int], system: str, rater: str) -> Any:
    values = [[said(n, system, q, rater)["value"] == "yes" for q in range(4)] for n in queries]
    return np.array(values, float).mean(axis=1)


def test_the_estimate_uses_evaluation_queries_of_the_stored_sample(
    drawn: list[int], tmp_path: Path
) -> None:
    found = reported(tmp_path, labels(drawn, "ada"), labels(list(range(QUERIES)), "judge"))
    evaluation = {
        int(key[1:])
        for key in QuerySampling.objects.filter(role="evaluation").values_list(
            "query__key", flat=True
        )
    }
    assert found["evaluation_queries"] == len(evaluation) == 36
    asked = sorted(evaluation & set(drawn))
    others = sorted(evaluation - set(drawn))
    (board,) = (b for b in found["leaderboard"]["boards"] if b["kind"] == "powered")
    for system in SYSTEMS:
        expected = prediction_powered_mean(
            coverage(asked, system, "ada"),
            coverage(asked, system, "judge"),
            coverage(others, system, "judge"),
            bounds=(0.0, 1.0),
        )
        cell = board["systems"][system]["Cov(y)"]
        assert cell["value"] == pytest.approx(expected.value)
        assert cell["high"] == pytest.approx(expected.high)
        assert cell["n"] == 18
    assert {"poor", "idle"} <= set(board["systems"]["good"]["Cov(y)"]["higher_than"])
    assert board["systems"]["idle"]["Cov(y)"]["higher_than"] == []


def test_there_is_no_estimate_until_people_have_finished_the_sample(
    drawn: list[int], tmp_path: Path
) -> None:
    found = reported(tmp_path, labels(drawn[:-8], "ada"), labels(list(range(QUERIES)), "judge"))
    (board,) = (b for b in found["leaderboard"]["boards"] if b["kind"] == "powered")
    cell = board["systems"]["good"]["Cov(y)"]
    assert cell["value"] is None
    assert "people have not finished" in cell["reason"]


def test_orders_of_people_and_judge_are_compared_on_evaluation_queries(
    drawn: list[int], tmp_path: Path
) -> None:
    """On development queries the judge says the opposite, but no comparison includes them."""
    tuned = set(
        QuerySampling.objects.filter(role="development").values_list("query__key", flat=True)
    )
    judged = labels(list(range(QUERIES)), "ada")
    for row in judged:
        row |= {"rater": "judge", "rater_kind": "judge"}
        if f"t{row['item'][-2:]}" in tuned:
            row["value"] = "no"
            row.pop("spans", None)
            if row["item"].startswith("idle"):
                row |= {"value": "yes"}
    found = reported(tmp_path, labels(drawn, "ada"), judged)
    pairs = found["measures"]["Cov(y)"]["evaluators"]
    (pair,) = (p for p in pairs if {p["a"], p["b"]} == {"people", "judge"})
    assert (pair["kendall"]["value"], pair["kendall"]["n"]) == (1, 6)
    assert Campaign.objects.get().human_share == 0.5


def test_the_letters_of_a_board_agree_with_its_intervals(drawn: list[int], tmp_path: Path) -> None:
    """Both use t on queries at the level of Holm's adjustment over all pairs."""
    found = reported(tmp_path, labels(drawn, "ada"), labels(list(range(QUERIES)), "judge"))
    of, letters, widened = found["measures"]["Cov(y)"], 0, 0
    for board in found["leaderboard"]["boards"]:
        powered = board["kind"] == "powered"
        pairs = of["powered"][board["by"]]["pairs"] if powered else of["settings"][board["by"]]
        assert len(pairs) == len(SYSTEMS) * (len(SYSTEMS) - 1) / 2
        assert " t test of the " in board["test"]
        for each in pairs:
            difference = each["difference"]
            assert "95 % t interval" in difference["method"]
            apart = not difference["low"] <= 0 <= difference["high"]
            assert (each["adjusted_p_value"] < 0.05) == apart
            a, b = (board["systems"][each[side]]["Cov(y)"]["higher_than"] for side in ("a", "b"))
            lettered = each["b"] in a or each["a"] in b
            assert lettered == apart
            letters += lettered
            widened += "by Holm's adjustment" in difference["method"]
    assert letters > 4
    assert widened > 4
    methods = run("measures", "--campaign", "c", "--format", "md")
    assert "two-sided, which is the method of the intervals" in " ".join(methods.split())


def test_below_ten_queries_there_is_neither_an_interval_nor_a_letter(
    drawn: list[int], tmp_path: Path
) -> None:
    found = reported(tmp_path, labels(list(range(9)), "judge"))
    (board,) = (b for b in found["leaderboard"]["boards"] if b["kind"] == "judge")
    cells = [row["Cov(y)"] for row in board["systems"].values()]
    assert [cell["low"] for cell in cells] == [None] * len(SYSTEMS)
    assert [cell["higher_than"] for cell in cells] == [[]] * len(SYSTEMS)
    for each in found["measures"]["Cov(y)"]["settings"]["judge"]:
        assert each["reason"] == "fewer than ten queries have both scores"
        assert each["wilcoxon"]["p_value"] is not None
