"""Tables in every form are recognised by their content and give the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tandem.files.jsonl import MAX_LINE_BYTES
from tandem.files.rows import InputError, ReadNotes
from tandem.files.tables import form_of, object_rows, open_table

Rows = list[tuple[int, dict[str, Any]]]


def read(path: Path, notes: ReadNotes | None = None) -> Rows:
    return list(open_table(path, notes or ReadNotes()).rows)


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def written(content: bytes, name: str = "f.csv") -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return written


File = Callable[..., Path]


class TestSeparatedCells:
    def test_rows_have_the_number_of_their_last_line_and_only_filled_cells(
        self, file: File
    ) -> None:
        raw = b'\xef\xbb\xbfb,a\r\n"1\r\n2",\n\n,x\n'
        assert read(file(raw)) == [(3, {"b": "1\r\n2"}), (5, {"a": "x"})]

    @pytest.mark.parametrize(
        "raw",
        [
            b"a,b\n1,x;y\n",
            b"a\tb\n1\tx;y\n",
            b"a;b\n1;x;y\n".replace(b"x;y", b'"x;y"'),
            b'sep=;\na;b\n1;"x;y"\n',
            b"sep=\t\r\na\tb\r\n1\tx;y\r\n",
            b"sep=|\na|b\n1|x;y\n",
            b'"a","b"\n"1","x;y"\n',
        ],
    )
    @pytest.mark.parametrize("name", ["f.csv", "f.tsv", "f.txt", "f.jsonl"])
    def test_the_separator_is_recognised_whatever_the_name(
        self, file: File, raw: bytes, name: str
    ) -> None:
        path = file(raw, name)
        assert form_of(path) == "delimited"
        assert [row for _, row in read(path)] == [{"a": "1", "b": "x;y"}]

    def test_blanks_around_names_of_columns_are_no_part_of_them(self, file: File) -> None:
        assert read(file(b" a , b\n1,x\n")) == [(2, {"a": "1", "b": "x"})]

    @pytest.mark.parametrize("blank", [b",,\n", b" ,\xc2\xa0,\n", b"\n"])
    def test_rows_of_separators_alone_are_skipped(self, file: File, blank: bytes) -> None:
        assert read(file(blank + b"a,b,\n" + blank + b"1,2,\n" + blank)) == [
            (4, {"a": "1", "b": "2"})
        ]

    def test_a_cell_of_blanks_is_empty(self, file: File) -> None:
        assert read(file(b"a,b\n1,\xc2\xa0\n")) == [(2, {"a": "1"})]

    def test_a_line_before_the_header_declares_a_scale(self, file: File) -> None:
        raw = b"#scale a=1,2,3:ordinal\n#scale b=x,y,,\na,b\n1,x\n"
        table = open_table(file(raw), ReadNotes())
        assert table.scales == {"a": "1,2,3:ordinal", "b": "x,y"}
        assert list(table.rows) == [(4, {"a": "1", "b": "x"})]

    @pytest.mark.parametrize(
        ("raw", "line", "said"),
        [
            (b"", None, "holds no records"),
            (b"a,b\n", None, "holds no records"),
            (b"a,b\n,\n", None, "holds no records"),
            (b"a,b\r1,2\r", 1, "a line ends with a carriage return alone; save the file with"),
            (b"a,a\n1,2\n", 1, "a column occurs twice"),
            (b"a,b\n1\n", 2, "1 cells where the header has 2; correct the line's commas and quo"),
            (b"a\tb\n1\n", 2, "1 cells where the header has 2; correct the line's tabs and quo"),
            (b"sep=;\na;b\n1;2;3\n", 3, "3 cells where the header has 2; correct the line's semi"),
            (b'a,b\n1,"2\n', 2, "broken CSV"),
            (b"\xff\xfea\x00", 1, "the file is UTF-16"),
            (b"\xfe\xff\x00a", 1, "the file is UTF-16"),
            (b"a,b\n1,\x00\n", 2, "holds a NUL character"),
            (b"a,b\n1,2\n\xe9,2\n", 3, "not UTF-8"),
            (b"#scale a\na,b\n1,2\n", None, '"a" declares no scale; write #scale rating=1,2,3'),
        ],
    )
    def test_a_malformed_table_is_refused_with_its_line(
        self, file: File, raw: bytes, line: int | None, said: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            read(file(raw))
        assert caught.value.place.line == line
        assert f"{caught.value.wrong}; {caught.value.remedy}".startswith(said)

    def test_a_line_has_the_length_limit_of_json_lines(self, file: File) -> None:
        rest = MAX_LINE_BYTES - 3
        ((line, cells),) = read(file(b"a,b\n" + b"x" * rest + b",y\n"))
        assert (line, len(cells["a"])) == (2, rest)
        with pytest.raises(InputError, match="line 2: the line is longer than 32 MiB"):
            read(file(b"a,b\n" + b"x" * (rest + 1) + b",y\n"))

    def test_a_missing_file_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"cannot be read \(no such file"):
            read(tmp_path / "none.csv")


INDEXED = {
    "to_csv": lambda frame, path: frame.to_csv(path),
    "read and written again": lambda frame, path: frame.rename_axis("Unnamed: 0").to_csv(path),
    "reset_index": lambda frame, path: frame.reset_index().to_csv(path, index=False),
    "to_excel": lambda frame, path: frame.to_excel(path),
    "to_parquet": lambda frame, path: frame.set_index([[5, 3, 8]]).to_parquet(path),
    "to_json": lambda frame, path: frame.reset_index().to_json(path, orient="records"),
}


class TestIndexColumns:
    @pytest.mark.parametrize("how", INDEXED)
    def test_the_index_of_a_data_frame_is_left_out_with_a_remark(
        self, tmp_path: Path, how: str
    ) -> None:
        path = tmp_path / ("f.xlsx" if how == "to_excel" else "f.csv")
        INDEXED[how](pd.DataFrame({"a": list("xyx"), "b": list("zzz")}), path)
        notes = ReadNotes()
        assert [row for _, row in read(path, notes)] == [{"a": a, "b": "z"} for a in "xyx"]
        (remark,) = notes.warnings
        assert "is the index of a data frame; left out" in remark

    def test_a_column_called_index_that_does_not_count_is_refused(self, file: File) -> None:
        with pytest.raises(InputError, match='line 2: unknown column "index", which does not coun'):
            read(file(b"index,a\n3,x\n4,y\n"))

    def test_a_column_without_a_name_that_has_texts_is_refused(self, file: File) -> None:
        with pytest.raises(InputError, match='line 2: a column without a name contains "q1"; give'):
            read(file(b",a\nq1,x\n"))

    def test_empty_columns_without_a_name_need_no_remark(self, file: File) -> None:
        notes = ReadNotes()
        assert read(file(b"a,,\nx,,\n"), notes) == [(2, {"a": "x"})]
        assert notes.warnings == []


class TestJson:
    def test_objects_on_one_line_have_numbers_of_their_own(self, file: File) -> None:
        path = file(b'[{"a": 1}, {"a": 2},\n\n\n {"a": 3}]', "f.json")
        assert read(path) == [(1, {"a": 1}), (2, {"a": 2}), (4, {"a": 3})]
        assert list(object_rows(path)) == read(path)

    def test_a_first_object_may_declare_scales(self, file: File) -> None:
        table = open_table(file(b'{"scales": {"a": [1, 2]}}\n{"a": 1}\n', "f.jsonl"), ReadNotes())
        assert table.scales == {"a": [1, 2]}
        assert list(table.rows) == [(2, {"a": 1})]

    def test_scales_that_are_no_object_are_refused(self, file: File) -> None:
        with pytest.raises(InputError, match="line 1: scales is not an object; write"):
            read(file(b'{"scales": [1]}\n', "f.jsonl"))


class TestParquet:
    def test_rows_are_those_of_json(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        rows = [
            {"a": "x", "n": 1, "f": 0.5, "meta": '{"k": [1]}', "s": [{"t": "q", "u": None}]},
            {"a": None, "n": None, "f": float("nan"), "meta": None, "s": []},
        ]
        pq.write_table(pa.Table.from_pylist(rows), path)
        assert read(path) == [
            (1, {"a": "x", "n": 1, "f": 0.5, "meta": {"k": [1]}, "s": [{"t": "q"}]}),
            (2, {"s": []}),
        ]

    def test_times_are_texts(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"t": pd.to_datetime(["2024-05-31T12:30:00Z"])})
        frame.to_parquet(tmp_path / "f")
        assert read(tmp_path / "f") == [(1, {"t": "2024-05-31T12:30:00+00:00"})]

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ([{"a": b"x"}], "line 1: a is bytes; write text, a number"),
            ([{"meta": "x"}], 'line 1: meta is "x"; write it as JSON'),
        ],
    )
    def test_a_value_that_json_lacks_is_refused(
        self, tmp_path: Path, rows: list[dict[str, Any]], said: str
    ) -> None:
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "f")
        with pytest.raises(InputError, match=said):
            read(tmp_path / "f")

    def test_a_broken_file_is_named(self, file: File) -> None:
        with pytest.raises(InputError, match="is not a readable Parquet file"):
            read(file(b"PAR1 and nothing", "f.parquet"))

    def test_the_order_of_categories_is_kept(self, tmp_path: Path) -> None:
        value = pd.Categorical(["high", "low"], ["low", "mid", "high"], ordered=True)
        pd.DataFrame({"a": value, "b": value.as_unordered()}).to_parquet(tmp_path / "f")
        assert open_table(tmp_path / "f", ReadNotes()).orders == {"a": ["low", "mid", "high"]}


def test_lines_of_json_are_not_taken_for_a_table(file: File) -> None:
    for raw in (b'{"a": 1}\n', b'\n {"a": 1}', b'\xef\xbb\xbf{"a": 1}', b"oops", b""):
        assert form_of(file(raw, "f.jsonl")) == "jsonl"
    assert form_of(file(json.dumps([{"a": 1}]).encode(), "f.csv")) == "json"
