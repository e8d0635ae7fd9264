"""CRUX's labelling files are mapped as docs/formats.md says, despite pitfalls in the release."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from datasets.readers import crux, read, recognise
from datasets.readers.batch_rules import BatchRules
from tandem.files.rows import InputError, Query, ReadNotes
from tests.datasets.helpers import DATA, data_lines, jsonl, needs_data, refusal

pytestmark = pytest.mark.every_case

Row = dict[str, Any]


def record(qid: str, response: str = "A response.", **changes: Any) -> Row:
    return {
        "qid": qid,
        "topic": "Write about it.",
        "questions": ["Who?", None, "When?"],
        "type": "oracle",
        "docids": ["t-1:0#0"],
        "report": "What a person wrote.",
        "response": response,
        "k": 1,
    } | changes


def loaded(*paths: Path) -> tuple[list[Query], ReadNotes]:
    """The queries and the notes, after the rules across lines that the loader applies."""
    notes = ReadNotes()
    rules = BatchRules(notes)
    queries = []
    for located in read(paths, "crux", notes):
        rules.add(located)
        queries.append(located.query)
    rules.finish()
    return queries, notes


def refused(file: Path, line: int | None, *paths: Path) -> InputError:
    return refusal(lambda: crux.read(paths, ReadNotes()), file, line)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    rows = [record("t-1"), record("bm25_t-1", "Another."), record("t-2", "Third.", docids=[])]
    return jsonl(tmp_path / "oracle.jsonl", *rows)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "bm25.run"
    path.write_text(
        "t-1 Q0 t-1:1#2 4 0.25 human_eval_bm25\n"
        "t-1 Q0 t-1:0#0 4 0.25 human_eval_bm25\n"
        "t-9 Q0 t-9:0#0 4 0.25 human_eval_bm25\n"
    )
    return path


@pytest.fixture
def passages(tmp_path: Path) -> Path:
    rows = [("t-1:0#0", "a"), ("t-1:1#2", "b"), ("t-9:0#0", "c"), ("t-9:0#1", "d")]
    return jsonl(tmp_path / "passages.jsonl", *({"id": i, "text": t} for i, t in rows))


def test_each_topic_becomes_a_query(reports: Path) -> None:
    queries, _ = loaded(reports)
    assert [(query.id, query.text) for query in queries] == [
        ("t-1", "Write about it."),
        ("t-2", "Write about it."),
    ]


def test_null_questions_are_left_out_and_the_others_keep_their_numbers(reports: Path) -> None:
    queries, _ = loaded(reports)
    assert [(q.id, q.text) for q in queries[0].questions] == [
        ("t-1:q0", "Who?"),
        ("t-1:q2", "When?"),
    ]


def test_each_response_becomes_a_report_with_its_own_id(reports: Path) -> None:
    first, second = loaded(reports)[0][0].reports
    assert (first.id, first.text, first.system, first.setting) == (
        "t-1",
        "A response.",
        "oracle",
        "oracle",
    )
    assert (second.id, second.text, second.system, second.setting) == (
        "bm25_t-1",
        "Another.",
        "bm25",
        "bm25",
    )
    assert first.context == ("t-1:0#0",)
    assert first.meta == {"type": "oracle", "k": 1}


def test_equal_references_are_merged_and_different_ones_kept(tmp_path: Path) -> None:
    rows = [record("t-1"), record("bm25_t-1"), record("dr_rankfirst_t-1", report="Other.")]
    (query,), _ = loaded(jsonl(tmp_path / "o.jsonl", *rows))
    assert [reference.text for reference in query.references] == ["What a person wrote.", "Other."]


@pytest.mark.parametrize("report", [None, "", " "])
def test_a_missing_or_empty_reference_is_left_out(tmp_path: Path, report: str | None) -> None:
    (query,), _ = loaded(jsonl(tmp_path / "o.jsonl", record("t-1", report=report)))
    assert query.references == ()


def test_documents_are_ranked_by_the_order_of_lines_only(reports: Path, run: Path) -> None:
    queries, notes = loaded(reports, run)
    assert [(r.system, r.passages) for r in queries[0].rankings] == [
        ("bm25", ("t-1:1#2", "t-1:0#0"))
    ]
    assert queries[1].rankings == ()
    assert notes.skipped == {"rankings of topics that are not in the batch": 1}


def test_a_run_that_differs_from_the_reports_contexts_causes_a_warning(
    reports: Path, run: Path
) -> None:
    _, notes = loaded(reports, run)
    assert 'the run of "bm25" names other passages than the context of 1 of its reports' in (
        notes.warnings
    )


def test_passages_are_assigned_to_their_topic_and_the_rest_is_counted(
    reports: Path, passages: Path
) -> None:
    queries, notes = loaded(passages, reports)
    assert [(p.id, p.text) for p in queries[0].passages] == [("t-1:0#0", "a"), ("t-1:1#2", "b")]
    assert queries[1].passages == ()
    assert notes.skipped == {"passages of topics that are not in the batch": 2}
    assert notes.warnings == []


def test_a_passage_file_may_use_the_key_contents(reports: Path, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "p.jsonl", {"id": "t-1:0#0", "contents": "a"})
    queries, _ = loaded(reports, source)
    assert queries[0].passages[0].text == "a"


def test_a_repeated_passage_is_merged_and_one_with_two_texts_is_refused(
    reports: Path, tmp_path: Path
) -> None:
    row = {"id": "t-1:0#0", "text": "a"}
    queries, notes = loaded(reports, jsonl(tmp_path / "p.jsonl", row, row))
    assert len(queries[0].passages) == 1
    assert notes.skipped == {"repeated passages": 1}
    other = jsonl(tmp_path / "p2.jsonl", row, row | {"text": "b"})
    assert "another text than at" in refused(other, 2, reports, other).wrong


def test_unknown_documents_cause_warnings(reports: Path) -> None:
    _, notes = loaded(reports)
    assert len(notes.warnings) == 3
    assert "1 passage ids are not in the batch" in notes.warnings[-1]


@pytest.mark.parametrize(
    ("qids", "topic", "setting"),
    [
        (["duc04-testb-3"], "duc04-testb-3", "oracle"),
        (["bm25_duc04-testb-3"], "duc04-testb-3", "bm25"),
        (["dr_rankfirst_duc04-testb-3"], "duc04-testb-3", "dr_rankfirst"),
        (["multi_news-test-5"], "multi_news-test-5", "oracle"),
        (["bm25_multi_news-test-5"], "multi_news-test-5", "bm25"),
        (["multi_news-1", "splade_v3_multi_news-1"], "multi_news-1", "splade_v3"),
        (["_"], "_", "oracle"),
    ],
)
def test_the_setting_is_the_prefix_before_the_topic(
    tmp_path: Path, qids: list[str], topic: str, setting: str
) -> None:
    (query,), _ = loaded(jsonl(tmp_path / "o.jsonl", *(record(qid, f"of {qid}") for qid in qids)))
    assert query.id == topic
    assert query.reports[-1].system == setting


def test_topics_are_also_taken_from_runs(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "o.jsonl", record("my_run_a_b"))
    (tmp_path / "x.run").write_text("a_b Q0 d 1 1 tag\n")
    (query,), _ = loaded(file, tmp_path / "x.run")
    assert (query.id, query.reports[0].system) == ("a_b", "my_run")


def test_a_duplicate_report_id_in_named_files_is_refused_with_both_places(
    reports: Path, tmp_path: Path
) -> None:
    again = jsonl(tmp_path / "bm25.jsonl", record("t-3"), record("t-1", "Another."))
    error = refused(again, 2, reports, again)
    assert error.wrong == f'the report id "t-1" is already used at {reports}, line 1'


def test_a_topic_with_two_queries_or_lists_of_questions_is_refused(tmp_path: Path) -> None:
    for change in ({"topic": "Other."}, {"questions": ["Who?"]}):
        file = jsonl(tmp_path / "o.jsonl", record("t-1"), record("bm25_t-1", **change))
        assert "differs from that of the same topic" in refused(file, 2, file).wrong


def test_files_of_a_folder_that_repeat_ids_with_other_texts_are_left_out(
    reports: Path, run: Path, passages: Path, tmp_path: Path
) -> None:
    repeats = jsonl(tmp_path / "bm25.jsonl", record("t-1", "Not this."), record("t-5", "Nor this."))
    queries, notes = loaded(tmp_path)
    assert [report.id for query in queries for report in query.reports] == [
        "t-1",
        "bm25_t-1",
        "t-2",
    ]
    assert notes.skipped["reports of files that repeat other reports' ids"] == 2
    assert notes.warnings[0].startswith(f'{repeats}, line 1: the report id "t-1"')


def test_copies_of_a_file_in_a_folder_are_read_once(reports: Path, tmp_path: Path) -> None:
    shutil.copy(reports, tmp_path / "copy.jsonl")
    queries, notes = loaded(tmp_path)
    assert sum(len(query.reports) for query in queries) == 3
    assert notes.skipped == {"repeated reports": 3}


def test_annotations_in_a_folder_are_ignored_and_other_files_are_named(
    reports: Path, tmp_path: Path
) -> None:
    (tmp_path / "annotations").mkdir()
    jsonl(tmp_path / "annotations" / "qlabels.jsonl", {"id": "t-1", "answerability": []})
    stray = jsonl(tmp_path / "stray.jsonl", {"item": 1})
    _, notes = loaded(tmp_path)
    assert [w for w in notes.warnings if "left out" in w] == [
        f"{stray}: contains neither CRUX reports nor passages; it was left out"
    ]


def test_a_named_file_of_another_kind_is_refused(reports: Path, tmp_path: Path) -> None:
    stray = jsonl(tmp_path / "stray.jsonl", {"item": 1})
    assert refused(stray, 1, reports, stray).remedy


def test_files_without_reports_are_refused(run: Path, passages: Path) -> None:
    assert "none of the files contains CRUX reports" in refused(run, None, run, passages).wrong


@pytest.mark.parametrize("key", ["qid", "topic", "questions", "response"])
def test_a_missing_key_is_refused(tmp_path: Path, key: str) -> None:
    row = record("t-2")
    del row[key]
    file = jsonl(tmp_path / "o.jsonl", record("t-1"), row)
    assert f'"{key}" is missing' in refused(file, 2, file).wrong


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("qid", 3),
        ("topic", ["t"]),
        ("questions", "Who?"),
        ("questions", [1]),
        ("questions", [False]),
        ("docids", "d"),
        ("docids", ["d", "d"]),
        ("response", None),
        ("report", 1),
    ],
)
def test_a_value_of_a_wrong_type_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    file = jsonl(tmp_path / "o.jsonl", record("t-1"), record("t-2") | {key: value})
    assert f'"{key}"' in refused(file, 2, file).wrong


def test_a_line_of_a_run_without_six_columns_is_refused(reports: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.run"
    file.write_text("t-1 Q0 d 1 1 tag\r\nt-1 Q0 d 1\n")
    assert "4 columns" in refused(file, 2, reports, file).wrong


def test_a_document_that_occurs_twice_in_a_run_is_refused(reports: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.run"
    file.write_text("t-1 Q0 d 1 1 tag\nt-2 Q0 d 1 1 tag\nt-1 Q0 d 2 1 tag\n")
    assert f"is already ranked at {file}, line 1" in refused(file, 3, reports, file).wrong


def test_crux_is_recognised_by_its_files_and_its_folder(
    reports: Path, run: Path, passages: Path, tmp_path: Path
) -> None:
    for paths in ([reports], [passages, reports], [run], [tmp_path]):
        assert recognise(paths) == "crux"


@pytest.fixture(scope="module")
def released() -> tuple[list[Query], ReadNotes]:
    return loaded(DATA / "crux")


@needs_data
def test_the_released_folder_has_ten_queries_and_thirty_reports(
    released: tuple[list[Query], ReadNotes],
) -> None:
    queries, _ = released
    reports = [report for query in queries for report in query.reports]
    assert len(queries) == 10
    assert {query.id for query in queries} >= {"duc04-testb-3", "duc04-testb-43"}
    assert Counter(r.system for r in reports) == {"oracle": 10, "bm25": 10, "dr_rankfirst": 10}
    assert [len(query.references) for query in queries] == [1] * 10


@needs_data
def test_the_reports_read_from_the_release_are_those_that_were_annotated(
    released: tuple[list[Query], ReadNotes],
) -> None:
    annotated = {row["qid"]: row for row in data_lines("crux/crux_testb/oracle.jsonl")}
    reports = {report.id: report for query in released[0] for report in query.reports}
    assert reports.keys() == annotated.keys()
    for name, row in annotated.items():
        assert reports[name].text == row["response"]
        assert reports[name].context == tuple(row["docids"])


@needs_data
def test_the_questions_read_from_the_release_exclude_null_questions(
    released: tuple[list[Query], ReadNotes],
) -> None:
    asked = sum(len(query.questions) * len(query.reports) for query in released[0])
    assert asked == 435
    short = {query.id: len(query.questions) for query in released[0] if len(query.questions) < 15}
    assert short == {"duc04-testb-7": 13, "duc04-testb-8": 14, "duc04-testb-9": 13}


@needs_data
def test_the_rankings_read_from_the_release_have_a_list_per_topic_and_system(
    released: tuple[list[Query], ReadNotes],
) -> None:
    lengths: Counter[str] = Counter()
    for query in released[0]:
        assert len(query.rankings) == 3
        lengths.update({ranking.system: len(ranking.passages) for ranking in query.rankings})
    assert lengths == {"oracle": 57, "bm25": 57, "dr_rankfirst": 57}


@needs_data
def test_reading_the_released_folder_reports_everything_that_is_left_out(
    released: tuple[list[Query], ReadNotes],
) -> None:
    queries, notes = released
    kept = sum(len(query.passages) for query in queries)
    assert notes.skipped == {
        "reports of files that repeat other reports' ids": 20,
        "passages of topics that are not in the batch": 1931 - kept,
    }
    assert ["bm25.jsonl" in notes.warnings[0], "dr_rankfirst.jsonl" in notes.warnings[1]] == [
        True
    ] * 2
    assert (
        'the run of "dr_rankfirst" names other passages than the context of 8' in notes.warnings[2]
    )


@needs_data
def test_naming_all_three_released_files_is_refused() -> None:
    folder = DATA / "crux" / "crux_testb"
    paths = [folder / f"{name}.jsonl" for name in ("oracle", "bm25", "dr_rankfirst")]
    assert refused(paths[1], 1, *paths).remedy
