"""Every format has the same numbers: each is parsed and compared with the report's JSON."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from markdown_it import MarkdownIt

from tandem.document import DASH, Cell, Document, Number, RaterName, Table, count, rounded
from tandem.formats import FORMATS
from tandem.sections.contents import document
from tests.analysis.conftest import run
from tests.analysis.hostile import HOSTILE, renamed

ROOT = Path(__file__).resolve().parents[3]
CONTRACT = ROOT / "tests" / "contract" / "report.json"
DEMONSTRATION = ROOT / "datasets" / "demonstration" / "labels.jsonl"

JSON = dict[str, Any]
Grid = list[list[str]]
CAST: JSON = {"assisted_labels": 1, "queries": 10, **json.loads(CONTRACT.read_text("utf-8"))}


@pytest.fixture(scope="module", params=["cast", "hostile", "demonstration"])
def report(request: pytest.FixtureRequest) -> JSON:
    if request.param == "demonstration":
        text = run("report", "--labels", str(DEMONSTRATION), "--resamples", "200")
        return dict(json.loads(text))
    return CAST if request.param == "cast" else renamed(CAST)


def expected(whole: Document, printed: Callable[[Cell, Table], str]) -> list[Grid]:
    """The cells that every table should have, header first, as `printed` formats them."""
    return [
        [
            [printed(str(name), table) for name in table.header],
            *([printed(cell, table) for cell in row] for row in table.rows),
        ]
        for _, _, table in whole.tables()
    ]


def one_line(text: str) -> str:
    return " ".join(text.split())


def in_markdown(cell: Cell, table: Table) -> str:
    if isinstance(cell, Number) and cell.value is None:
        return f"{DASH} ({table.reasons()[cell.reason]})" if cell.reason else DASH
    return one_line(str(cell))


def markdown_tables(text: str) -> list[Grid]:
    """The tables as an independent Markdown parser reads them."""
    found: list[Grid] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and token.level == 4:
            kinds = {child.type for child in token.children or ()}
            assert kinds <= {"text", "text_special"}
            found[-1][-1].append("".join(child.content for child in token.children or ()))
    return found


def test_markdown_has_the_numbers_of_the_json(report: JSON) -> None:
    found = markdown_tables(FORMATS["md"].render(report))
    assert found == expected(document(report), in_markdown)


class Tables(HTMLParser):
    """Collects the cells of an HTML file's tables and its structure; counts tables of figures."""

    VOID = ("meta",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[Grid] = []
        self.captions: list[str] = []
        self.open: list[str] = []
        self.scopes: list[str | None] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.of_figures = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "table" and "figure" in self.open:
            self.of_figures += 1
        elif tag == "table":
            self.tables.append([])
            self.captions.append("")
        elif "figure" in self.open:
            self.scopes += [dict(attrs).get("scope")] if tag == "th" else []
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
            self.scopes += [dict(attrs).get("scope")] if tag == "th" else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "figure" in self.open:
            return
        if "caption" in self.open:
            self.captions[-1] += data
        elif "th" in self.open or "td" in self.open:
            self.tables[-1][-1][-1] += data


def in_html(cell: Cell, table: Table) -> str:
    if not isinstance(cell, Number):
        return one_line(str(cell))
    if cell.value is None and cell.reason:
        return one_line(f"{DASH} {cell.reason}")
    # Pages have a minus where files have a hyphen.
    return re.sub(r"(?<![\w.])-(?=\d)", "−", one_line(str(cell)))


def test_html_has_the_numbers_of_the_json(report: JSON) -> None:
    found = Tables(FORMATS["html"].render(report))
    tables = [[[one_line(cell) for cell in row] for row in table] for table in found.tables]
    assert tables == expected(document(report), in_html)
    assert found.captions == [table.caption for _, _, table in document(report).tables()]


LATEX = {r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~",
         r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", r"\symbol{34}": '"',
         r"\textasciigrave{}": "`", r"$\geq$": "≥", "{[}": "[", "{]}": "]", "{*}": "*",
         "--{}": "–", "--": "–", r"$\cdot$": "·"}  # fmt: skip
ACCENTS = {"'": "\u0301", '"': "\u0308", "`": "\u0300", "c": "\u0327"}


def read_latex(cell: str) -> str:
    """Return the text that a LaTeX cell prints."""
    if found := re.fullmatch(r"\\tandemci\{(.*?)\}\{(.*?)\}\{(.*?)\}", cell):
        return "{} [{}, {}]".format(*(part.replace("$-$", "-") for part in found.groups()))
    if found := re.fullmatch(r"\\tandemundefined\{(\w*)\}", cell):
        return f"{DASH} ({found[1]})" if found[1] else DASH
    if re.fullmatch(r"\$[-<]\$[\d.]+", cell):
        return cell.replace("$-$", "-").replace("$<$", "<")
    cell = re.sub(r"\\tandemunicode\{(\d+)\}\{\w+\}", lambda code: chr(int(code[1])), cell)
    cell = re.sub(r"\\(['\"`c])\{(\w)\}", lambda sign: sign[2] + ACCENTS[sign[1]], cell)
    signs = "|".join(map(re.escape, sorted(LATEX, key=len, reverse=True)))
    return re.sub(rf"{signs}|\{{\}}|\\[{{}}#$%&_]", _sign, cell)


def _sign(found: re.Match[str]) -> str:
    sign = found[0]
    return LATEX.get(sign, "" if sign == "{}" else sign.removeprefix("\\"))


def latex_tables(text: str) -> list[Grid]:
    """Return the tables, with those that were split for their width joined again."""
    found: dict[str, Grid] = {}
    for label, body in re.findall(
        r"\\label\{tab:tandem-(\S+)\}.*?\\toprule\n(.*?)\\bottomrule", text, re.DOTALL
    ):
        rows = [
            [read_latex(cell) for cell in re.split(r"(?<!\\) & ", line.removesuffix(r" \\"))]
            for line in body.split("\n")
            if line.endswith(r" \\")
        ]
        found[label] = rows
    return list(found.values())


def in_latex(cell: Cell, table: Table) -> str:
    text = in_markdown(cell, table)
    return text if isinstance(cell, Number) else unicodedata.normalize("NFD", text)


def joined(tables: Iterator[Grid] | list[Grid], like: list[Grid]) -> list[Grid]:
    """Join the parts of split tables until each is as wide as its counterpart in `like`."""
    parts = iter(tables)
    whole = []
    for expected_grid in like:
        grid = next(parts)
        while len(grid[0]) < len(expected_grid[0]):
            more = next(parts)
            grid = [[*row, *rest[1:]] for row, rest in zip(grid, more, strict=True)]
        whole.append(grid)
    assert next(parts, None) is None
    return whole


def test_latex_has_the_numbers_of_the_json(report: JSON) -> None:
    expected_grids = expected(document(report), in_latex)
    found = joined(latex_tables(FORMATS["latex"].render(report)), expected_grids)
    assert [
        [[unicodedata.normalize("NFD", c) for c in row] for row in g] for g in found
    ] == expected_grids


def rows_of_csv(report: JSON) -> list[dict[str, str]]:
    text = FORMATS["csv"].render(report)
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def at(report: Any, pointer: str) -> Any:
    """Return the value at a JSON Pointer."""
    for key in pointer.split("/")[1:]:
        key = key.replace("~1", "/").replace("~0", "~")
        report = report[int(key)] if isinstance(report, list) else report[key]
    return report


def test_csv_has_the_numbers_of_the_json_to_the_last_bit(report: JSON) -> None:
    for row in rows_of_csv(report):
        found = at(report, row["path"].removeprefix("'"))
        names = ("value", "low", "high", "n", "method", "reason")
        given = found if isinstance(found, dict) else {"value": found, "reason": row["reason"]}
        for name in names:
            value = given.get(name)
            if isinstance(value, int | float):
                assert float(row[name]) == value
            else:
                assert row[name] == (value or "")


def numbers(part: Any, pointer: str = "") -> Iterator[str]:
    """The pointers of every estimate and every bare number anywhere in a report."""
    if isinstance(part, dict) and {"value", "low", "high", "n", "method"} <= set(part):
        yield pointer
    elif isinstance(part, dict | list):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from numbers(value, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
    elif isinstance(part, int | float):
        yield pointer


def test_csv_leaves_no_number_out(report: JSON) -> None:
    defined = [pointer for pointer in numbers(report) if not pointer.endswith("/threshold")]
    undefined = [
        row["path"] for row in rows_of_csv(report) if row["value"] == "" and row["n"] == ""
    ]
    assert sorted(row["path"] for row in rows_of_csv(report)) == sorted([*defined, *undefined])
    assert all(at(report, pointer) is None for pointer in undefined)


def test_the_json_format_is_the_report_itself(report: JSON) -> None:
    assert json.loads(FORMATS["json"].render(report)) == report


def test_the_tables_show_every_estimate_of_a_judge(report: JSON) -> None:
    """Only the details of strata and the scores of items are left to JSON and CSV."""
    shown = {
        cell for _, _, table in document(report).tables() for row in table.rows for cell in row
    }
    for variable in report["variables"].values():
        for judge in variable["judges"].values():
            for block in (judge["agreement"], judge["human_ceiling"], *judge["pairs"].values()):
                assert {Number.from_estimate(estimate) for estimate in block.values()} <= shown
            for cut in judge["thresholds"]:
                printed = {
                    Number.from_estimate(each) for each in cut.values() if isinstance(each, dict)
                }
                assert printed <= shown


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["md", "latex", "html"])
def test_the_tables_count_missing_judgements(name: str) -> None:
    text = FORMATS[name].render(CAST)
    assert CAST["variables"]["answerable"]["judges"]["model-x"]["missing"] == {"unreadable": 2}
    assert "2 missing: unreadable" in text


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["md", "latex", "html", "csv"])
def test_an_undefined_number_has_its_reason(name: str) -> None:
    assert "its categories have no order" in json.dumps(CAST)
    lost = json.loads(json.dumps(CAST))
    percent = lost["variables"]["answerable"]["agreement"]["percent"]
    percent.update(value=None, low=None, high=None, reason="nobody labels twice")
    assert "nobody labels twice" in FORMATS[name].render(lost)


def test_a_report_without_labels_has_every_format() -> None:
    empty = {**CAST, "raters": [], "variables": {}, "scores": {}, "campaign": "empty"}
    for each in FORMATS.values():
        assert "empty" in each.render(empty) or each.name == "csv"
    assert "No labels yet" in FORMATS["html"].render(empty)


def test_the_csv_defuses_formulas() -> None:
    rows = rows_of_csv(renamed(CAST))
    formula = next(name for name in HOSTILE.values() if name.startswith("="))
    assert f"'{formula}" in {row["rater"] for row in rows}
    assert formula not in {cell for row in rows for cell in row.values()}
    assert any(float(row["low"]) < 0 for row in rows if row["low"])


def test_each_row_of_the_csv_names_its_subject() -> None:
    rows = rows_of_csv(CAST)

    def found(**where: str) -> list[str]:
        return [r["value"] for r in rows if all(r[k] == v for k, v in where.items())]

    variable = CAST["variables"]["answerable"]
    kappa = variable["agreement"]["fleiss_kappa"]["value"]
    of = {"section": "agreement", "variable": "answerable", "statistic": "fleiss_kappa"}
    assert found(**of, stratum="") == [str(kappa)]
    short = variable["strata"]["system"]["short"]["agreement"]["fleiss_kappa"]["value"]
    assert found(**of, stratum="system", group="short") == [str(short)]
    assert found(
        section="judges.missing", category="unreadable", variable="answerable", stratum=""
    ) == ["2"]
    people = {"section": "judges.confusion", "variable": "answerable", "stratum": ""}
    assert found(**people, category="yes", other="no") == ["14"]
    assert found(section="scores.systems", group="long", rater="ada", statistic="mean")
    assert found(section="scores.items", item="q1#long", rater="ada", statistic="score")
    assert found(section="scores.correlation", judge="model-x", rater="mean", statistic="kendall")


def test_every_number_is_printed_in_the_same_way() -> None:
    assert rounded(-0.0001) == "0.000"
    assert str(Number(0.5, 0.25, 1)) == "0.500 [0.250, 1.000]"
    assert str(Number(None, reason="why")) == DASH
    assert (count(1, "tie"), count(0, "tie"), count(2, "query", "queries")) == (
        "1 tie",
        "0 ties",
        "2 queries",
    )


def test_a_tiny_p_value_is_never_printed_as_zero() -> None:
    assert str(Number.p(0.0004)) == "<0.001"
    assert str(Number.p(0.0)) == "<0.001"
    assert str(Number.p(0.001)) == "0.001"
    assert str(Number.p(None, "too few")) == DASH


def test_letters_for_reasons_continue_after_z() -> None:
    cells = tuple(("row", Number(None, reason=f"r{n}")) for n in range(28))
    assert list(Table("t", ("a", "b"), cells).reasons().values())[24:] == ["y", "z", "aa", "ab"]


def test_a_table_with_a_missing_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="as many cells"):
        Table("t", ("a", RaterName("b")), (("only",),))


@pytest.mark.parametrize("name", FORMATS)
def test_the_command_writes_every_format(name: str, tmp_path: Path) -> None:
    path = tmp_path / "report"
    labels = ("report", "--labels", str(DEMONSTRATION), "--resamples", "50", "--format", name)
    assert run(*labels, "--output", str(path)) == ""
    printed = run(*labels)
    moment = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
    assert re.sub(moment, "", path.read_bytes().decode()) == re.sub(moment, "", printed)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(CommandError, match="invalid choice: 'docx'"):
        run("report", "--labels", str(DEMONSTRATION), "--format", "docx")
