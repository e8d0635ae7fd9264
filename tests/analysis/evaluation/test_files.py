"""Files of measures: system rankings as CSV and LaTeX, and runs and qrels with equal results."""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.evaluation.display import DisplayOptions, select_shown
from analysis.evaluation.methods import PAPERS
from analysis.evaluation.system_rankings import system_rankings
from tandem.scores.options import Options
from tandem.sections.citations import CITED
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import measured, ratings, report, value
from tests.cast import write_lines

pytestmark = pytest.mark.django_db

Grades = Mapping[str, Mapping[str, float]]


@pytest.fixture
def files(tmp_path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """CRUX's worked example with a label on every unit: its measures, and its archive."""
    path = tmp_path / "trec.zip"
    made = ("--option", "sampling=all")
    found = measured(tmp_path, "rubric-passage", ratings(), "--trec", str(path), made=made)
    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    return found, texts


def read_run(text: str) -> dict[str, list[str]]:
    """Return the passages of each query as trec_eval orders them, the best score first."""
    scored: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in text.splitlines():
        query, _, passage, _, score, _ = line.split(" ")
        scored[query].append((float(score), passage))
    return {query: [p for _, p in sorted(of, reverse=True)] for query, of in scored.items()}


def read_qrels(text: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in text.splitlines():
        query, _, passage, grade = line.split(" ")
        found[query][passage] = float(grade)
    return found


def average_precision(ranking: list[str], grades: Mapping[str, float]) -> float:
    hits, total = 0, 0.0
    for rank, passage in enumerate(ranking, start=1):
        if grades.get(passage, 0) > 0:
            hits += 1
            total += hits / rank
    return total / len(grades)


def ndcg(ranking: list[str], grades: Mapping[str, float], depth: int) -> float:
    def dcg(gains: list[float]) -> float:
        return sum(g / math.log2(n + 2) for n, g in enumerate(gains[:depth]))

    return dcg([grades.get(p, 0.0) for p in ranking]) / dcg(sorted(grades.values(), reverse=True))


def mean(values: Iterator[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


def test_computing_from_runs_and_qrels_gives_the_numbers_of_the_report(
    files: tuple[dict[str, Any], dict[str, str]],
) -> None:
    found, texts = files
    qrels = read_qrels(texts["qrels/oracle.qrels"])
    for name, system in (("1-oracle", "oracle"), ("2-bm25", "bm25")):
        rankings = read_run(texts[f"runs/{name}.run"])
        both = [query for query in rankings if query in qrels]
        precision = mean(average_precision(rankings[q], qrels[q]) for q in both)
        assert value(found["MAP"], system, "texts") == pytest.approx(precision)
        gain = mean(ndcg(rankings[q], qrels[q], 10) for q in both)
        assert value(found["nDCG@10"], system, "texts") == pytest.approx(gain)


def test_the_share_of_subtopics_that_a_run_answers_is_its_coverage(
    files: tuple[dict[str, Any], dict[str, str]],
) -> None:
    found, texts = files
    subtopics: dict[str, set[str]] = defaultdict(set)
    for line in texts["qrels/1-people.diversity.qrels"].splitlines():
        _, question, passage, grade = line.split(" ")
        assert grade == "1"
        subtopics[passage].add(question)
    everything = set().union(*subtopics.values())
    (ranking,) = read_run(texts["runs/2-bm25.run"]).values()
    answered = set().union(*(subtopics[p] for p in ranking[:10]))
    assert value(found["Cov@10"], "bm25") == pytest.approx(len(answered) / len(everything))
    assert (len(answered), len(everything)) == (6, 8)


def test_ir_measures_gives_the_same_numbers(
    files: tuple[dict[str, Any], dict[str, str]], tmp_path: Path
) -> None:
    library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    found, texts = files
    for name in ("qrels/oracle.qrels", "runs/2-bm25.run"):
        (tmp_path / Path(name).name).write_text(texts[name], "utf-8")
    qrels = list(library.read_trec_qrels(str(tmp_path / "oracle.qrels")))
    ranked = list(library.read_trec_run(str(tmp_path / "2-bm25.run")))
    names = {library.AP: "MAP", library.R @ 10: "Recall@10", library.nDCG @ 10: "nDCG@10"}
    given = library.calc_aggregate(list(names), qrels, ranked)
    for measure, name in names.items():
        assert value(found[name], "bm25", "texts") == pytest.approx(given[measure])


def test_csv_has_a_row_for_every_number_of_the_system_rankings(
    files: tuple[dict[str, Any], dict[str, str]],
) -> None:
    rows = list(csv.DictReader(io.StringIO(run("measures", "--campaign", "c", "--format", "csv"))))
    boards = [row for row in rows if row["part"] == "leaderboard"]
    cells = [c for b in report["leaderboard"]["boards"] for s in b["systems"].values() for c in s]
    assert len(boards) == len(cells)
    (coverage,) = (
        row
        for row in boards
        if (row["measure"], row["by"], row["system"]) == ("Cov", "people", "bm25")
    )
    assert float(coverage["value"]) == pytest.approx(6 / 8)


def test_the_latex_file_has_a_table_of_systems_and_measures(
    files: tuple[dict[str, Any], dict[str, str]],
) -> None:
    text = run("measures", "--campaign", "c", "--format", "latex")
    assert r"\begin{tabular}" in text
    assert "A oracle & 1.000" in text
    assert "Ju and others 2025" in text
    assert text.isascii()


def test_markdown_omits_slices(
    files: tuple[dict[str, Any], dict[str, str]],
) -> None:
    text = run("measures", "--campaign", "c", "--format", "md")
    assert "## System rankings" in text
    assert "generation_length" not in text
    assert "## Cov@10" not in text


def test_the_methods_name_the_preset_and_the_options_that_differ(
    files: tuple[dict[str, Any], dict[str, str]],
) -> None:
    options = ("--campaign", "c", "--format", "md", "--resamples", "2")
    text = run("measures", *options, "--preset", "crux", "--option", "eta=5")
    assert "follow CRUX (Ju and others 2025), except eta." in text
    assert "eta 5" in text
    assert "Controlled Retrieval-augmented Context Evaluation" in text
    assert "prediction-powered" not in text
    plain = run("measures", *options)
    assert "Tandem's own defaults. Options:" in plain
    assert Options().eta == 3


def test_the_methods_have_a_paragraph_for_every_papers_preset(
    files: tuple[dict[str, Any], dict[str, str]],
) -> None:
    for preset, (paper, key) in PAPERS.items():
        text = run(
            "measures", "--campaign", "c", "--format", "md", "--resamples", "2", "--preset", preset
        )
        (sentence,) = (
            line for line in text.splitlines() if "Choices that the papers leave open" in line
        )
        assert f"follow {paper} {CITED[key]}." in sentence
        assert "except" not in sentence
    assert "missing leave-out" in sentence
    assert "cuts 1, 3, 5, 10" in sentence
    assert "oracle relevant" in sentence


def test_empty_contexts_and_spaces_in_ids_survive_the_export(tmp_path: Path) -> None:
    queries = [
        {
            "id": "a b",
            "text": "?",
            "questions": [{"id": "q", "text": "?"}],
            "passages": [{"id": "p%1", "text": "x"}],
            "reports": [
                {"id": "o", "text": "x", "system": "oracle", "context": ["p%1"]},
                {"id": "n", "text": "x", "system": "none", "context": []},
            ],
        },
    ]
    run("load_batch", str(write_lines(tmp_path / "batch.jsonl", queries)), "--name", "b")
    run("create_campaign", "c", "--protocol", "rubric-passage", "--batch", "b")
    run("measures", "--campaign", "c", "--trec", str(tmp_path / "t.zip"))
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        assert archive.read("runs/1-oracle.run") == b"a%20b Q0 p%251 1 1 1-oracle\n"
        assert archive.read("runs/2-none.run") == b"a%20b Q0 -nothing- 1 1 2-none\n"
        assert archive.read("qrels/oracle.qrels") == b"a%20b 0 p%251 1\n"


def cell(number: float) -> dict[str, Any]:
    return {"value": number, "low": None, "high": None, "n": 12, "method": "m"}


def pair(a: str, b: str, difference: float, p: float | None) -> dict[str, Any]:
    return {"a": a, "b": b, "difference": {"value": difference}, "adjusted_p_value": p}


MEASURED = {
    "M": {
        "cut": "",
        "slices": {},
        "systems": {s: {"people": cell(v), "texts": None, "raters": {"j": cell(-v)}}
                    for s, v in (("x", 0.2), ("y", 0.9), ("z", 0.5))},
        "settings": {"people": [pair("x", "y", -0.7, 0.01), pair("x", "z", -0.3, 0.05),
                                pair("y", "z", 0.4, 0.049)],
                     "j": [pair("x", "y", 0.7, None)]},
        "powered": {"j": {"systems": {"x": {**cell(0.3), "effective_labels": 20.0}},
                          "pairs": [pair("x", "y", 0.1, 0.02)]}},
    }
}  # fmt: skip
RATERS = [{"name": "j", "kind": "judge"}]


def test_a_system_is_marked_higher_if_the_adjusted_p_is_below_the_level() -> None:
    people, judge, both = system_rankings(MEASURED, RATERS)["boards"]
    higher = {s: row["M"]["higher_than"] for s, row in people["systems"].items()}
    assert higher == {"x": [], "y": ["x", "z"], "z": []}
    assert judge["systems"]["x"]["M"]["higher_than"] == []
    assert both["kind"] == "powered"
    assert both["systems"] == {
        "x": {"M": {**cell(0.3), "effective_labels": 20.0, "higher_than": ["y"]}}
    }


def test_ordering_and_filtering_systems_does_not_change_letters_and_tests() -> None:
    whole = {"measures": MEASURED, "leaderboard": system_rankings(MEASURED, RATERS)}
    first = select_shown(whole, DisplayOptions(order="M"))["leaderboard"]["boards"][0]
    assert list(first["systems"]) == ["y", "z", "x"]
    last = select_shown(whole, DisplayOptions(order="-M", systems=("x", "y")))["leaderboard"]
    assert list(last["boards"][0]["systems"]) == ["x", "y"]
    assert last["letters"] == {"x": "A", "y": "B", "z": "C"}
    assert last["boards"][0]["systems"]["y"]["M"]["higher_than"] == ["x", "z"]
    only = select_shown(whole, DisplayOptions(evaluators=("people+j",)))["leaderboard"]["boards"]
    assert [board["kind"] for board in only] == ["powered"]
    with pytest.raises(ValueError, match="There is no system 'w'; there are x, y, z"):
        select_shown(whole, DisplayOptions(systems=("w",)))
