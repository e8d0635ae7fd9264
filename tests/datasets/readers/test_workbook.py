"""Workbooks of spreadsheets: the first sheet is read, and a hostile archive is refused early."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from tandem.files import workbook
from tandem.files.rows import InputError, ReadNotes
from tandem.files.tables import form_of, open_table

SHEET = "xl/worksheets/sheet1.xml"


def book(path: Path, *rows: list[Any], **sheets: list[list[Any]]) -> Path:
    made = Workbook()
    for row in rows:
        made.active.append(row)
    for title, cells in sheets.items():
        sheet = made.create_sheet(title)
        for row in cells:
            sheet.append(row)
    made.save(path)
    return path


def rows(path: Path, notes: ReadNotes | None = None) -> list[tuple[int, dict[str, Any]]]:
    return list(open_table(path, notes or ReadNotes()).rows)


def patched(path: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """Change the parts of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, change(name, content))
    return path


def in_sheet(old: bytes, new: bytes) -> Callable[[str, bytes], bytes]:
    return lambda name, content: content.replace(old, new) if name == SHEET else content


def test_cells_have_their_types_and_rows_their_numbers(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", ["a", "b", "c"], [], [1, 0.5, "x"], [None, True, " "])
    assert rows(path) == [(3, {"a": 1, "b": 0.5, "c": "x"}), (4, {"b": True})]


def test_a_workbook_is_recognised_by_its_content(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", ["a"], [1]).rename(tmp_path / "labels.csv")
    assert form_of(path) == "xlsx"
    assert rows(path) == [(2, {"a": 1})]


def test_only_the_first_sheet_with_cells_is_read_and_a_remark_names_others(tmp_path: Path) -> None:
    notes = ReadNotes()
    path = book(tmp_path / "b.xlsx", labels=[["a"], [1]], codebook=[["z"], [2]])
    assert rows(path, notes) == [(2, {"a": 1})]
    (remark,) = notes.warnings
    assert 'only the sheet "labels" was read, not "codebook"' in remark


def test_a_formula_counts_with_its_stored_result(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", ["a"], ["=1+1"])
    stored = in_sheet(b"<v></v>", b"<v>2</v>")
    patched(path, lambda name, content: stored(name, content.replace(b"<v />", b"<v></v>")))
    assert rows(path) == [(2, {"a": 2})]


def test_a_formula_without_a_result_is_refused_with_its_cell(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", ["a", "b"], ["x", "=1+1"])
    with pytest.raises(InputError, match="line 2: cell B2 is a formula without a stored result"):
        rows(path)


def test_escaped_characters_are_read(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", ["a"], ["x_x000D_\ny"])
    assert rows(path) == [(2, {"a": "x\r\ny"})]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "b.xlsx",
            b"PK\x03\x04 and xl/ alone",
            "is a broken ZIP archive or workbook; save it again",
        ),
        ("b.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old Office file, such as .xls or"),
        ("b.csv.gz", b"\x1f\x8b\x08", "is a gzip archive; unpack it"),
    ],
)
def test_other_binary_files_are_named(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        rows(path)
    assert said in str(caught.value)


def archive_of(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"labels.csv": b"a\n1\n"}, "is a ZIP archive; unpack it"),
        (
            {"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b""},
            "is an OpenDocument spreadsheet; save the sheet as CSV",
        ),
        ({"[Content_Types].xml": b"", "xl/workbook.bin": b""}, "is a binary workbook (xlsb)"),
        (
            {"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"},
            "is an Excel workbook that cannot be read",
        ),
    ],
)
def test_other_archives_are_named(tmp_path: Path, parts: dict[str, bytes], said: str) -> None:
    with pytest.raises(InputError) as caught:
        rows(archive_of(tmp_path / "b.xlsx", parts))
    assert said in str(caught.value)


class TestHostileWorkbooks:
    def test_one_that_is_too_large_unpacked_is_refused_before_it_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(workbook, "MAX_UNPACKED", 10_000)
        path = book(tmp_path / "b.xlsx", ["a"], *([["x" * 50]] * 2000))
        with pytest.raises(InputError, match=r"is too large: \d+ parts with .*; save the sheet as"):
            rows(path)

    def test_one_with_too_many_parts_is_refused(self, tmp_path: Path) -> None:
        extra = {f"xl/{n}.xml": b"" for n in range(workbook.MAX_PARTS)}
        path = archive_of(tmp_path / "b.xlsx", {"[Content_Types].xml": b"", **extra})
        with pytest.raises(InputError, match="is too large: 1001 parts"):
            rows(path)

    def test_a_row_far_below_the_sheets_end_is_refused(self, tmp_path: Path) -> None:
        path = book(tmp_path / "b.xlsx", ["a"], [1])
        change = in_sheet(b'r="2"', b'r="4000000000"')
        patched(path, lambda n, c: change(n, c.replace(b'r="A2"', b'r="A4000000000"')))
        with pytest.raises(InputError, match="has more than 1,048,576 rows"):
            rows(path)

    def test_a_cell_far_right_is_refused(self, tmp_path: Path) -> None:
        path = patched(book(tmp_path / "b.xlsx", ["a"], [1]), in_sheet(b'"A2"', b'"ZZZ2"'))
        with pytest.raises(InputError, match="or 2,000 columns; save the sheet as CSV"):
            rows(path)

    def test_a_stated_size_of_the_sheet_is_not_believed(self, tmp_path: Path) -> None:
        path = book(tmp_path / "b.xlsx", ["a"], [1])
        patched(path, in_sheet(b'ref="A1:A2"', b'ref="A1:XFD1048576"'))
        assert rows(path) == [(2, {"a": 1})]

    def test_entities_are_not_expanded(self, tmp_path: Path) -> None:
        lines = [b'<!ENTITY a0 "laughter">']
        lines += [b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12)]
        bomb = b"<!DOCTYPE worksheet [%s]>" % b"".join(lines)

        def change(name: str, content: bytes) -> bytes:
            if name != SHEET:
                return content
            return bomb + content.replace(b"<v>1</v>", b"<v>&a11;</v>")

        path = patched(book(tmp_path / "b.xlsx", ["a"], [1]), change)
        with pytest.raises(InputError, match=r"workbook that cannot be read \(.*Entit.*Forbidden"):
            rows(path)

    def test_a_file_on_the_server_is_not_read(self, tmp_path: Path) -> None:
        secret = tmp_path / "secret.txt"
        secret.write_text("7", "utf-8")
        bomb = f'<!DOCTYPE worksheet [<!ENTITY a SYSTEM "file://{secret}">]>'.encode()

        def change(name: str, content: bytes) -> bytes:
            if name != SHEET:
                return content
            return bomb + content.replace(b"<v>1</v>", b"<v>&a;</v>")

        path = patched(book(tmp_path / "b.xlsx", ["a"], [1]), change)
        with pytest.raises(InputError, match=r"workbook that cannot be read \(.*Entit.*Forbidden"):
            rows(path)
