"""Recognise files that a reader cannot take, to say what they are and where they belong.

A file is recognised by its first bytes, its first line, or the keys of its first object. What is
declared here is the end of an error message: what the file is, and what to do with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tandem.files.rows import InputError, Place
from tandem.verbs import verb_of

LONGEST = 1000
"""As much of a line decides, so that a long one takes no time."""
Door = Literal["batch", "labels"]
"""Where a file is taken: as a batch, or as labels."""

DOORS: Mapping[Door, str] = {"batch": "a batch", "labels": "labels"}
_SCHEMA = f"`{verb_of('batch_format')}` shows the format"
_LOAD = f"load it with `{verb_of('load_batch')}`"
_IMPORT = f"import it into a campaign with `{verb_of('import_labels')}`"
_UNPACK = "unpack it, and name the files in it"
_TABLE = "save the sheet as CSV in UTF-8"
_TEXT = f"copy its texts into JSON Lines; {_SCHEMA}"
_PICKLE = "write the data as JSON Lines, in pandas with to_json(path, orient='records', lines=True)"
_ARRAYS = "write the data as JSON Lines"


@dataclass(frozen=True)
class FileKind:
    """What a file is, and what to do with it. `door` is where it is taken, None for nowhere."""

    name: str
    remedy: str
    door: Door | None = None


_BYTES: tuple[tuple[bytes, FileKind], ...] = (
    (b"%PDF-", FileKind("a PDF", _TEXT)),
    (b"{\\rtf", FileKind("a text document (RTF)", _TEXT)),
    (b"\x1f\x8b", FileKind("a gzip archive", _UNPACK)),
    (b"BZh", FileKind("a bzip2 archive", _UNPACK)),
    (b"\xfd7zXZ", FileKind("an xz archive", _UNPACK)),
    (b"7z\xbc\xaf\x27\x1c", FileKind("a 7-Zip archive", _UNPACK)),
    (b"Rar!", FileKind("a RAR archive", _UNPACK)),
    (b"\x28\xb5\x2f\xfd", FileKind("a Zstandard archive", _UNPACK)),
    (b"PAR1", FileKind("a Parquet file", _ARRAYS)),
    (b"ARROW1", FileKind("an Arrow file", _ARRAYS)),
    (b"\xff\xff\xff\xff", FileKind("an Arrow file", _ARRAYS)),
    (b"\x89HDF", FileKind("an HDF5 file", _ARRAYS)),
    (b"\x93NUMPY", FileKind("a NumPy array", _ARRAYS)),
    (b"SQLite format 3", FileKind("an SQLite database", _ARRAYS)),
    (b"\xd0\xcf\x11\xe0", FileKind("an old Office file, such as .xls or .doc", _TABLE)),
    (b"$FL2", FileKind("an SPSS file", _TABLE)),
    (b"<stata_dta>", FileKind("a Stata file", _TABLE)),
    (b"\x89PNG", FileKind("an image", _TEXT)),
    (b"\xff\xd8\xff", FileKind("an image", _TEXT)),
    (b"GIF8", FileKind("an image", _TEXT)),
)
_ZIP = b"PK\x03\x04"
WORKBOOKS = (
    FileKind("an Excel workbook", _TABLE),
    FileKind("an Office file, such as .xlsx or .docx", _TABLE),
)
"""Archives that may be workbooks, whose reader looks into them."""
_INSIDE: tuple[tuple[bytes, FileKind], ...] = (
    (b"opendocument.spreadsheet", FileKind("an OpenDocument spreadsheet", _TABLE)),
    (b"opendocument.text", FileKind("an OpenDocument text", _TEXT)),
    (b"word/", FileKind("a Word document", _TEXT)),
    (b"xl/", WORKBOOKS[0]),
    (b"[Content_Types].xml", WORKBOOKS[1]),
    (b"data.pkl", FileKind("a PyTorch file", _PICKLE)),
    (b".npy", FileKind("an archive of NumPy arrays", _ARRAYS)),
)
_PICKLED = re.compile(
    rb"\x80[\x02-\x05]|c(?:pandas|numpy|copy_reg|__builtin__|builtins)[\w.]*\r?(?:\n|$)"
)

TREC_RUN = FileKind(
    "a TREC run, which ranks passages and has no queries, texts or labels",
    "load it with the answers that it belongs to, or put the rankings into a batch, under "
    f"`rankings` of each query; {_SCHEMA}",
)
TABLE = FileKind("a table, not JSON Lines", f"write one JSON object on each line; {_SCHEMA}")
PLAIN = FileKind("plain text", f"write JSON Lines; {_SCHEMA}")
_LINES: tuple[tuple[str, FileKind], ...] = (
    (r"\S+\s+Q0\s+\S+\s+[+-]?\d+\s+[-+.\deE]+\s+\S+\s*", TREC_RUN),
    (
        r"\S+[ \t]+(?=\S*\d)\S+[ \t]+\S+[ \t]+-?\d+\s*",
        FileKind(
            "TREC qrels, which have grades and no raters",
            f"{_IMPORT}, and name the rater with --rater",
        ),
    ),
    (
        r"(?i)\s*(?:<!doctype html|<html|<head|<body).*",
        FileKind("a web page (HTML), perhaps of a log-in", "download the file itself"),
    ),
    (r"\s*<(?:top|topics|topic)\b.*", FileKind("a file of TREC topics", _TEXT)),
    (
        r"\s*<View\b.*",
        FileKind("a labelling interface of Label Studio", "export the tasks as JSON"),
    ),
    (r"\s*<\?xml.*|\s*<[a-zA-Z][\w:-]*[\s>/].*", FileKind("XML", _TEXT)),
    (
        r"(?=.*\bitem\b)(?=.*\bunit\b)(?=.*\bvariable\b)[^{}]*",
        FileKind("a labels file", _IMPORT, "labels"),
    ),
    (
        r"(?=.*\bannotation_id\b)(?=.*\bannotator\b)[^{}]*",
        FileKind("Label Studio's export as a table", "export the project as JSON"),
    ),
    (
        r"\s*\[\[?[\w.\"-]+\]\]?\s*(?:#.*)?|\w+ = \S.*",
        FileKind(
            "TOML, as of a study, a judge or a protocol",
            f"apply a study with `{verb_of('apply_study')}`, and create a judge with "
            f"`{verb_of('create_judge')}`",
        ),
    ),
    (r"\s*\{\s*'.*", FileKind("Python's notation, not JSON", "write each line with json.dumps")),
    (r"---\s*|[\w-]+:\s*", FileKind("YAML", "write it as JSON Lines")),
    (
        r"[^{}\[\]]*\t[^{}\[\]]*|(?:[\w.\"'-]*(?: [\w.\"'-]+)?[,;])+[\w.\"'-]*(?: [\w.\"'-]+)?\s*",
        TABLE,
    ),
    (r"[^{}\[\]\"]*[^\W\d_][^{}\[\]\"]*", PLAIN),
)
_PATTERNS = tuple((re.compile(pattern), kind) for pattern, kind in _LINES)

_EXPORT = "write a labels file from it, with item, unit, variable, value and rater on each line"
_STUDIO = f"{_LOAD}, create a campaign over it, and {_IMPORT}"
_ANSWERS = FileKind("answers of TREC's RAG Track", _LOAD, "batch")
_OBJECTS: tuple[tuple[frozenset[str], FileKind], ...] = tuple(
    (frozenset(keys.split()), kind)
    for keys, kind in (
        (
            "item unit field start end",
            FileKind("Tandem's export of spans", "take its export of labels, which has spans, too"),
        ),
        ("item unit variables texts", FileKind("Tandem's export of units", "take another export")),
        ("item unit variable", FileKind("a labels file", _IMPORT, "labels")),
        ("item units", FileKind("a file of whole answers", _IMPORT, "labels")),
        ("answerability", FileKind("a file of CRUX's labels", _IMPORT, "labels")),
        ("relevances", FileKind("a file of CRUX's labels", _IMPORT, "labels")),
        ("qid response", FileKind("CRUX's labelling file", _LOAD, "batch")),
        ("sample_id question grounding", FileKind("GaRAGe's benchmark", _LOAD, "batch")),
        ("_id text", FileKind("a corpus or queries of BEIR", f"write them as a batch; {_SCHEMA}")),
        ("answer references topic_id", _ANSWERS),
        ("answer references metadata", _ANSWERS),
        (
            "custom_id response",
            FileKind(
                "results of a batch service",
                f"load them with `{verb_of('run_judge')} --batch-file`",
            ),
        ),
        ("data annotations", FileKind("Label Studio's export", _STUDIO)),
        ("data predictions", FileKind("Label Studio's export", _STUDIO)),
        ("annotator annotation_id", FileKind("Label Studio's JSON_MIN", _STUDIO)),
        ("_input_hash _task_hash", FileKind("an export of Prodigy", _EXPORT)),
        ("id text", FileKind("a batch", _LOAD, "batch")),
    )
)


def kind_of_bytes(head: bytes) -> FileKind | None:
    """Return what a file is that is not text, by its first bytes."""
    if head.startswith(_ZIP):
        inside = next((kind for mark, kind in _INSIDE if mark in head), None)
        return inside or FileKind("a ZIP archive", _UNPACK)
    if _PICKLED.match(head):
        return FileKind("a Python pickle, which could run code and is not opened", _PICKLE)
    if head[257:262] == b"ustar":
        return FileKind("a tar archive", _UNPACK)
    return next((kind for mark, kind in _BYTES if head.startswith(mark)), None)


def kind_of_line(line: str) -> FileKind | None:
    """Return what a text file is that is not JSON, by its first line."""
    start = line[:LONGEST]
    return next((kind for pattern, kind in _PATTERNS if pattern.fullmatch(start)), None)


def kind_of_object(record: Mapping[str, Any]) -> FileKind | None:
    """Return what a JSON file is, by the keys of an object."""
    return next((kind for keys, kind in _OBJECTS if record.keys() >= keys), None)


def refuse_object(record: Mapping[str, Any], place: Place, door: Door) -> None:
    """Raise InputError if an object belongs to another door, or to none."""
    kind = kind_of_object(record)
    if kind is not None and kind.door != door:
        raise InputError(place, f"this is {kind.name}, not {DOORS[door]}", kind.remedy)


def refuse_header(cells: Sequence[str], place: Place) -> None:
    """Raise InputError if the first line of a CSV file shows that it is something else."""
    kind = kind_of_line(",".join(cells))
    if kind not in (TABLE, PLAIN) and kind is not None and kind.door is None:
        refuse_kind(kind, place)


def refuse_kind(kind: FileKind | None, place: Place) -> None:
    """Raise InputError for a file of a kind that cannot be read."""
    if kind is not None:
        raise InputError(Place(place.file), f"the file is {kind.name}", kind.remedy)
