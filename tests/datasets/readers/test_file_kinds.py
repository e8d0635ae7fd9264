"""A file of another kind is called what it is, with the way to take, through every door."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from time import perf_counter

import pytest
from django.core.management.base import CommandError

from datasets.models import Batch
from datasets.readers import read
from tandem.files.file_kinds import kind_of_line
from tandem.files.rows import InputError
from tandem.labels.file.reader import read_labels
from tandem.program.report import report_files
from tests.cast import campaign_of, run

pytestmark = pytest.mark.every_case

IMPORT, LOAD = "tandem labels import", "tandem batch load"
LABEL = {"item": "r", "unit": "q", "variable": "answerable", "value": "yes", "rater": "ada"}
BATCH = {"id": "q1", "text": "Who?", "questions": [{"id": "q", "text": "Who came?"}]}


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return file.getvalue()


def lines(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


NOWHERE = {
    "run": (b"51 Q0 doc-1 1 12.5 bm25\n51 Q0 doc-2 2 11.0 bm25\n", "a TREC run", "`rankings`"),
    "run with tabs": (b"51\tQ0\td1\t1\t-1.5e-3\tdr\n", "a TREC run", "tandem batch schema"),
    "qrels": (b"51 0 doc-1 2\n51 0 doc-2 0\n", "TREC qrels", IMPORT),
    "diversity qrels": (b"51 q3 doc-1 1\n", "TREC qrels", IMPORT),
    "topics": (b"<top>\n<num> Number: 51\n", "TREC topics", ""),
    "pickle": (pickle.dumps([LABEL]), "a Python pickle", "to_json"),
    "old pickle": (b"cpandas.core.frame\nDataFrame\n", "a Python pickle", "to_json"),
    "zip": (zipped("labels.jsonl"), "a ZIP archive", "unpack it"),
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook", "CSV"),
    "docx": (zipped("[Content_Types].xml", "word/document.xml"), "a Word document", ""),
    "npz": (zipped("a.npy"), "an archive of NumPy arrays", ""),
    "gzip": (b"\x1f\x8b\x08\x00rest", "a gzip archive", "unpack it"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3", "a PDF", "JSON Lines"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00\x00", "an old Office file", "CSV"),
    "sqlite": (b"SQLite format 3\x00rest", "an SQLite database", ""),
    "png": (b"\x89PNG\r\n\x1a\n\x00", "an image", ""),
    "html": (b"<!DOCTYPE html>\n<html><body>Log in</body></html>", "a web page (HTML)", "download"),
    "html in capitals": (b"<HTML lang=en>\n", "a web page (HTML)", "download"),
    "xml": (b"<?xml version='1.0'?>\n<data/>\n", "XML", ""),
    "interface": (b"<View>\n<Text name='t'/></View>", "a labelling interface", "tasks"),
    "study": (b"[study]\nname = 'a'\n", "TOML", "tandem study apply"),
    "judge": (b"name = 'a'\nversion = 1\n", "TOML", "tandem judge create"),
    "yaml": (b"---\nitem: r\n", "YAML", "JSON Lines"),
    "python": (b"{'item': 'r', 'value': None}\n", "Python's notation", "json.dumps"),
    "text": (b"The footbridge opened in 1901.\n", "plain text", "JSON Lines"),
    "prose with commas": (b"Dear all, this is my report for you.\n", "plain text", ""),
    "units": (lines({"item": "r", "unit": "q", "kind": "question", "query": "q1", "system": None,
                     "variables": [], "texts": []}), "Tandem's export of units", ""),
    "spans": (lines({**LABEL, "field": "report", "start": 0, "end": 3, "text": "The"}),
              "Tandem's export of spans", "export of labels"),
    "beir": (lines({"_id": "d1", "title": "", "text": "A text."}), "BEIR", "tandem batch schema"),
    "batch service": (lines({"custom_id": "a", "response": {}, "error": None}),
                      "results of a batch service", "tandem judge run --batch-file"),
    "prodigy": (lines({"text": "A", "_input_hash": 1, "_task_hash": 2, "answer": "accept"}),
                "an export of Prodigy", "labels file"),
}  # fmt: skip
OF_LABELS = {
    "labels": (lines(LABEL), "a labels file"),
    "labels as a table": (b"item,unit,variable,value,rater\nr,q,a,yes,ada\n", "a labels file"),
    "whole answers": (lines({"item": "r", "rater": "a", "units": {}}), "a file of whole answers"),
    "crux": (lines({"id": "q1", "answerability": [1]}), "a file of CRUX's labels"),
}
OF_BATCHES = {
    "native": (lines(BATCH), "a batch"),
    "crux": (lines({"qid": "a_q1", "topic": "t", "questions": [], "response": "R."}),
             "CRUX's labelling file"),
    "garage": (lines({"sample_id": "1", "question": "Q?", "grounding": []}), "GaRAGe's benchmark"),
}  # fmt: skip


def file_of(folder: Path, raw: bytes, name: str = "file.jsonl") -> Path:
    file = folder / name
    file.write_bytes(raw)
    return file


def refused_batch(file: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read([file]))
    return caught.value


def refused_labels(file: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read_labels(file))
    return caught.value


@pytest.mark.parametrize(("raw", "name", "remedy"), NOWHERE.values(), ids=NOWHERE)
def test_a_file_that_no_door_takes_is_named(
    tmp_path: Path, raw: bytes, name: str, remedy: str
) -> None:
    for suffix in ("jsonl", "json", "txt"):
        file = file_of(tmp_path, raw, f"file.{suffix}")
        for error in (refused_batch(file), refused_labels(file)):
            assert name in error.wrong
            assert remedy in error.remedy
            assert error.place.file == str(file)


@pytest.mark.parametrize(("raw", "name"), OF_LABELS.values(), ids=OF_LABELS)
def test_labels_given_as_a_batch_are_sent_to_the_import(
    tmp_path: Path, raw: bytes, name: str
) -> None:
    error = refused_batch(file_of(tmp_path, raw))
    assert name in error.wrong
    assert IMPORT in error.remedy


@pytest.mark.parametrize(("raw", "name"), OF_BATCHES.values(), ids=OF_BATCHES)
def test_a_batch_given_as_labels_is_sent_to_the_loading(
    tmp_path: Path, raw: bytes, name: str
) -> None:
    error = refused_labels(file_of(tmp_path, raw))
    assert name in error.wrong
    assert LOAD in error.remedy


def test_labels_are_recognised_if_the_format_is_named_too(tmp_path: Path) -> None:
    file = file_of(tmp_path, lines(LABEL))
    with pytest.raises(InputError, match="this is a labels file, not a batch"):
        list(read([file], "native"))


def test_a_run_is_named_by_its_ending_too(tmp_path: Path) -> None:
    error = refused_batch(file_of(tmp_path, NOWHERE["run"][0], "bm25.run"))
    assert "a TREC run" in error.wrong
    assert "oracle.jsonl" in error.remedy
    assert "`rankings`" in error.remedy


@pytest.mark.parametrize("kind", ["pickle", "zip", "pdf", "html", "qrels", "run"])
def test_a_table_of_labels_that_is_none_is_named(tmp_path: Path, kind: str) -> None:
    raw, name, _ = NOWHERE[kind]
    assert name in refused_labels(file_of(tmp_path, raw, "labels.csv")).wrong


def test_a_misspelt_column_is_still_a_misspelt_column(tmp_path: Path) -> None:
    error = refused_labels(file_of(tmp_path, b"item,unit,variable,valu,rater\n", "labels.csv"))
    assert (error.wrong, error.remedy) == ("unknown column 'valu'", "did you mean 'value'?")


@pytest.mark.parametrize(
    "broken", ['{"id": "q1", "text": "Who', '{"id": "q1"} {"id": "q2"}', '{"a": 1,}', "[1, 2", ""]
)
def test_broken_json_is_still_broken_json(broken: str) -> None:
    assert kind_of_line(broken) is None


@pytest.mark.parametrize("piece", ["a", "a,", "a b,", "a\t", " ", "<", "[", "51 q1 d 1 "])
def test_a_long_line_takes_no_time(piece: str) -> None:
    began = perf_counter()
    kind_of_line(piece * 1_000_000 + "{")
    kind_of_line(piece * 100 + "{")
    assert perf_counter() - began < 1


def test_label_studios_export_is_named_where_a_report_has_no_campaign(tmp_path: Path) -> None:
    task = {"id": 1, "data": {"text": "A."}, "annotations": [], "predictions": []}
    error = refused_labels(file_of(tmp_path, lines(task)))
    assert error.wrong == "this is Label Studio's export, not labels"
    assert LOAD in error.remedy
    assert IMPORT in error.remedy


def test_the_report_of_a_file_names_a_batch_and_its_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report_files(["--labels", str(file_of(tmp_path, OF_BATCHES["native"][0]))]) == 1
    assert f"this is a batch, not labels; load it with `{LOAD}`" in capsys.readouterr().err


@pytest.mark.django_db
def test_the_commands_name_the_other_command(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=f"this is a labels file, not a batch; .*{IMPORT}"):
        run("load_batch", file_of(tmp_path, lines(LABEL)), "--name", "b")
    run("load_batch", file_of(tmp_path, lines(BATCH)), "--name", "b")
    campaign_of("question-typing")
    with pytest.raises(CommandError, match=f"this is a batch, not labels; load it with `{LOAD}`"):
        run("import_labels", file_of(tmp_path, lines(BATCH)), "--campaign", "c")
    assert Batch.objects.count() == 1
