"""Files that nobody writes by accident are refused with a message, whatever reads them."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Response
from datasets.models import Batch
from datasets.readers import READERS
from tandem.files.rows import InputError
from tests import cast
from tests.cast import load

LABEL = {"item": "r1", "unit": "q1", "variable": "answerable", "value": "yes", "rater": "ada"}


def line(**values: object) -> str:
    return json.dumps(LABEL | {"id": "q", "text": "What?"} | values)


def workbook(sheet: str) -> bytes:
    """Return an Excel file whose sheet has this XML."""
    from openpyxl import Workbook

    plain, made = io.BytesIO(), io.BytesIO()
    Workbook().save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, sheet if name.endswith("sheet1.xml") else old.read(name))
    return made.getvalue()


MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1 or str()};" * 10}">' for n in range(1, 9))
    + f"]><worksheet {MAIN}><sheetData><row><c t='str'><v>&a8;</v></c></row>"
    + "</sheetData></worksheet>"
)
FILES: dict[str, tuple[str, bytes]] = {
    "deep lists": ("x.jsonl", ('{"id": ' + "[" * 100_000 + "]" * 100_000 + "}").encode()),
    "deep objects": ("x.jsonl", ('{"a": ' * 50_000 + "1" + "}" * 50_000).encode()),
    "an unclosed list": ("x.json", b"[" * 200_000),
    "a deep JSON list": ("x.json", b"[" * 100_000 + b"]" * 100_000),
    "a huge number": ("x.jsonl", line().replace('"ada"', "9" * 5000).encode()),
    "a huge exponent": ("x.jsonl", line().replace('"ada"', "1e999999999").encode()),
    "a number for a text": ("x.jsonl", line(rater=12).encode()),
    "a huge replicate": ("x.jsonl", line(replicate=10**25).encode()),
    "not a number": ("x.jsonl", line().replace('"ada"', "NaN").encode()),
    "half a surrogate pair": ("x.jsonl", line(rater="\ud800").encode()),
    "a NUL": ("x.jsonl", line(rater="a\0").encode()),
    "a month that does not exist": ("x.jsonl", line(created_at="2026-13-01").encode()),
    "a year of no calendar": ("x.jsonl", line(created_at="0000-01-01T00:00:00Z").encode()),
    "the first moment of all": ("x.jsonl", line(created_at="0001-01-01T00:00:00+14:00").encode()),
    "the last moment of all": ("x.jsonl", line(created_at="9999-12-31T23:59:59-14:00").encode()),
    "no UTF-8": ("x.jsonl", b'{"id": "\xff"}'),
    "UTF-16": ("x.jsonl", line().encode("utf-16")),
    "a key twice": ("x.jsonl", b'{"id": "a", "id": "b"}'),
    "a byte order mark inside": ("x.jsonl", ("\ufeff" * 3 + line()).encode()),
    "only line ends": ("x.jsonl", b"\n\r\n\x85" * 99),
    "a cell of many characters": ("x.csv", b"item,unit\n" + b'"' + b"a" * 300_000 + b'"'),
    "an open quotation mark": ("x.csv", b'item,unit,variable,value,rater\n"r1,q1'),
    "many columns": ("x.csv", b"a," * 50_000 + b"\n"),
    "a column twice": ("x.csv", b"item,item\n1,2\n"),
    "a CSV with NUL": ("x.csv", b"item,unit\n\0,1\n"),
    "nested JSON in a cell": (
        "x.csv",
        b"item,unit,variable,value,rater,spans\nr1,q1,answerable,yes,ada," + b"[" * 90_000 + b"\n",
    ),
    "a sheet of entities": ("x.xlsx", workbook(ENTITIES)),
    "a sheet that is not closed": ("x.xlsx", workbook(f"<worksheet {MAIN}><sheetData><row>")),
    "a deep sheet": ("x.xlsx", workbook(f"<worksheet {MAIN}>" + "<a>" * 9000 + "</a>" * 9000)),
    "a cell at the end of the world": (
        "x.xlsx",
        workbook(
            f"<worksheet {MAIN}><sheetData><row r='999999999999'><c r='ZZZZZZ9' t='n'><v>"
            f"{'9' * 5000}</v></c></row></sheetData></worksheet>"
        ),
    ),
    "a date that does not exist": (
        "x.xlsx",
        workbook(
            f"<worksheet {MAIN}><sheetData><row><c t='d'><v>2026-13-45</v></c></row></sheetData>"
            "</worksheet>"
        ),
    ),
    "an archive that is none": ("x.xlsx", b"PK\x03\x04" + b"\0" * 400),
    "Parquet that is none": ("x.parquet", b"PAR1" + b"\xff" * 400 + b"PAR1"),
}


def refused_or_read(act: Callable[[], object]) -> None:
    before = time.process_time()
    with suppress(CommandError, InputError):
        act()
    assert time.process_time() - before < 10


@pytest.mark.parametrize(("name", "content"), FILES.values(), ids=FILES)
def test_a_batch_is_read_or_refused(db: None, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for number, kind in enumerate((None, *READERS)):
        refused_or_read(
            lambda kind=kind, number=number: call_command(  # type: ignore[misc]
                "load_batch", str(path), name=f"b{number}", format=kind
            )
        )
    assert not Batch.objects.filter(queries=None).exists()


@pytest.mark.parametrize(("name", "content"), FILES.values(), ids=FILES)
def test_labels_are_read_or_refused(db: None, tmp_path: Path, name: str, content: bytes) -> None:
    load(tmp_path, cast.BATCH)
    create_campaign("c", "report-coverage", Batch.objects.get(name="b"), Design())
    path = tmp_path / name
    path.write_bytes(content)
    refused_or_read(lambda: call_command("import_labels", str(path), campaign="c"))
    refused_or_read(lambda: call_command("report", labels=[path]))
    assert not Response.objects.exists()
