"""The forms of an export's file: JSON Lines, CSV, TREC's formats, JSON, Parquet, and workbooks.

Each is written in constant memory. A new form is an entry in `FORMS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.exports.web_annotations import CONTEXT, iri
from annotation.exports.workbook import XLSX, UnfitError, xlsx_pieces
from tandem.files.spreadsheet import write_rows

Lines = Iterator[Mapping[str, Any]]


class BlankError(UnfitError):
    """An identifier contains a blank, which separates columns in TREC's form."""


@dataclass(frozen=True)
class Subject:
    """The content of a file: the export's name, its columns, and the campaign's name."""

    what: str
    columns: Sequence[str]
    campaign: str


@dataclass(frozen=True)
class Form:
    """One form of a file. `write(subject, lines)` yields the file in pieces.

    Every table may be exported in a form that `holds_tables`.
    """

    suffix: str
    media_type: str
    label: str
    write: Callable[[Subject, Lines], Iterator[bytes]]
    holds_tables: bool = False


def _lines(subject: Subject, lines: Lines) -> Iterator[bytes]:
    return (_encoded(line) + b"\n" for line in lines)


def _csv(subject: Subject, lines: Lines) -> Iterator[bytes]:
    return (text.encode("utf-8") for text in write_rows(subject.columns, lines))


def _trec(subject: Subject, lines: Lines) -> Iterator[bytes]:
    for line in lines:
        cells = [str(line[name]) for name in subject.columns]
        for cell in cells:
            if cell.split() != [cell]:
                raise BlankError(f"The id {cell!r} contains a blank; use --format jsonl or csv")
        yield (" ".join(cells) + "\n").encode("utf-8")


def _json(subject: Subject, lines: Lines) -> Iterator[bytes]:
    opening = b"["
    for line in lines:
        yield opening + b"\n" + _encoded(line)
        opening = b","
    yield b"[]\n" if opening == b"[" else b"\n]\n"


def _jsonld(subject: Subject, lines: Lines) -> Iterator[bytes]:
    """Yield one collection with one page. The total comes last, when it is known."""
    name = iri("campaign", subject.campaign, subject.what)
    head = {"@context": CONTEXT, "id": name, "type": "AnnotationCollection"}
    head |= {"label": f"{subject.campaign}: {subject.what}"}
    page = {"id": f"{name}:page", "type": "AnnotationPage", "startIndex": 0}
    yield _open(head) + b', "first": ' + _open(page) + b', "items": ['
    total = 0
    for line in lines:
        item = {key: value for key, value in line.items() if key != "@context"}
        yield (b"," if total else b"") + b"\n" + _encoded(item)
        total += 1
    yield b'\n]}, "total": ' + str(total).encode() + b"}\n"


def _parquet(subject: Subject, lines: Lines) -> Iterator[bytes]:
    # Imported here, because loading takes time and memory that no other form needs.
    from annotation.exports.parquet import parquet_pieces

    return parquet_pieces(subject.what, lines, subject.columns)


def _xlsx(subject: Subject, lines: Lines) -> Iterator[bytes]:
    return xlsx_pieces(subject.what, subject.columns, lines)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")


def _open(value: Mapping[str, Any]) -> bytes:
    """Return a JSON object without its closing brace."""
    return _encoded(value).removesuffix(b"}")


FORMS: dict[str, Form] = {
    "jsonl": Form("jsonl", "application/x-ndjson", "JSON Lines", _lines, True),
    "csv": Form("csv", "text/csv; charset=utf-8", "CSV", _csv, True),
    "parquet": Form(
        "parquet", "application/vnd.apache.parquet", "Parquet", _parquet, holds_tables=True
    ),
    "xlsx": Form("xlsx", XLSX, "Excel workbook", _xlsx, True),
    "trec": Form("txt", "text/plain; charset=utf-8", "TREC qrels", _trec),
    "json": Form("json", "application/json", "JSON", _json),
    "jsonld": Form("jsonld", "application/ld+json", "JSON-LD", _jsonld),
}
