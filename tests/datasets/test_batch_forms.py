"""A batch is the same as JSON Lines, as a JSON array and as Parquet; other tables are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from django.core.management.base import CommandError

from datasets.models import Batch
from tests.cast import BATCH, Line, campaign_of, load, run, write_lines

LABEL: Line = {"item": "r", "unit": "u", "variable": "v", "value": "yes", "rater": "ann"}


FORMS: dict[str, Callable[[list[Line], Path], object]] = {
    "an array": lambda lines, path: path.write_text(json.dumps(lines), "utf-8"),
    "an array of many lines": lambda lines, path: path.write_text(
        json.dumps(lines, indent=2), "utf-8"
    ),
    "pandas' records": lambda lines, path: pd.DataFrame(lines).to_json(path, orient="records"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_json_array_gives_the_same_batch(db: None, tmp_path: Path, form: str) -> None:
    load(tmp_path, BATCH)
    path = tmp_path / "other"
    FORMS[form](list(BATCH), path)
    run("load_batch", path, "--name", "other")
    one, other = Batch.objects.order_by("pk")
    assert (other.digest, other.format, other.counts) == (one.digest, "native", one.counts)


def test_the_exported_parquet_gives_the_same_batch(db: None, tmp_path: Path) -> None:
    load(tmp_path, BATCH)
    campaign_of("report-coverage")
    path = tmp_path / "batch.parquet"
    run("export", "--campaign", "c", "--what", "batch", "--format", "parquet", "--output", path)
    run("load_batch", path, "--name", "other")
    one, other = Batch.objects.order_by("pk")
    assert (other.digest, other.format) == (one.digest, "native")


def test_an_error_in_parquet_names_the_row(db: None, tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "x"}, {"id": "b", "text": " "}]
    pd.DataFrame(rows).to_parquet(tmp_path / "b")
    with pytest.raises(CommandError, match='b, line 2: "text" is empty; write its text'):
        run("load_batch", tmp_path / "b", "--name", "b")
    assert not Batch.objects.exists()


def test_an_error_in_an_array_on_one_line_names_the_entry(db: None, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps([{"id": "a", "text": "x"}, {"id": "b", "txt": "y"}]), "utf-8")
    with pytest.raises(CommandError, match='line 2: unknown key "txt"'):
        run("load_batch", path, "--name", "b")


def test_files_of_several_forms_make_one_batch(db: None, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"id": "a", "text": "x"}])
    pd.DataFrame([{"id": "b", "text": "y", "asked_at": None}]).to_parquet(tmp_path / "b.parquet")
    said = run("load_batch", tmp_path / "a.jsonl", tmp_path / "b.parquet", "--name", "b")
    assert "2 queries" in said


WORKBOOK = (
    "the file is an Excel workbook, and a batch has lists within its queries; give JSON Lines, a "
    "JSON array or Parquet; labels, as a workbook or CSV, go to `tandem labels import`"
)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("csv", "is a labels file; import it into a campaign with `tandem labels import`"),
        ("tsv", "is a labels file; import it into a campaign with `tandem labels import`"),
        ("xlsx", WORKBOOK),
    ],
)
def test_a_table_of_labels_is_named_with_the_way_to_import_it(
    db: None, tmp_path: Path, form: str, said: str
) -> None:
    path = tmp_path / f"labels.{form}"
    table = pd.DataFrame([LABEL])
    if form == "xlsx":
        table.to_excel(path)
    else:
        table.to_csv(path, sep="\t" if form == "tsv" else ",", index=False)
    with pytest.raises(CommandError) as caught:
        run("load_batch", path, "--name", "b")
    assert said in str(caught.value)
