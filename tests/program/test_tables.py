"""A table of labels in any form gives the same report, by the library and by the command."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tandem
from tandem.files.rows import InputError
from tandem.program.main import main
from tests.program.labels import rows
from tests.table_forms import FORMS, in_form

pytestmark = pytest.mark.once
JSON = dict[str, Any]
LONG = pd.DataFrame(rows(20))


def wide(values: str = "123") -> pd.DataFrame:
    chance = random.Random(7)
    return pd.DataFrame(
        {
            "item": [f"i{n}" for n in range(24)],
            "query": [n % 12 for n in range(24)],
            **{rater: [chance.choice(values) for _ in range(24)] for rater in ("ada", "bea")},
            "cyd": [chance.choice(values) if n % 4 else None for n in range(24)],
            "judge:llama": [chance.choice(values) for _ in range(24)],
        }
    )


def long_of(table: pd.DataFrame, variable: str = "label") -> list[JSON]:
    """The rows that a wide table means."""
    return [
        {
            "item": row["item"],
            "unit": row["item"],
            "query": str(row["query"]),
            "variable": variable,
            "value": row[column],
            "rater": column.removeprefix("judge:"),
            "rater_kind": "judge" if column.startswith("judge:") else "human",
        }
        for row in table.to_dict("records")
        for column in ("ada", "bea", "cyd", "judge:llama")
        if pd.notna(row[column])
    ]


def plain(report: JSON) -> JSON:
    """Return a report without its time, check by other libraries, and remarks about the file."""
    kept = {name: of for name, of in report.items() if name not in ("generated_at", "check")}
    return {**kept, "warnings": [w for w in report["warnings"] if w["code"] != "file"]}


def by_library(table: Any, **options: Any) -> JSON:
    return plain(json.loads(json.dumps(tandem.report(table, resamples=20, **options).json)))


def by_command(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> JSON:
    status = main(["report", str(path), "--resamples", "20", *options])
    said = capsys.readouterr()
    assert status == 0, said.err
    return plain(json.loads(said.out))


@pytest.mark.parametrize("form", FORMS)
def test_one_label_in_each_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    path, right = in_form(form, LONG, tmp_path), by_library(rows(20))
    assert by_library(path) == right
    assert by_command(path, capsys) == right


@pytest.mark.parametrize("form", FORMS)
def test_one_column_for_each_rater(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    table = wide()
    path, right = in_form(form, table, tmp_path), by_library(long_of(table))
    assert by_library(path) == right
    assert by_command(path, capsys) == right
    named = by_library(long_of(table, "rating"), levels={"rating": "ordinal"})
    assert by_command(path, capsys, "--wide", "rating", "--level", "rating=ordinal") == named


@pytest.mark.parametrize("form", FORMS)
def test_numbers_beside_an_empty_cell_are_whole(tmp_path: Path, form: str) -> None:
    table = wide()
    for column in ("ada", "bea", "cyd", "judge:llama"):
        table[column] = pd.to_numeric(table[column])
    right = by_library(long_of(wide()))
    assert by_library(table) == right
    assert by_library(in_form(form, table, tmp_path)) == right


class TestAWideTable:
    def test_it_needs_no_columns_of_facts(self) -> None:
        table = wide()[["ada", "bea", "cyd"]]
        found = by_library(table)
        assert found["variables"]["label"]["agreement"]["units"] == 24
        assert (found["queries"], [r["name"] for r in found["raters"]]) == (
            24,
            ["ada", "bea", "cyd"],
        )

    def test_a_remark_names_those_who_count_as_people(self) -> None:
        warned = tandem.report(wide(), resamples=5).json["warnings"]
        assert (warned[0]["code"], warned[0]["variable"]) == ("file", None)
        assert warned[0]["text"] == (
            'the table: read as a table with one column for each rater; people are "ada", "bea", '
            '"cyd"; the column of a judge is called judge:NAME'
        )

    def test_columns_may_name_their_variable_and_replicate(self) -> None:
        table = pd.DataFrame(
            {
                "item": ["a", "b"],
                "rating: ada": ["1", "2"],
                "rating: judge:llama": ["1", "1"],
                "rating: judge:llama #1": ["2", "1"],
                "mood: ada": ["good", "bad"],
                "mood: bea": ["good", "good"],
            }
        )
        found = tandem.report(table, wide="other", resamples=5).json
        assert sorted(found["variables"]) == ["mood", "rating"]
        kinds = {rater["name"]: rater["kind"] for rater in found["raters"]}
        assert kinds == {"ada": "human", "bea": "human", "llama": "judge"}
        assert found["inputs"]["labels"] == 10

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            ({"item": "ab", "annotator": "xy", "label": "no"}, "unknown column 'annotator'"),
            ({"item": "ab", "ada": "xy", "rating": "xy"}, "unknown column 'rating'"),
            ({"item": "ab", "ada": "xy", "bea": "xy", "remark": "uv"}, "unknown column 'remark'"),
            ({"item": "ab", "ada": "xy"}, "unknown column 'ada', the only one that may be"),
            ({"item": "ab", "ada": "xy", "Value": "xy"}, "did you mean 'value'"),
            ({"item": "ab", "ada": "xy", "raters": "xy"}, "did you mean 'rater'"),
            ({"itme": "ab", "ada": "xy", "bea": "xy"}, "did you mean 'item'"),
        ],
    )
    def test_a_table_that_may_be_another_one_is_refused(
        self, table: dict[str, str], said: str
    ) -> None:
        frame = pd.DataFrame({name: list(cells) for name, cells in table.items()})
        with pytest.raises(tandem.TableError) as caught:
            tandem.report(frame)
        assert said in str(caught.value)

    @pytest.mark.parametrize("wide", [None, "mood"])
    @pytest.mark.parametrize(
        ("column", "said"),
        [("id", "call it unit, item or query"), ("Question ID", "call it unit, item or query"),
         ("text", "remove it, as nothing reads it"), ("Comment", "remove it, as nothing reads it")],
    )  # fmt: skip
    def test_an_id_or_a_text_is_never_a_rater(
        self, wide: str | None, column: str, said: str
    ) -> None:
        frame = pd.DataFrame({column: ["a", "b"], "ada": ["x", "y"], "bea": ["x", "z"]})
        with pytest.raises(tandem.TableError) as caught:
            tandem.report(frame, wide=wide)
        assert f"column {column!r} is not a rater's; {said}" in str(caught.value)

    def test_it_is_read_if_the_variable_is_named(self) -> None:
        frame = pd.DataFrame({"item": ["a", "b"], "ada": ["x", "y"], "gold": ["x", "z"]})
        found = tandem.report(frame, wide="mood", resamples=5).json
        assert [rater["name"] for rater in found["raters"]] == ["ada", "gold"]

    def test_naming_its_variable_is_refused_for_another_table(self) -> None:
        with pytest.raises(tandem.TableError, match=r"no column is a rater's.*leave --wide out"):
            tandem.report(rows(5), wide="rating")

    @pytest.mark.parametrize("column", ["score", "rater_kind", "spans"])
    def test_a_fact_of_one_label_cannot_stand_beside_raters(self, column: str) -> None:
        frame = pd.DataFrame({"item": ["a"], "ada": ["x"], "bea": ["x"], column: ["x"]})
        with pytest.raises(tandem.TableError, match=f'"{column}" cannot stand beside columns of'):
            tandem.report(frame, wide="mood")

    def test_a_label_twice_is_refused(self) -> None:
        frame = pd.DataFrame({"item": ["a", "a"], "ada": ["x", "y"], "bea": ["x", "y"]})
        with pytest.raises(tandem.TableError, match="row 2: 'ada' has this label on line 1 too"):
            tandem.report(frame)


class TestMisreadings:
    """What a program made of a table is refused, instead of being read as labels."""

    def test_a_date_that_a_spreadsheet_made_of_a_code_is_refused(self, tmp_path: Path) -> None:
        for column in ("ada", "item"):
            table = wide()
            table[column] = pd.to_datetime(["2026-02-01"] * 24)
            with pytest.raises(InputError, match=r"line 2: (value|item) is the date 2026-02-01"):
                tandem.report(in_form("xlsx", table, tmp_path), wide="v")

    def test_a_date_as_text_is_a_text(self, tmp_path: Path) -> None:
        table = wide().assign(item=[f"2026-02-{n + 1:02}" for n in range(24)])
        assert by_library(in_form("xlsx", table, tmp_path)) == by_library(long_of(table))

    def test_truths_of_a_spreadsheet_are_words_as_in_its_csv(self, tmp_path: Path) -> None:
        table = wide().assign(ada=[n % 2 == 0 for n in range(24)], bea=[True] * 24)
        found = by_library(in_form("xlsx", table[["item", "ada", "bea"]], tmp_path))
        assert found["variables"]["label"]["categories"] == ["FALSE", "TRUE"]

    @pytest.mark.parametrize("orient", ["columns", "index", "split", "list"])
    def test_a_table_by_columns_is_named(self, tmp_path: Path, orient: str) -> None:
        path = tmp_path / "l.json"
        if orient == "list":
            path.write_text(json.dumps(LONG[["item", "unit", "rater"]].to_dict("list")), "utf-8")
        else:
            LONG.to_json(path, orient=orient)  # type: ignore[call-overload]
        with pytest.raises(InputError) as caught:
            tandem.report(path)
        if orient in ("columns", "list"):
            assert "line 1: is one object of columns; write one object for each" in str(
                caught.value
            )


class TestOrder:
    WORDS = ("low", "mid", "high", "top")

    def words(self) -> pd.DataFrame:
        """A wide table with words for values, one of which nobody uses."""
        words = dict(zip("123", self.WORDS, strict=False))
        return wide().drop(columns="judge:llama").replace(words)

    def test_ordered_categories_keep_their_order_in_a_wide_table(self, tmp_path: Path) -> None:
        right = by_library(self.words(), scales={"label": "low,mid,high,top:ordinal"})
        block = right["variables"]["label"]
        assert block["categories"] == list(self.WORDS)
        assert block["measurement"] == "ordinal"
        table = self.words()
        for rater in ("ada", "bea", "cyd"):
            table[rater] = pd.Categorical(table[rater], self.WORDS, ordered=True)
        assert by_library(table) == right
        assert by_library(in_form("parquet", table, tmp_path)) == right

    def test_they_keep_it_in_a_long_table_where_a_level_may_differ(self, tmp_path: Path) -> None:
        frame = pd.DataFrame(rows(10, ("rating",)))
        words = dict(zip("012345", self.WORDS[:3] * 2, strict=True))
        frame["value"] = frame["value"].map(words)
        right = by_library(frame, scales={"rating": self.WORDS})
        frame["value"] = pd.Categorical(frame["value"], self.WORDS, ordered=True)
        assert by_library(frame) == right
        assert by_library(in_form("parquet", frame, tmp_path)) == right
        nominal = by_library(frame, levels={"rating": "nominal"})["variables"]["rating"]
        assert nominal["measurement"] == "nominal"
        assert nominal["categories"] == list(self.WORDS)

    def test_of_several_variables_each_has_the_categories_that_occur(self) -> None:
        frame = pd.DataFrame(rows(10, ("rating", "answerable")))
        order = ["yes", "no", "5", "4", "3", "2", "1", "0"]
        frame["value"] = pd.Categorical(frame["value"], order, ordered=True)
        found = by_library(frame)["variables"]
        assert found["answerable"]["categories"] == ["yes", "no"]
        assert found["rating"]["categories"] == ["5", "4", "3", "2", "1", "0"]

    def test_an_error_still_names_the_row(self) -> None:
        frame = pd.DataFrame(rows(5, ("rating",)))
        frame["value"] = pd.Categorical(frame["value"], list("012345"), ordered=True)
        frame.loc[3, "rater"] = " "
        with pytest.raises(tandem.TableError, match="row 4: the rater is blank"):
            tandem.report(frame)
