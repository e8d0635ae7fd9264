"""A folder of exports is written whole or not at all, with a correct manifest."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from django.conf import settings
from django.core.management.base import CommandError

from annotation.exports.bundles import bundle_exports, carry_out, expected_lines, question
from annotation.exports.contents import EXPORTS, exports_of
from annotation.exports.zip import stream_zip
from annotation.models import Campaign, Label, Span, Unit
from tests.annotation.label_files import labels_for
from tests.cast import Line, campaign_of, exported, load, run, write_lines
from tests.once import once

pytestmark = pytest.mark.django_db


@once
def campaign(folder: Path) -> Campaign:
    load(folder)
    made = campaign_of("report-coverage")
    lines = labels_for(made, exported("c", "units"))
    run("import_labels", write_lines(folder / "labels.jsonl", lines), "--campaign", "c")
    return made


def export(what: str, folder: Path, *more: object) -> dict[str, Any]:
    """The manifest of a folder that was just written."""
    run("export", "--campaign", "c", "--what", what, "--output", folder, *more)
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
    return found


def files_of(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found}


def rows_in(path: Path) -> int:
    if path.suffix == ".parquet":
        return int(pq.ParquetFile(path).metadata.num_rows)
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return sum(1 for _ in csv.reader(file)) - 1
    if path.suffix == ".jsonl":
        return path.read_bytes().count(b"\n")
    value = json.loads(path.read_text("utf-8"))
    return len(value) if isinstance(value, list) else int(value["total"])


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_the_complete_bundle_has_every_export_in_the_requested_form(
    campaign: Campaign, tmp_path: Path, form: str
) -> None:
    folder = tmp_path / "out"
    manifest = export("all", folder, "--format", form)
    forms = {"label-studio": "json", "web-annotations": "jsonld"}
    if form == "jsonl":
        forms = {}
    expected = {f"{name}.{forms.get(name, form)}" for name in exports_of(campaign)}
    assert files_of(folder) == {*expected, "manifest.json"}
    assert {file["path"] for file in manifest["files"]} == expected


@pytest.mark.parametrize("what", ["all", "dataset"])
def test_the_manifest_counts_and_hashes_the_files(
    campaign: Campaign, tmp_path: Path, what: str
) -> None:
    manifest = export(what, tmp_path / "out")
    for file in manifest["files"]:
        path = tmp_path / "out" / file["path"]
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert file["bytes"] == path.stat().st_size
        assert file["rows"] == rows_in(path), file["path"]
        assert file["columns"] == list(EXPORTS[file["what"]].columns)
        assert file["defused"] is False


def test_the_manifest_names_campaign_and_version(campaign: Campaign, tmp_path: Path) -> None:
    manifest = export("all", tmp_path / "out", "--format", "csv")
    assert manifest["version"] == settings.TANDEM_VERSION
    assert manifest["campaign"]["name"] == "c"
    assert manifest["campaign"]["protocol_version"] == campaign.protocol_version
    assert manifest["batch"] == {"name": "b", "format": "native", "digest": campaign.batch.digest}
    assert manifest["counts"] == {
        "items": campaign.items.count(),
        "units": Unit.objects.count(),
        "responses": len(exported("c", "responses")),
        "labels": Label.objects.count(),
        "spans": Span.objects.count(),
        "raters": {"human": 2, "judge": 1, "reference": 1},
    }
    defused = {file["path"] for file in manifest["files"] if file["defused"]}
    tables = ("units", "labels", "responses", "spans", "references", "batch", "pay")
    assert defused == {f"{what}.csv" for what in tables}


def test_the_manifest_names_the_guideline_that_people_saw(
    campaign: Campaign, tmp_path: Path
) -> None:
    ours = tmp_path / "ours.md"
    ours.write_text("# Ours\n", "utf-8")
    run("set_campaign", "c", "--guideline", ours)
    manifest = export("all", tmp_path / "out", "--format", "csv")
    assert manifest["campaign"]["guideline_sha256"] == hashlib.sha256(b"# Ours").hexdigest()


def test_a_single_file_has_a_manifest_on_request(campaign: Campaign, tmp_path: Path) -> None:
    out, manifest = tmp_path / "labels.csv", tmp_path / "manifest.json"
    run("export", "--campaign", "c", "--what", "labels", "--format", "csv", "--output", out,
        "--manifest", manifest)  # fmt: skip
    (file,) = json.loads(manifest.read_text("utf-8"))["files"]
    assert file["path"] == "labels.csv"
    assert file["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert file["rows"] == rows_in(out) == Label.objects.count() + 1


def test_a_dataset_has_a_card_that_names_its_files(campaign: Campaign, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    manifest = export("dataset", folder)
    offered = exports_of(campaign).items()
    tables = {name for name, each in offered if each.is_table and not each.personal}
    assert "pay" not in tables
    assert files_of(folder) == {
        "README.md",
        "manifest.json",
        *(f"data/{t}.parquet" for t in tables),
    }
    _, head, body = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    front = yaml.safe_load(head)
    assert front["pretty_name"] == "c"
    assert front["size_categories"] == ["n<1K"]
    configs = {each["config_name"]: each for each in front["configs"]}
    assert set(configs) == tables
    assert [name for name, each in configs.items() if each.get("default")] == ["labels"]
    for file in manifest["files"]:
        assert configs[file["what"]]["data_files"] == [{"split": "train", "path": file["path"]}]
    assert "| `answerable` | question | `yes`, `no`, `invalid` | nominal |" in body
    assert "raters: 2 human, 1 judge, 1 reference" in body


def test_a_dataset_contains_the_labels(campaign: Campaign, tmp_path: Path) -> None:
    export("dataset", tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "data" / "labels.parquet")
    keys = ("item", "unit", "variable", "value", "missing", "rater", "replicate")
    lines = exported("c", "labels")
    assert [{k: row[k] for k in keys} for row in table.to_pylist()] == [
        {k: line.get(k) for k in keys} for line in lines
    ]


@pytest.mark.every_case
@pytest.mark.parametrize(
    "name", ['a"b', "a: b\n- c", "`x` <script>", "---", "ü🌉", "a\u2028b\x85c\x7f"]
)
def test_no_campaign_name_breaks_the_dataset_card(
    campaign: Campaign, name: str, tmp_path: Path
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(name=name)
    run("export", f"--campaign={name}", "--what", "dataset", "--output", tmp_path / "out")
    _, head, body = (tmp_path / "out" / "README.md").read_text("utf-8").split("---\n", 2)
    assert yaml.safe_load(head)["pretty_name"] == name
    title = next(line for line in body.splitlines() if line.startswith("# "))
    assert title.startswith("# `")
    assert title.endswith("`")
    assert title.count("`") == 2


@pytest.mark.usefixtures("campaign")
def test_a_campaign_that_grades_passages_exports_qrels_too(tmp_path: Path) -> None:
    campaign_of("rubric-passage", "--option", "sampling=all", name="graded")
    run("export", "--campaign", "graded", "--what", "all", "--output", tmp_path / "out")
    assert {"qrels.jsonl", "qrels-graded.jsonl", "qrels-diversity.jsonl"} <= files_of(
        tmp_path / "out"
    )


def test_a_failed_export_leaves_no_folder(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(campaign: object) -> Iterator[Line]:
        yield {"item": "i"}
        raise RuntimeError

    monkeypatch.setitem(EXPORTS, "spans", replace(EXPORTS["spans"], lines=broken))
    before = files_of(tmp_path)
    with pytest.raises(RuntimeError):
        export("all", tmp_path / "out")
    assert files_of(tmp_path) == before
    assert not (tmp_path / "out").exists()


def test_a_folder_with_content_is_not_overwritten(campaign: Campaign, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    export("dataset", folder)
    before = files_of(folder)
    with pytest.raises(CommandError, match="exists already; choose another folder"):
        export("all", folder)
    assert files_of(folder) == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "is a folder; give --output FOLDER"),
        (("--output", "x", "--manifest", "y"), "has a manifest of its own; leave --manifest out"),
        (("--output", "x", "--format", "trec"), "all comes as jsonl, csv, parquet, xlsx"),
    ],
)
def test_wrong_options_are_explained(campaign: Campaign, more: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run("export", "--campaign", "c", "--what", "all", *more)


def test_an_archive_contains_the_same_files(campaign: Campaign) -> None:
    pieces = stream_zip(bundle_exports(campaign, "dataset", "parquet"))
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        for file in manifest["files"]:
            content = archive.read(file["path"])
            assert hashlib.sha256(content).hexdigest() == file["sha256"]
        assert archive.namelist()[-2:] == ["README.md", "manifest.json"]


def test_an_archive_is_streamed() -> None:
    asked: list[int] = []

    def pieces() -> Iterator[bytes]:
        for n in range(50):
            asked.append(n)
            yield b"x" * 100_000

    sent = stream_zip([("a.parquet", pieces())])
    next(sent)
    assert len(asked) < 3


@pytest.mark.parametrize("what", ["labels", "all"])
def test_an_export_reports_its_progress(campaign: Campaign, what: str) -> None:
    heard: list[tuple[int, int]] = []
    found = carry_out(question(campaign, what, "jsonl"), lambda *each: heard.append(each))
    assert sum(map(len, found.pieces))
    lines, expected = heard[0][1], expected_lines(campaign, what, "jsonl")
    assert lines == expected > 0
    done = [number for number, _ in heard]
    assert done == sorted(done)
    assert heard[-1][0] >= 0.9 * heard[-1][1]
