"""Reading labels files by columns gives the same labels and errors as the line reader."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tandem.files.rows import InputError
from tandem.labels.file import columns
from tandem.labels.file.arrow import TEXTS
from tandem.labels.file.columns import LabelColumns, read_columns
from tandem.labels.file.reader import read_labels
from tandem.labels.file.rows import COLUMNS
from tandem.labels.metadata import text_of

DEEPEST = 32

Line = dict[str, Any]
LEAST: Line = {"item": "r", "unit": "q", "variable": "answerable", "rater": "Ada", "value": "yes"}
SPAN = {"field": "report", "start": 1, "end": 3, "text": "ab"}

METAS = ("domain", "kind")

RIGHT: dict[str, list[Line]] = {
    "the least that a label says": [LEAST],
    "a missing label": [{**LEAST, "value": None, "missing": "refused"}],
    "numbers for values": [LEAST | {"value": 3}, LEAST | {"value": 4, "unit": "p"}],
    "broken numbers for values": [LEAST | {"value": 1.5}, LEAST | {"value": 2, "unit": "p"}],
    "numbers of many digits": [LEAST | {"value": 2**70 + 1}],
    "texts beside numbers": [LEAST | {"value": 3}, LEAST | {"value": "4", "unit": "p"}],
    "whole numbers as keys": [LEAST | {"item": 7, "unit": 8}],
    "dates as keys": [LEAST | {"item": "2024-01-01", "unit": "2024-01-01T00:00:00Z"}],
    "null where nothing stands": [dict.fromkeys(COLUMNS) | LEAST],
    "empty texts": [LEAST | {"kind": "", "query": "", "system": "", "rater_kind": ""}],
    "each number": [LEAST | {"replicate": 2, "revision": 3, "seconds": 1.5, "score": -0.25}],
    "whole numbers with a point": [LEAST | {"replicate": 1.0, "revision": 2.0}],
    "whole scores": [LEAST | {"score": 1}, LEAST | {"score": 0.5, "unit": "p"}],
    "a judge without a name to assist": [LEAST | {"assisted_by": ""}, LEAST | {"unit": "p"}],
    "names as long as they may be": [LEAST | {"rater": "x" * 150, "assisted_by": "y" * 150}],
    "numbers of fifteen digits": [LEAST | {"value": n} for n in (10**15 - 1, 10**15, 10**15 + 1)],
    "large negative numbers": [LEAST | {"value": -n} for n in (10**15 - 1, 10**16 + 1)],
    "spans": [LEAST, LEAST | {"unit": "p", "spans": [SPAN]}, LEAST | {"unit": "s"}],
    "plain meta": [LEAST | {"meta": {"domain": "law", "kind": n, "more": {"x": [n]}}}
                   for n in (1, 2)] + [LEAST | {"unit": "p", "meta": {"kind": 7}}],
    "meta of truths and nothing": [LEAST | {"meta": {"domain": True, "kind": ""}},
                                   LEAST | {"unit": "p", "meta": {"domain": None}}],
    "meta of broken numbers": [LEAST | {"meta": {"domain": "law", "kind": 1.5}}],
    "meta of dates": [LEAST | {"meta": {"domain": "2024-01-01"}}],
    "meta and spans": [LEAST | {"meta": {"domain": "law"}, "spans": [SPAN]},
                       LEAST | {"unit": "p", "meta": {"domain": "art"}}],
    "meta of other shapes": [LEAST | {"meta": {"domain": 1}}, LEAST | {"meta": {"domain": ["x"]}}],
    "a judge": [LEAST | {"rater_kind": "judge", "assisted_by": "x", "created_at": "2024-05-31"}],
    "odd texts": [LEAST | {"item": "a/b#1 🌉", "unit": " blank ", "rater": "l'\u2028\u00e9\\\"{"}],
}  # fmt: skip
WRONG: dict[str, Line] = {
    "an unknown key": LEAST | {"vlaue": "no"},
    "no unit": {name: of for name, of in LEAST.items() if name != "unit"},
    "an empty item": LEAST | {"item": ""},
    "a blank variable": LEAST | {"variable": " "},
    "a blank rater": LEAST | {"rater": " "},
    "a long rater": LEAST | {"rater": "x" * 151},
    "a long name of who assisted": LEAST | {"assisted_by": "x" * 151},
    "a value and a reason": LEAST | {"missing": "refused"},
    "neither": LEAST | {"value": None},
    "an empty value": LEAST | {"value": ""},
    "true": LEAST | {"value": True},
    "an unknown reason": LEAST | {"value": None, "missing": "lost"},
    "an unknown kind": LEAST | {"rater_kind": "robot"},
    "a negative replicate": LEAST | {"replicate": -1},
    "revision 0": LEAST | {"revision": 0},
    "a broken replicate": LEAST | {"replicate": 1.5},
    "negative seconds": LEAST | {"seconds": -1},
    "a score in words": LEAST | {"score": "high"},
    "no moment": LEAST | {"created_at": "yesterday"},
    "a list for a text": LEAST | {"system": ["x"]},
    "spans without words": LEAST | {"spans": [{"field": "report"}]},
    "meta with a number without end": LEAST | {"meta": {"x": 10**40}},
    "meta without bottom": LEAST | {"meta": {"x": json.loads("[" * 70 + "]" * 70)}},
    "meta that is a list": LEAST | {"meta": []},
}
BROKEN = {
    "no JSON": b"{",
    "a list": b"[1]",
    "a key twice": b'{"item":"r","item":"r"}',
    "two objects on a line": b"{} {}",
    "NaN": json.dumps(LEAST | {"score": math.nan}).encode(),
    "a large number": json.dumps(LEAST).replace('"yes"', "1e999").encode(),
    "a NUL": json.dumps(LEAST | {"item": "a\0"}).encode(),
    "half a character": json.dumps(LEAST | {"item": "a\ud800"}).encode(),
    "no UTF-8": b'{"item":"\xff"}',
    "a raw NUL": b'{"item":"\0"}',
}


def file_of(folder: Path, lines: list[bytes], name: str = "labels.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def encoded(lines: list[Line]) -> list[bytes]:
    return [json.dumps(line, ensure_ascii=False).encode() for line in lines]


def by_line(path: Path) -> LabelColumns:
    made = columns._Columns()
    made.add_rows(read_labels(path))
    return made.done()


def metas(found: LabelColumns) -> dict[tuple[int, str], str]:
    """The requested members of each line's meta, by line and name."""
    given = {(n, name): text_of(row.meta, name) for n, row in found.rows.items() for name in METAS}
    for name, of in found.metas.items():
        for line, code in zip(of.lines.tolist(), of.codes.tolist(), strict=True):
            given[line, name] = of.values[code]
    return {place: text for place, text in given.items() if text is not None}


def said(found: LabelColumns) -> list[tuple[Any, ...]]:
    """The lines themselves, independent of how texts are numbered."""
    spans = {n: row.spans for n, row in found.rows.items() if row.spans is not None}
    texts = {name: [*found.values[name], None] for name in TEXTS}
    of_meta = metas(found)
    return [
        (*(texts[name][found.codes[name][n]] for name in TEXTS), int(found.replicate[n]),
         int(found.revision[n]), repr(float(found.score[n])), spans.get(n),
         *(of_meta.get((n, name)) for name in METAS))
        for n in range(len(found))
    ]  # fmt: skip


def error_of(read: Any) -> str:
    with pytest.raises(InputError) as error:
        read()
    return str(error.value)


@pytest.fixture(params=[4 * 1024 * 1024, 150], ids=["one block", "a block for every line or two"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.labels.file.columns.BLOCK", request.param)


@pytest.mark.every_case
@pytest.mark.usefixtures("blocks")
class TestOfJSONLines:
    @pytest.mark.parametrize("what", RIGHT)
    def test_reading_by_columns_gives_the_same_labels(self, tmp_path: Path, what: str) -> None:
        around = [LEAST | {"unit": f"before {n}"} for n in range(3)]
        path = file_of(tmp_path, encoded([*around, *RIGHT[what], *around[::-1]]))
        assert said(read_columns([path], METAS)) == said(by_line(path))

    @pytest.mark.parametrize("what", WRONG)
    def test_a_wrong_line_is_refused_with_the_same_message(self, tmp_path: Path, what: str) -> None:
        around = encoded([LEAST | {"unit": f"u{n}"} for n in range(5)])
        path = file_of(tmp_path, [*around, *encoded([WRONG[what]]), *around])
        message = error_of(lambda: read_columns([path]))
        assert message == error_of(lambda: list(read_labels(path)))
        assert "line 6" in message

    @pytest.mark.parametrize("what", BROKEN)
    def test_a_malformed_line_is_refused_with_the_same_message(
        self, tmp_path: Path, what: str
    ) -> None:
        around = encoded([LEAST])
        path = file_of(tmp_path, [*around, b"", BROKEN[what], *around])
        message = error_of(lambda: read_columns([path]))
        assert message == error_of(lambda: list(read_labels(path)))
        assert "line 3" in message

    def test_blank_lines_and_windows_line_ends_change_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.jsonl"
        lines = encoded([LEAST | {"unit": f"u{n}"} for n in range(4)])
        path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([*lines[:2], b"", *lines[2:]]))
        assert said(read_columns([path], METAS)) == said(by_line(path))


def test_plain_lines_never_need_the_line_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [LEAST | {"unit": f"u{n}", "score": n / 7, "query": "é"} for n in range(50)]
    path = file_of(tmp_path, encoded(lines))
    rated = [LEAST | {"unit": f"u{n}", "value": n, "meta": {"kind": n}} for n in range(50)]
    numbers = file_of(tmp_path, encoded(rated), "ratings.jsonl")
    cells = [
        ",".join(LEAST),
        *(",".join(map(str, {**LEAST, "unit": n}.values())) for n in range(9)),
    ]
    table = file_of(tmp_path, [line.encode() for line in cells], "labels.csv")
    binary = tmp_path / "labels.parquet"
    pq.write_table(pa.Table.from_pylist([{**line, "item": 7} for line in lines]), binary)
    for name in ("read_labels", "rows_in"):
        monkeypatch.setattr(f"tandem.labels.file.columns.{name}", None)
    assert len(read_columns([path, table, binary])) == 109
    found = read_columns([numbers], METAS)
    assert (len(found), found.rows, metas(found)[49, "kind"]) == (50, {}, "49")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("more", "is_plain"),
    [
        ("law", True),
        ([{"x": [1, 2]}], True),
        (1.5, False),
        ([{"x": [1.5]}], False),
        (json.loads("[" * (DEEPEST - 2) + "]" * (DEEPEST - 2)), True),
        (json.loads("[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)), False),
    ],
)
def test_only_nested_or_fractional_meta_needs_the_line_reader(
    tmp_path: Path, more: Any, is_plain: bool
) -> None:
    path = file_of(tmp_path, encoded([LEAST | {"meta": {"kind": 7, "more": more}}]))
    found = read_columns([path], METAS)
    assert list(found.rows) == ([] if is_plain else [0])
    assert metas(found) == {(0, "kind"): "7"}


PARQUET: dict[str, list[Line]] = {
    "texts": [LEAST, LEAST | {"unit": "p", "query": "q", "value": "no"}],
    "whole numbers": [LEAST | {"value": n, "query": n, "replicate": n} for n in (1, 2)],
    "broken numbers": [LEAST | {"value": n, "score": n} for n in (0.1, 0.1 + 0.2, 3.0)],
    "truths": [LEAST | {"exposed": True}, LEAST | {"unit": "p", "exposed": None}],
    "missing labels": [LEAST | {"value": None, "missing": "refused"}],
    "an empty column": [LEAST | {"query": None, "kind": None}],
    "spans and meta": [LEAST | {"spans": [SPAN], "meta": '{"domain": "law"}'}],
}


@pytest.mark.parametrize("what", PARQUET)
def test_parquet_is_read_by_columns_as_row_by_row(tmp_path: Path, what: str) -> None:
    path = tmp_path / "f"
    pq.write_table(pa.Table.from_pylist(PARQUET[what]), path)
    assert said(read_columns([path], METAS)) == said(by_line(path))


@pytest.mark.parametrize(
    "wrong",
    [{"value": True}, {"value": " "}, {"value": "a\0"}, {"rater": ""}, {"replicate": -1},
     {"colour": "red"}, {"value": float("inf")}, {"unit": 0.5}],
)  # fmt: skip
def test_an_error_in_parquet_is_the_line_readers(tmp_path: Path, wrong: Line) -> None:
    path = tmp_path / "f"
    pq.write_table(pa.Table.from_pylist([LEAST | wrong]), path)
    with pytest.raises(InputError) as by_columns:
        read_columns([path])
    with pytest.raises(InputError) as by_rows:
        list(read_labels(path))
    assert str(by_columns.value) == str(by_rows.value)


def test_only_a_block_with_an_unclear_line_is_read_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tandem.labels.file.columns.BLOCK", 400)
    odd = LEAST | {"unit": "odd", "replicate": 1.0}
    lines = [LEAST | {"unit": f"u{n}"} for n in range(40)]
    path = file_of(tmp_path, encoded([*lines[:20], odd, *lines[20:]]))
    read: list[int] = []
    by_line, of = columns._Columns.add_rows, columns._Columns

    def counted(self: Any, rows: Any) -> None:
        before = self.lines
        by_line(self, rows)
        read.append(self.lines - before)

    monkeypatch.setattr(of, "add_rows", counted)
    assert len(read_columns([path])) == 41
    assert len(read) == 1
    assert read[0] < 10


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.csv"])
@pytest.mark.parametrize("content", [b"", b"\n\n", b"item,unit\n"])
def test_a_file_without_labels_is_refused_with_the_same_message(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert error_of(lambda: read_columns([path])) == error_of(lambda: list(read_labels(path)))


def test_a_missing_file_is_refused_with_the_same_message(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path / "none.csv", tmp_path):
        assert error_of(lambda p=path: read_columns([p])) == error_of(
            lambda p=path: list(read_labels(p))
        )


CSV = {
    "numbers": "item,unit,variable,rater,value,replicate,score\nr,q,v,Ada,3,1,0.5\nr,p,v,Ada,4,,1",
    "defused cells": "item,unit,variable,rater,value\n'=r,q,v,'-Ada,yes",
    "quotes": 'item,unit,variable,rater,value\n"r,1",q,v,Ada,yes',
    "a line end in a cell": 'item,unit,variable,rater,value\n"r\n1",q,v,Ada,yes\nr,p,v,Ada,no',
    "spans": 'item,unit,variable,rater,value,spans\nr,q,v,Ada,yes,"[{""text"": ""x""}]"',
    "blank lines": "item,unit,variable,rater,value\n\nr,q,v,Ada,yes\n\nr,p,v,Ada,no",
    "a missing label": "item,unit,variable,rater,value,missing\nr,q,v,Ada,,refused",
    "words that seem to be nothing": "item,unit,variable,rater,value\nnull,NA,v,nan,None",
}
WRONG_CSV = {
    "an unknown column": "item,unit,variable,rater,valeu\nr,q,v,Ada,yes",
    "a column twice": "item,unit,variable,rater,value,value\nr,q,v,Ada,yes,yes",
    "a cell too few": "item,unit,variable,rater,value\nr,q,v,Ada,yes\nr,q,v,Ada",
    "a number with a plus": "item,unit,variable,rater,value,score\nr,q,v,Ada,yes,+1",
    "a number in words": "item,unit,variable,rater,value,replicate\nr,q,v,Ada,yes,two",
    "no value": "item,unit,variable,rater,value\nr,q,v,Ada,",
    "broken quotes": 'item,unit,variable,rater,value\nr,q,v,Ada,"yes',
}


@pytest.mark.every_case
@pytest.mark.parametrize("what", CSV)
def test_reading_a_csv_by_columns_gives_the_same_labels(tmp_path: Path, what: str) -> None:
    path = file_of(tmp_path, [CSV[what].encode()], "labels.csv")
    assert said(read_columns([path], METAS)) == said(by_line(path))


@pytest.mark.every_case
@pytest.mark.parametrize("what", WRONG_CSV)
def test_a_wrong_csv_is_refused_with_the_same_message(tmp_path: Path, what: str) -> None:
    path = file_of(tmp_path, [WRONG_CSV[what].encode()], "labels.csv")
    assert error_of(lambda: read_columns([path])) == error_of(lambda: list(read_labels(path)))
