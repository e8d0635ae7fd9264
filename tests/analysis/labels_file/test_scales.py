"""A variable's scale can be declared by an option, a call or the file itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

import tandem
from tandem.files.rows import InputError
from tandem.labels.file.scales import declared_scale
from tandem.program.main import main
from tests.analysis.conftest import run

JSON = dict[str, Any]
HEAD = "item,unit,variable,rater,rater_kind,value\n"


def lines(*values: str, judge: str = "") -> str:
    """Two people who give each value in turn."""
    rows = [
        f"i{n},u,rating,{rater},human,{value}"
        for n, value in enumerate(values)
        for rater, value in (("Ada", value), ("Bea", values[0]))
    ]
    rows += [f"i{n},u,rating,J,judge,{judge}" for n in range(len(values)) if judge]
    return "".join(f"{row}\n" for row in rows)


def block(report: JSON) -> JSON:
    found: JSON = report["variables"]["rating"]
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "labels.csv"
    made.write_text(HEAD + lines("1", "4", "5"), "utf-8")
    return made


def test_the_commands_the_library_and_the_file_declare_the_same(path: Path, tmp_path: Path) -> None:
    spec, out = "rating=1,2,3,4,5:ordinal", tmp_path / "report.json"
    declared = tmp_path / "declared.csv"
    declared.write_text(f"#scale {spec}\n" + path.read_text("utf-8"), "utf-8")
    as_json = tmp_path / "declared.jsonl"
    names = HEAD.strip().split(",")
    rows = [
        dict(zip(names, row.split(","), strict=True)) for row in lines("1", "4", "5").splitlines()
    ]
    head = {"scales": {"rating": "1,2,3,4,5:ordinal"}}
    as_json.write_text("".join(json.dumps(row) + "\n" for row in [head, *rows]), "utf-8")
    options = ["--scale", spec, "--resamples", "5"]
    assert main(["report", str(path), *options, "--output", str(out)]) == 0
    reports = [
        json.loads(out.read_text("utf-8")),
        json.loads(run("report", "--labels", str(path), *options)),
        tandem.report(path, scales={"rating": "1,2,3,4,5:ordinal"}, resamples=5).json,
        tandem.report(path, scales={"rating": [1, 2, 3, 4, 5]}, resamples=5).json,
        tandem.report(declared, resamples=5).json,
        tandem.report(as_json, resamples=5).json,
    ]
    blocks = [json.loads(json.dumps(block(each))) for each in reports]
    assert blocks[0]["categories"] == ["1", "2", "3", "4", "5"]
    assert blocks[0]["measurement"] == "ordinal"
    assert all(each == blocks[0] for each in blocks)


def test_words_keep_the_declared_order(path: Path) -> None:
    path.write_text(HEAD + lines("low", "high", "mid"), "utf-8")
    found = block(tandem.report(path, scales={"rating": "low,mid,high"}, resamples=5).json)
    assert (found["categories"], found["measurement"]) == (["low", "mid", "high"], "ordinal")


def test_the_level_may_be_another_one(path: Path) -> None:
    for given in ({"scales": {"rating": "1,4,5:nominal"}}, {"levels": {"rating": "nominal"}}):
        options: JSON = {"scales": {"rating": [1, 4, 5]}, **given}
        assert block(tandem.report(path, resamples=5, **options).json)["measurement"] == "nominal"


def test_an_option_takes_precedence_over_the_file(path: Path) -> None:
    path.write_text("#scale rating=1,4,5:nominal\n" + path.read_text("utf-8"), "utf-8")
    found = block(tandem.report(path, scales={"rating": [1, 2, 3, 4, 5]}, resamples=5).json)
    assert (len(found["categories"]), found["measurement"]) == (5, "ordinal")


def test_another_spelling_of_a_number_is_on_the_scale(path: Path) -> None:
    path.write_text(HEAD + lines("1.0", "4", "5"), "utf-8")
    found = block(tandem.report(path, scales={"rating": [1, 2, 3, 4, 5]}, resamples=5).json)
    assert found["categories"] == ["1", "2", "3", "4", "5"]


def test_a_persons_value_off_the_scale_is_refused_with_its_line(path: Path) -> None:
    path.write_text(HEAD + lines("1", "6"), "utf-8")
    with pytest.raises(InputError) as caught:
        tandem.report(path, scales={"rating": "1,2,3"})
    assert str(caught.value) == (
        f'{path}, line 4: rating is "6", which is not on its scale (1, 2, 3); correct it, or add '
        "it to the declared codes"
    )


def test_a_judges_value_off_the_scale_is_its_mistake(path: Path) -> None:
    path.write_text(HEAD + lines("1", "2", judge="7"), "utf-8")
    found = block(tandem.report(path, scales={"rating": "1,2,3"}, resamples=5).json)
    assert found["categories"] == ["1", "2", "3"]
    assert found["judges"]["J"]["agreement"]["percent"]["value"] == 0


@pytest.mark.parametrize("given", ["", "1", "1,1", "1,,2", "a,b:", ":ordinal"])
def test_a_scale_without_two_different_codes_is_refused(given: str) -> None:
    if given == "a,b:":
        assert declared_scale(given).codes == ("a", "b:")
        return
    with pytest.raises(ValueError, match="is not two or more different codes in their order"):
        declared_scale(given)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--scale", "rating"), "--scale 'rating' is not two or more different codes"),
        (("--scale", "mood=1,2"), "--scale: no label is of 'mood'; there are rating."),
        (
            ("--scale", "rating=1,4,5:ordinal", "--level", "rating=nominal"),
            "--scale 'rating=1,4,5:ordinal' and --level give 'rating' two levels.",
        ),
    ],
)
def test_a_wrong_option_is_named(path: Path, options: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError) as caught:
        run("report", "--labels", str(path), *options)
    assert said in str(caught.value)


def test_a_wrong_declaration_in_a_file_is_named(path: Path) -> None:
    path.write_text("#scale rating=1\n" + path.read_text("utf-8"), "utf-8")
    with pytest.raises(InputError, match='the scale of "rating" is not two or more different'):
        tandem.report(path)


def test_files_may_not_declare_two_scales_of_a_variable(path: Path, tmp_path: Path) -> None:
    paths = []
    for n, codes in enumerate(("1,4,5", "5,4,1")):
        made = tmp_path / f"{n}.csv"
        made.write_text(f"#scale rating={codes}\n{HEAD}i{n},u,rating,Ada,,4\n", "utf-8")
        paths.append(made)
    with pytest.raises(InputError, match='declares another scale of "rating" than before'):
        tandem.report(paths)


@pytest.mark.django_db
@pytest.mark.parametrize("option", [("--scale", "v=1,2"), ("--wide", "v")])
def test_what_a_protocol_says_cannot_be_declared(option: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match="goes with --labels"):
        run("report", "--campaign", "c", *option)
