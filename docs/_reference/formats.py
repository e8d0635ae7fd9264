"""Reference page of the file formats: batches, labels, responses, exports, the report's JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, fields
from inspect import getmodule

from annotation.answers.submission import REASONS
from annotation.exports import label_studio, parquet, web_annotations
from annotation.exports.bundles import BUNDLES
from annotation.exports.contents import EXPORTS
from annotation.exports.writers import FORMS
from annotation.imports import responses as response_rows
from datasets.material import FORMAT_FILES, properties_of
from datasets.readers import READERS
from docs._reference import measures, reports
from docs._reference.words import code, codes, meaning, page, plain, table
from tandem.document import Format
from tandem.files import rows as batch
from tandem.formats import FORMATS, facts
from tandem.labels.file import rows as label_rows
from tandem.labels.file.reader import KINDS

PARTS = (
    batch.Query,
    batch.Turn,
    batch.Question,
    batch.Passage,
    batch.KeyPoint,
    batch.Nugget,
    batch.AnswerPoint,
    batch.Report,
    batch.Ranking,
    batch.Reference,
)
KINDS_OF_VALUE = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "Meta": "object",
    "Mapping[str, Any]": "object",
    "tuple[str, ...]": "list of texts",
    "tuple[tuple[str, ...], ...]": "list of lists of texts",
    "tuple[SpanRow, ...]": "list of [spans](#a-span)",
}

OPENING = """\
For people who write or read files: every key and column of input and output. Later versions may
add keys, and never rename one.

All files are UTF-8. Only the newline character separates JSON Lines. Texts are kept as they are.
Every position counts Unicode code points from 0, and the end is exclusive: in Python,
`text[start:end] == quote`.
"""
BATCH = """\
One line of JSON Lines, entry of a JSON array or row of Parquet is one query with everything that
belongs to it. Unknown keys are refused with their line,
since most are typing errors; data of your own goes under `meta`. Ids are unique in the batch and
compared exactly. Several queries may have the same passage only if its text is the same.
"""
LABELS = """\
One line is one label by one rater: JSON Lines, a JSON array, or a
[table](../how-to/bring-labels.md#tables) as CSV, TSV, Parquet or xlsx, with the columns in any
order. In cells, `spans` and `meta` are JSON strings. `tandem export --campaign C --what labels`
writes this format, and `tandem labels import` and `tandem report --labels` read it. A first line
`{"scales": {"rating": "1,2,3:ordinal"}}`, before the header of CSV and xlsx
`#scale rating=1,2,3:ordinal`, declares the codes of a variable in their order.
"""
FORMS_TOLD = """\
All forms are streamed, and a million labels take no more memory than ten. In CSV, an apostrophe
precedes a cell that a spreadsheet would run as a formula, and `tandem labels import` removes it.
The other forms contain every text as it is; in xlsx it is a cell of text. With `--bom`, CSV begins
with a byte order mark, by which Excel recognises UTF-8.
"""
FOLDERS = """\
Use `--output FOLDER`, with a folder that does not exist or is empty. Its `manifest.json` names the
campaign and the batch, the time and the version of Tandem, the numbers of items, units, labels,
spans and raters, and for each file its rows, bytes, SHA-256, columns, and whether its cells were
made safe for spreadsheets (`defused`). For a single file, `--manifest M` writes the same.
"""
MEASURES = """\
`tandem measures`, the page of measures and the API write this JSON. Every estimate is an object as
in the report. CSV has system rankings, slices, tests of pairs and orders of evaluators, with one
number in each row. Words in capitals stand for names.
"""
REPORT = """\
`tandem report --format json` writes this JSON. An *estimate* is an object
`{"value", "low", "high", "n", "method"}` with a 95 % interval over `n` units. `low` and `high` are
null if no interval is defined, or if there are fewer than ten queries. `value` is null if the
statistic is undefined, and `reason` says why. No number is NaN or infinite. Words in capitals stand
for names that are data.
"""


FACTS = "One row a number, in full precision; what does not apply to it is empty."


def write() -> str:
    return page("Formats", OPENING, *_batch(), *_labels(), *_exports(), *_report())


def _batch() -> Iterator[str]:
    yield f"## The batch file\n\n{BATCH}"
    links = " and ".join(f"[{each.label}]({each.name})" for each in FORMAT_FILES.values())
    yield f"Downloads: {links}; `tandem batch schema` prints them too."
    for part in PARTS:
        yield f"### {part.__name__}\n\n{_only_own(part)}"
        yield _keys(part, _of_batch(part))
    readers = [(code(name), plain(reader.SUMMARY)) for name, reader in READERS.items()]
    yield "### Formats that are read"
    yield "Recognised by the first line, or named with `--format`."
    yield table(("format", "what it is"), readers)


def _labels() -> Iterator[str]:
    yield f"## The labels file\n\n{LABELS}"
    yield _keys(label_rows.LabelRow, _of_labels(label_rows.LabelRow), label_rows.KNOWN)
    yield f"A line has exactly one of `value` and `missing`. Reasons: {codes(REASONS)}."
    yield f"Kinds of raters: {codes(KINDS)}."
    yield "### A span"
    yield _keys(label_rows.SpanRow, _of_labels(label_rows.SpanRow))


def _exports() -> Iterator[str]:
    yield "## The exports\n\n`tandem export --campaign C --what NAME` writes:"
    yield table(
        ("name", "what a line is", "columns", "forms"),
        [
            (code(name), each.row, codes(columns_of(name)), codes(each.forms))
            for name, each in EXPORTS.items()
        ],
    )
    forms = [(code(name), each.label, f"`.{each.suffix}`") for name, each in FORMS.items()]
    yield f"The first form comes unless `--format` names another.\n\n{FORMS_TOLD}"
    yield table(("form", "what it is", "ending"), forms)
    bundles = [(code(name), each.label) for name, each in BUNDLES.items()]
    yield f"### Several at once\n\n{FOLDERS}"
    yield table(("name", "what it writes"), bundles)
    yield f"### Spans as web annotations\n\n{plain(web_annotations.__doc__)}"
    yield f"### Label Studio's JSON\n\n{plain(label_studio.__doc__)}"
    yield f"### Parquet\n\n{plain(parquet.__doc__)}"
    yield "### A response"
    rows = [
        (code(name), meaning("labels", f"response.{name}", name)) for name in response_rows.COLUMNS
    ]
    yield table(("key", "meaning"), rows)


def columns_of(export: str) -> Sequence[str]:
    return EXPORTS[export].columns


def _report() -> Iterator[str]:
    yield f"## The report\n\n{REPORT}"
    yield from reports.sections()
    yield f"## The measures\n\n{MEASURES}"
    yield from measures.sections()
    yield f"### All forms\n\nWhat `--format` takes; the numbers are the same in all.\n\n{_forms()}"
    rows = [(code(name), meaning("facts", name)) for name in facts.COLUMNS]
    yield f"### The report as CSV\n\n{FACTS}\n\n{table(('column', 'meaning'), rows)}"


def _forms() -> str:
    rows = [(code(name), each.label, _about(each)) for name, each in FORMATS.items()]
    return table(("format", "name", "what it is"), rows)


def _about(form: Format) -> str:
    """Return the first paragraph of the docstring of the module that writes it."""
    return plain(getmodule(form.render).__doc__).partition("\n\n")[0]


def keys_of(part: type) -> dict[str, Field[object]]:
    """Return the keys of a row, without those that the reader adds."""
    return {field.name: field for field in fields(part) if field.name != "place"}


def _of_batch(part: type) -> Callable[[str], str]:
    properties = properties_of(part.__name__)
    return lambda key: str(properties[key]["description"])


def _of_labels(part: type) -> Callable[[str], str]:
    return lambda key: meaning("labels", f"{part.__name__}.{key}", key)


def _keys(part: type, words: Callable[[str], str], order: Sequence[str] = ()) -> str:
    found = keys_of(part)
    rows = [(code(name), _value(found[name]), words(name)) for name in order or found]
    return table(("key", "value", "meaning"), rows)


def _value(field: Field[object]) -> str:
    kind = str(field.type).removesuffix(" | None")
    required = field.default is MISSING and field.default_factory is MISSING
    return _kind(kind) + (", required" if required and "None" not in str(field.type) else "")


def _kind(kind: str) -> str:
    for part in PARTS:
        if kind == f"tuple[{part.__name__}, ...]":
            return f"list of [{part.__name__}](#{part.__name__.lower()})"
    return KINDS_OF_VALUE[kind]


def _only_own(part: type) -> str:
    """Return a docstring, or nothing if it is the signature that dataclasses generate."""
    text = part.__doc__ or ""
    return "" if text.startswith(f"{part.__name__}(") else plain(text)
