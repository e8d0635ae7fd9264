"""Evaluators' system rankings are compared from six systems on, without the oracle."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import label
from tests.cast import write_lines

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
QUERIES, PASSAGES = 12, 7
SYSTEMS = ("one", "two", "three", "four", "five", "six")
BY_ORACLE = ("alpha_nDCG", "Den", "MAP", "Recall", "nDCG")


def line(n: int, systems: tuple[str, ...]) -> JSON:
    """Passage p answers question p; a system ranks this many of the first, and the oracle all."""
    passages = [f"t{n:02}-p{p}" for p in range(PASSAGES)]
    return {
        "id": f"t{n:02}",
        "text": "?",
        "questions": [{"id": f"t{n:02}-q{q}", "text": "?"} for q in range(PASSAGES)],
        "passages": [{"id": each, "text": "Words."} for each in passages],
        "reports": [{"id": f"o{n:02}", "text": "x", "system": "oracle", "context": passages}],
        "rankings": [{"system": s, "passages": passages[: kept(n, s)]} for s in systems],
    }


def kept(n: int, system: str) -> int:
    """On the first query all systems are alike, so that differences vary between queries."""
    return SYSTEMS.index(system) + 1 if n else 1


def ratings(rater: str) -> Iterator[JSON]:
    """The judge's ratings are those of people, except for the last passage that system six adds."""
    for n in range(QUERIES):
        for p in range(PASSAGES):
            for q in range(PASSAGES):
                yes = p == q and (rater != "judge" or p != 5)
                yield label(
                    f"t{n:02}/t{n:02}-p{p}", f"t{n:02}-q{q}", "rating", 5 if yes else 0, rater
                )


def measures(tmp_path: Path, systems: tuple[str, ...] = SYSTEMS) -> JSON:
    batch = write_lines(tmp_path / "b.jsonl", [line(n, systems) for n in range(QUERIES)])
    labels = [*ratings("ada"), *ratings("judge")]
    run("load_batch", str(batch), "--name", "b")
    run("create_campaign", "c", "--protocol", "rubric-passage", "--batch", "b",
        "--option", "sampling=all")  # fmt: skip
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", labels)), "--campaign", "c")
    found: JSON = json.loads(run("measures", "--campaign", "c", "--resamples", "2"))
    return found


def test_the_oracle_is_not_compared_on_measures_that_depend_on_it(tmp_path: Path) -> None:
    found = measures(tmp_path)
    for name in BY_ORACLE:
        of = found["measures"][name]
        for pairs in of["settings"].values():
            named = {pair[side] for pair in pairs for side in ("a", "b")}
            assert named == set(SYSTEMS)
    for board in found["leaderboard"]["boards"]:
        for name in BY_ORACLE:
            rows = {s: row[name] for s, row in board["systems"].items() if name in row}
            if rows:
                assert rows["oracle"]["higher_than"] is None
                assert all(
                    "oracle" not in row["higher_than"] for s, row in rows.items() if s != "oracle"
                )
    (board,) = (each for each in found["leaderboard"]["boards"] if each["kind"] == "texts")
    assert board["systems"]["six"]["Recall"]["higher_than"] == list(SYSTEMS[:-1])
    # Coverage is not relative to the oracle, so there the oracle is a system like any other.
    named = {pair["a"] for pair in found["measures"]["Cov"]["settings"]["people"]}
    assert "oracle" in named


def test_evaluators_are_compared_over_six_systems_without_the_oracle(tmp_path: Path) -> None:
    found = measures(tmp_path)
    (pair,) = (
        p for p in found["measures"]["Cov"]["evaluators"] if {p["a"], p["b"]} == {"people", "judge"}
    )
    # Five and six tie for the judge: 14 of 15 pairs, over the root of 15 * 14.
    assert pair["kendall"]["n"] == len(SYSTEMS)
    assert pair["kendall"]["value"] == pytest.approx(14 / (15 * 14) ** 0.5)
    # People rank six first. For the judge six and five come first in either order: six second has
    # five above it, wrongly, so p is 1 for one order and 4/5 for the other.
    assert pair["tau_ap"]["value"] == pytest.approx(2 * (1 + 4 / 5) / 2 - 1)
    assert pair["tau_ap"]["n"] == len(SYSTEMS)
    # People tie all systems on the first query; the others have the order of the means.
    for name, alike in (("kendall", 14 / (15 * 14) ** 0.5), ("tau_ap", 0.8)):
        within = pair[f"{name}_within"]
        assert (within["value"], within["n"]) == (pytest.approx(alike), QUERIES - 1)
    matrix = found["measures"]["Cov"]["evaluator_matrix"]
    names = matrix["evaluators"]
    assert set(names) == {"people", "ada", "judge"}
    people, judge, ada = (names.index(name) for name in ("people", "judge", "ada"))
    assert [matrix["kendall"][n][n] for n in range(3)] == [1, 1, 1]
    assert matrix["kendall"][people][judge] == pair["kendall"]["value"]
    assert matrix["kendall"][judge][people] == pair["kendall"]["value"]
    # Ada is one of the people, so she is not compared with people together.
    assert matrix["kendall"][people][ada] is None
    # Only people together are a reference.
    others = (p for p in found["measures"]["Cov"]["evaluators"] if p is not pair)
    assert not any("tau_ap" in each for each in others if "people" not in (each["a"], each["b"]))
    text = run("measures", "--campaign", "c", "--resamples", "2", "--format", "md")
    assert "**tau_AP of the systems' means, people's order as the reference**" in text
    row = next(row for row in text.split("tau_AP of the")[1].splitlines() if "| Cov " in row)
    assert f"{pair['tau_ap']['value']:.3f}" in row
    table = csv.DictReader(io.StringIO(run("measures", "--campaign", "c", "--resamples", "2",
                                           "--format", "csv")))  # fmt: skip
    compared = ("Cov", pair["a"], pair["b"])
    rows = {row["part"]: row for row in table
            if (row["measure"], row["by"], row["other"]) == compared}  # fmt: skip
    assert {part: float(row["value"]) for part, row in rows.items()} == {
        "order": pair["kendall"]["value"],
        "tau_ap": pair["tau_ap"]["value"],
        "order_within": pair["kendall_within"]["value"],
        "tau_ap_within": pair["tau_ap_within"]["value"],
    }
    assert "**Kendall's tau-b within queries with people's order, mean of queries**" in text
    header = next(row for row in text.splitlines() if "| Evaluator " in row)
    assert [each.strip() for each in header.strip("|").split("|")] == [
        "Measure",
        "Evaluator",
        *names,
    ]


def test_with_fewer_than_six_systems_tau_is_null_with_a_reason(tmp_path: Path) -> None:
    found = measures(tmp_path, SYSTEMS[1:])
    for pair in found["measures"]["Cov"]["evaluators"]:
        assert (pair["kendall"]["value"], pair["kendall"]["n"]) == (None, 5)
        assert pair["kendall"]["reason"] == "fewer than six systems, the oracle apart"
    (with_people,) = (p for p in found["measures"]["Cov"]["evaluators"] if "tau_ap" in p)
    assert with_people["tau_ap"]["reason"] == "fewer than six systems, the oracle apart"
    # Five and six tie for the judge among five systems, in each query but the first.
    within = with_people["kendall_within"]
    assert (within["value"], within["n"]) == (pytest.approx(9 / (10 * 9) ** 0.5), QUERIES - 1)
    matrix = found["measures"]["Cov"]["evaluator_matrix"]["kendall"]
    assert {tau for n, row in enumerate(matrix) for m, tau in enumerate(row) if n != m} == {None}
