"""CLAPnq files give questions with passages split into sentences, and verbatim answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from datasets.readers import clapnq, recognise
from datasets.readers.batch_rules import BatchRules
from tandem.files.rows import InputError, Passage, Query, ReadNotes
from tests.datasets.helpers import DATA, data_lines, jsonl, needs_data, refusal

pytestmark = pytest.mark.every_case

Row = dict[str, Any]


def output(answer: str = "An answer .", **changes: Any) -> Row:
    meta = {"annotator": [7, 9], "round": 2, "skip": False, "non_consecutive": True}
    meta |= {"has_minimal_answer": False}
    return {"answer": answer, "selected_sentences": ["One ."], "meta": meta} | changes


def question(**changes: Any) -> Row:
    passage = {"title": "T", "text": "One . Two .", "sentences": ["One .", "Two ."]}
    return {"id": "-12", "input": "why", "passages": [passage], "output": [output()]} | changes


def loaded(*paths: Path) -> tuple[list[Query], ReadNotes]:
    notes = ReadNotes()
    rules = BatchRules(notes)
    queries = []
    for located in clapnq.read(paths, notes):
        rules.add(located)
        queries.append(located.query)
    rules.finish()
    return queries, notes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clapnq.jsonl"


def refused(file: Path, row: Row) -> InputError:
    jsonl(file, question(id="first"), row)
    return refusal(lambda: clapnq.read([file], ReadNotes()), file, 2)


def test_a_question_is_a_query_with_its_passage(file: Path) -> None:
    (query,), notes = loaded(jsonl(file, question()))
    assert (query.id, query.text, query.reports, query.meta) == ("-12", "why", (), None)
    assert query.passages == (
        Passage("-12:p1", "One . Two .", title="T", sentences=("One .", "Two .")),
    )
    assert notes == ReadNotes()


def test_every_output_becomes_a_reference(file: Path) -> None:
    (query,), _ = loaded(jsonl(file, question(output=[output("A"), output(" B\n")])))
    assert [reference.text for reference in query.references] == ["A", " B\n"]
    assert query.references[0].meta == {
        "annotator": [7, 9],
        "round": 2,
        "skip": False,
        "non_consecutive": True,
        "has_minimal_answer": False,
        "selected_sentences": ["One ."],
    }


@pytest.mark.parametrize(
    ("answer", "deflected"), [("", True), ("NA", True), (".", True), ("No .", False)]
)
def test_an_output_without_an_answer_is_a_deflection_with_its_text(
    file: Path, answer: str, deflected: bool
) -> None:
    (query,), _ = loaded(jsonl(file, question(output=[output(answer, selected_sentences=[])])))
    assert (query.references[0].text, query.references[0].deflected) == (answer, deflected)


def test_unknown_keys_are_kept_in_meta(file: Path) -> None:
    (query,), _ = loaded(jsonl(file, question(split="dev")))
    assert query.meta == {"split": "dev"}


def test_sentences_that_are_not_verbatim_are_kept_and_counted(file: Path) -> None:
    passage = {"title": "T", "text": "One.  Two.", "sentences": ["One.", "Two ."]}
    (query,), notes = loaded(jsonl(file, question(passages=[passage])))
    assert query.passages[0].sentences == ("One.", "Two .")
    (warning,) = notes.warnings
    assert warning.startswith("the sentences of 1 passages")


@pytest.mark.parametrize("key", ["id", "input"])
def test_a_missing_key_is_refused(file: Path, key: str) -> None:
    row = question()
    del row[key]
    assert f'"{key}" is missing' in refused(file, row).wrong


@pytest.mark.parametrize(
    "change",
    [
        {"id": 12},
        {"input": ""},
        {"passages": {}},
        {"passages": [{"title": "no text"}]},
        {"passages": ["text"]},
        {"output": [{"meta": {}}]},
        {"output": [output() | {"answer": None}]},
        {"output": [output(selected_sentences="One .")]},
        {"output": [output(meta=[])]},
    ],
)
def test_values_of_a_wrong_type_are_refused(file: Path, change: Row) -> None:
    assert refused(file, question(**change)).remedy


def test_a_clapnq_file_is_recognised(file: Path) -> None:
    assert recognise([jsonl(file, question())]) == "clapnq"


FILES = [DATA / "clapnq" / f"clapnq_dev_{name}.jsonl" for name in ("answerable", "unanswerable")]


@needs_data
def test_both_released_files_can_be_read_as_one_batch() -> None:
    queries, notes = loaded(*FILES)
    references = [reference for query in queries for reference in query.references]
    assert len(queries) == 600
    assert len(references) == 495 + 300
    assert sum(not reference.deflected for reference in references) == 474
    assert notes == ReadNotes()


@needs_data
def test_released_texts_are_verbatim() -> None:
    rows = {row["id"]: row for row in data_lines("clapnq/clapnq_dev_answerable.jsonl")}
    queries, _ = loaded(FILES[0])
    assert [query.id for query in queries] == list(rows)
    for query in queries:
        row = rows[query.id]
        assert query.passages[0].text == row["passages"][0]["text"]
        assert [r.text for r in query.references] == [each["answer"] for each in row["output"]]
