"""The report as HTML without scripts or links, or as JSON in full precision.

Pages show the same HTML. The file puts it into a document of its own, with the site's style sheets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from html import escape

from ..document import (
    Block,
    Cell,
    CountedText,
    Document,
    Format,
    Number,
    RaterName,
    Section,
    Table,
    UnitCount,
    table_with_counts,
)
from ..figures import FIGURES, Figure, Subject, subjects
from ..figures.base import TELEPHONE
from ..figures.svg import STATIC
from ..sections.base import table_in_noun
from ..sections.contents import document, section_of
from ..sections.verdict import VERDICT
from ..types import JSON
from .verdict import Units, verdict_html, without_units

FEW, MANY, WIDEST = 3, 5, 6
"""Up to `FEW` columns fit on a phone. From `MANY` on, intervals are below their numbers."""
MOST_ON_CARDS = 30
"""The maximum number of cells of a wide table that becomes cards on a phone."""
MOST_ROWS = 300
"""The maximum number of rows of a figure's data on a page. The file has all."""
CODE = re.compile(r"`([^`]+)`")
SHEETS = ("css/tandem.css", "css/pages.css", "css/report.css", "css/figures.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
FIRST = "raters"
"""The figure beside the verdict."""
OPEN = "slices"
"""The section whose figures are unfolded, since they replace its tables."""
AFTER = ("evidence", "slices", "planning", "methods")
"""The sections that follow the systems."""


@dataclass(frozen=True)
class Links:
    """The links in a page.

    `files` renders the links to a figure's files, and `units` returns the address of the list of
    units with the given filters.
    """

    files: Callable[[Figure, Subject], str]
    units: Callable[[Mapping[str, str]], str] | None = None


NO_LINKS = Links(lambda figure, subject: "")


@dataclass(frozen=True)
class Row:
    """A row of a table: its name, and its cells, each with its column's name."""

    name: Cell
    cells: list[tuple[str, bool, Cell]]
    apart: bool


def heads(table: Table) -> list[tuple[str | RaterName, bool]]:
    """Return the names of the columns, and whether they hold numbers."""
    return [(name, table.is_numeric(n)) for n, name in enumerate(table.header)]


def rows(table: Table) -> Iterator[Row]:
    """Yield the rows, each cell with its column's name for pages too narrow for a header."""
    columns = heads(table)[1:]
    last = len(table.rows) - table.apart
    for n, (name, *values) in enumerate(table.rows):
        cells = [
            (str(name), is_numeric, value)
            for (name, is_numeric), value in zip(columns, values, strict=True)
        ]
        yield Row(name, cells, n >= last)


def words_html(text: str) -> str:
    """Render a line of text with codes in backticks."""
    return CODE.sub(r'<span class="id">\1</span>', escape(text))


def sign_html(kind: str) -> str:
    """Return the sign of a kind of rater: people round, judges square, references a diamond."""
    if not kind:
        return ""
    shape = "person" if kind == "human" else escape(kind)
    return f'<span class="sign {shape}" aria-hidden="true"></span>'


def cell_html(value: Cell) -> str:
    """Render a cell: a name with its sign, a number with its interval, or a dash with the
    reason.
    """
    if isinstance(value, Number):
        return _number(value)
    if isinstance(value, RaterName):
        return sign_html(value.kind) + escape(value.name)
    if isinstance(value, UnitCount) and value.address and value:
        title = f' title="{escape(value.about)}"' if value.about else ""
        return f'<a href="{escape(value.address)}"{title}>{value:,}</a>'
    return f"{value:,}" if isinstance(value, int) else escape(value)


def text_html(text: str) -> str:
    """Render a text in which counts of units with an address are links."""
    made, rest = "", str(text)
    for words, of in text.counts if isinstance(text, CountedText) else ():
        before, found, after = rest.partition(words)
        if found and of.address and of:
            made += f'{escape(before)}<a href="{escape(of.address)}">{escape(found)}</a>'
            rest = after
    return made + escape(rest)


def _number(value: Number) -> str:
    rated = f' <span class="sub">{escape(value.rated)}</span>' if value.rated else ""
    if value.value is None:
        why = f'<span class="why"> {escape(value.reason)}</span>'
        return f'<span class="undefined">{escape(value.text)}{why}</span>{rated}'
    method = f' title="{escape(value.method)}"' if value.method else ""
    above = ""
    if value.above:
        letters = escape(" ".join(value.above))
        above = (
            '<sup class="above"><span class="sr">, significantly higher than </span>'
            f"{letters}</sup>"
        )
    interval = ""
    if value.ends is not None:
        interval = ' <span class="interval">[{}, {}]</span>'.format(*map(_signed, value.ends))
    return f"<span{method}>{_signed(value.text)}{above}{interval}</span>{rated}"


def _signed(text: str) -> str:
    """Render a number with a minus instead of the hyphen of files."""
    return escape(re.sub(r"^-(?=\d)", "−", text))


def table_html(table: Table) -> str:
    """Render a table in its frame.

    The frame's class says how many columns the table has, and whether it scrolls sideways on a
    narrow page. There, a wide table becomes a card for each row, which takes too many screens if
    the table has many numbers.
    """
    columns = len(table.header)
    width = " slim" if columns <= FEW else " wide" if columns >= MANY else ""
    header = "".join(
        f'<th scope="col"{_numeric(is_numeric)}>{cell_html(name)}</th>'
        for name, is_numeric in heads(table)
    )
    is_grid = (
        columns >= MANY
        and len(table.rows) * (columns - 1) > MOST_ON_CARDS
        and all(is_numeric for _, is_numeric in heads(table)[1:])
    )
    body = "".join(map(_row, rows(table)))
    # A scrolling frame has to be reachable by keyboard.
    reached = f' role="group" aria-label="{escape(table.caption)}" tabindex="0"'
    scrolls = is_grid or columns >= WIDEST
    sideways = " sideways" if is_grid else ""
    frame = f'class="table-frame{width}{sideways}"{reached if scrolls else ""}'
    return (
        f'<div {frame}><table class="table">\n'
        f"<caption>{escape(table.caption)}</caption>\n"
        f"<thead><tr>{header}</tr></thead>\n"
        f"<tbody>{body}</tbody>\n</table></div>\n"
    )


def _row(row: Row) -> str:
    apart = ' class="apart"' if row.apart else ""
    cells = "".join(
        f'<td{_numeric(is_numeric)} data-label="{escape(label)}">{cell_html(value)}</td>'
        for label, is_numeric, value in row.cells
    )
    return f'<tr{apart}><th scope="row">{cell_html(row.name)}</th>{cells}</tr>\n'


def _numeric(is_numeric: bool) -> str:
    return ' class="number"' if is_numeric else ""


def document_html(
    shown: Document,
    report: JSON,
    links: Links = NO_LINKS,
    units: Units = without_units,
    folded: bool = False,
    inside: Mapping[str, str] | None = None,
    opened: Collection[str] = (),
) -> str:
    """Render a document with the figures of the report that it was created from.

    Sections and their blocks are folds, which are open unless `folded`: they follow the verdict, if
    the report has one, beside the contents. `units` links to the units of a verdict's part.
    `inside` has HTML for the end of sections, by name. `opened` names sections that are unfolded
    nevertheless.
    """
    inside = inside or {}
    origin = f" · {escape(shown.origin)}" if shown.origin else ""
    # A line that wraps ends in a dot and does not begin with one.
    facts = f"{escape(shown.about)}{origin}".replace(" · ", "\u00a0· ")
    about = f'<p class="about origin">{facts}</p>\n'
    rest = [each for each in shown.sections if each.title != VERDICT or not report.get("verdict")]
    # A file has no links, so everything is unfolded.
    names = {each.address for each in rest} if folded else set()
    axis = _first_figure(report, links) if report.get("verdict") else ""
    head = verdict_html(report, partial(_anchor, report, names), units, axis)
    if "systems" in inside and not any(each.address == "systems" for each in rest):
        # Measures of systems, for a protocol without scores.
        place = next((n for n, each in enumerate(rest) if each.address in AFTER), len(rest))
        rest.insert(place, Section("Systems", (), name="systems"))
    sections = "".join(
        _section(
            each, report, links, (folded, each.address in opened), inside.get(each.address, "")
        )
        for each in rest
    )
    if folded:
        # Narrow pages have no contents, since the heads of the folds are below the verdict there.
        return (
            f'<div class="railed">\n{_contents(rest)}<div class="report-body">\n'
            f"{head}{sections}{about}</div>\n</div>\n"
        )
    return f"{head}{about}{sections}\n"


def _anchor(report: JSON, names: Collection[str], key: Sequence[str]) -> str:
    name = section_of(report, key)
    return name if name in names else ""


def _first_figure(report: JSON, links: Links) -> str:
    """Render the axis of all raters for the report's first variable that has one."""
    figure = FIGURES[FIRST]
    drawn = list(subjects(report, figure))
    for subject in drawn[:1]:
        title = _title(figure, subject, len(drawn))
        return _figure(figure, subject, "figure-first", links, title) + "\n"
    return ""


def _title(figure: Figure, subject: Subject, drawn: int) -> str:
    return f"{figure.title}: {subject.name}" if drawn > 1 else figure.title


def _contents(sections: Iterable[Section]) -> str:
    items = "".join(
        f'<li><a href="#section-{escape(each.address)}">{escape(each.title)}</a></li>'
        for each in sections
    )
    return f'<nav class="contents" aria-label="Contents"><ul>{items}</ul></nav>\n'


def _section(
    section: Section, report: JSON, links: Links, folds: tuple[bool, bool], inside: str
) -> str:
    """Render a section. `folds` says whether the page is folded, and this section open."""
    folded, is_open = folds
    name = escape(section.address)
    text = _paragraphs(section, folded) + _points(section, folded)
    blocks = [_block(block, folded) for block in section.blocks]
    # The first block has the answer, followed by figures and then folded parts.
    first = 1 if section.blocks and not section.blocks[0].title else 0
    figures = _figures(section, report, links, folded)
    body = "".join([*blocks[:first], figures, *blocks[first:]])
    # The target is inside the fold, so that a link to it opens the fold, and takes the focus.
    head = f'<h2 id="head-{name}">{escape(section.title)}</h2>'
    body = (
        f'<div id="section-{name}" tabindex="-1">\n'
        f"{_about(section)}\n{text}{body}{inside}\n</div>\n"
    )
    fold = _fold(head, body, is_open or not folded)
    return f'\n<section aria-labelledby="head-{name}">\n{fold}</section>\n'


def _fold(head: str, body: str, is_open: bool) -> str:
    return (
        f'<details class="fold"{" open" if is_open else ""}>'
        f"<summary>{head}</summary>\n{body}</details>\n"
    )


def _about(section: Section) -> str:
    return f'<p class="about">{escape(section.about)}</p>' if section.about else ""


def _paragraphs(section: Section, folded: bool) -> str:
    """Render a section's text; paragraphs with heads, after the first one, have folds."""
    texts = [f'<p class="text">{escape(each)}</p>\n' for each in section.paragraphs]
    if not section.heads:
        return "".join(texts)
    rest = zip(section.heads[1:], texts[1:], strict=True)
    return texts[0] + "".join(
        _fold(f"<h3>{escape(head)}</h3>", text, not folded) for head, text in rest
    )


def _points(section: Section, folded: bool) -> str:
    """Render a section's list; below paragraphs it has the references, in a fold."""
    listed = _list(section)
    apart = listed and section.paragraphs
    return _fold("<h3>References</h3>", listed, not folded) if apart else listed


def _list(section: Section) -> str:
    points = "".join(f"<li>{words_html(point)}</li>" for point in section.points)
    return f'<ul class="points">{points}</ul>\n' if points else ""


def folds_html(shown: Document) -> str:
    """Render sections without figures as folds within another section, several as one fold."""
    return "".join(map(_inner_section, shown.sections))


def _inner_section(section: Section) -> str:
    text = _paragraphs(replace(section, heads=()), True) + _list(section)
    blocks = "".join(_block(block, True, level=5) for block in section.blocks)
    body = f"<div>{_about(section)}\n{text}{blocks}</div>"
    return _fold(f"<h4>{escape(section.title)}</h4>", body, False)


def _block(block: Block, folded: bool, level: int = 3) -> str:
    tables = "".join(f"{table_html(table)}\n" for table in block.tables)
    tables = f'<div class="tables">\n{tables}</div>\n'
    if not block.title:
        paragraph = f'<p class="about">{text_html(block.about)}</p>\n' if block.about else ""
        return f"\n{paragraph}{tables}"
    if isinstance(block.about, CountedText):
        # Clicks on the summary would hit a link inside it instead of the fold.
        words = text_html(block.about)
        paragraph = f'<p class="about">{words[:1].upper()}{words[1:]}</p>\n'
        tables, about = f"{paragraph}{tables}", ""
    else:
        about = f' <span class="sub">{escape(block.about)}</span>' if block.about else ""
    words = f"{sign_html(block.kind)}<bdi>{escape(block.title)}</bdi>{about}"
    return "\n" + _fold(f"<h{level}>{words}</h{level}>", tables, not folded)


def _figures(section: Section, report: JSON, links: Links, folded: bool) -> str:
    """Render the figures that belong to a section, each in a fold of its own."""
    found = []
    for figure in FIGURES.values() if section.subjects else ():
        drawn = [each for each in subjects(report, figure) if each.name in section.subjects]
        several = len(drawn)
        # The first axis is already at the top.
        drawn = drawn[1:] if figure.name == FIRST and report.get("verdict") else drawn
        for n, subject in enumerate(drawn if figure.place == section.place else (), start=1):
            anchor = f"figure-{section.address}-{figure.name}-{n}"
            made = _figure(figure, subject, escape(anchor), links)
            title = _title(figure, subject, several)
            is_open = not folded or (figure.place == OPEN and n == 1)
            found.append(_fold(f"<h3>{escape(title)}</h3>", made, is_open))
    return "".join(found)


def figures_html(report: JSON, names: Iterable[str], links: Links = NO_LINKS) -> str:
    """Render figures by name, each folded under a third-level heading; the first is unfolded."""
    found: list[str] = []
    for name in names:
        figure = FIGURES[name]
        for n, subject in enumerate(subjects(report, figure), start=1):
            anchor = f"figure-measures-{name}-{n}"
            made = _figure(figure, subject, anchor, links)
            title = f"{figure.title.removesuffix('?')}: {subject.name}"
            found.append(_fold(f"<h4>{escape(title)}</h4>", made, not found))
    return "".join(found)


def _figure(figure: Figure, subject: Subject, anchor: str, links: Links, name: str = "") -> str:
    """Render a drawing above its data; the drawing escapes every name in it.

    A drawing with too many rows for a page is only in the files.
    """
    title, size = escape(name or figure.title), figure.size(subject)
    files = links.files(figure, subject)
    if size > MOST_ROWS:
        return (
            f'<figure class="drawn" aria-labelledby="{anchor}">\n'
            f'<figcaption><strong id="{anchor}">{title}</strong></figcaption>\n'
            f'<p class="about">{size:,} rows are too many for a page; the files have them.</p>\n'
            f'<div class="figure-foot">{files}</div>\n</figure>\n'
        )
    data = _linked(figure.data(subject), subject, links)
    rest = max(0, len(data.rows) - MOST_ROWS)
    more = f'<p class="about">{rest} more in the CSV file.</p>' if rest else ""
    noun = subject.noun
    table = table_html(table_in_noun(replace(data, rows=data.rows[:MOST_ROWS]), noun))
    drawing = (
        f'<div class="figure-frame" tabindex="0" role="group" aria-label="{title}">'
        f"{_drawings(figure, subject)}</div>\n"
    )
    return (
        f'<figure class="drawn" aria-labelledby="{anchor}">\n'
        f'<figcaption><strong id="{anchor}">{title}</strong> '
        f'<span class="sub">{escape(figure.caption_of(subject))}</span></figcaption>\n'
        f"{drawing}"
        '<div class="figure-foot"><details class="figure-data"><summary>Data</summary>\n'
        f'<div class="figure-table" tabindex="0" role="group" aria-label="Data of {title}">'
        f"{table}</div>{more}\n"
        f"</details>{files}</div>\n</figure>\n"
    )


def _linked(data: Table, subject: Subject, links: Links) -> Table:
    """Return a figure's data with counts of units linked, if the page has their list."""
    if links.units is None:
        return data
    address = links.units
    return table_with_counts(
        data, lambda count: count.at(address({"variable": subject.name, **count.filters}))
    )


def _drawings(figure: Figure, subject: Subject) -> str:
    """Render the drawing, and a second one for phones if the figure has a different form there."""
    if not figure.turns:
        return figure.draw(subject).inline()
    narrow = figure.draw(subject, TELEPHONE)
    return figure.draw(subject).inline("figure wide-only") + narrow.inline("figure narrow-only")


@cache
def style() -> str:
    """Return the site's style sheets combined, without rules that would fetch an image."""
    texts = [(STATIC / sheet).read_text("utf-8") for sheet in SHEETS]
    lines = [line for text in texts for line in text.splitlines() if "url(" not in line]
    # They are our own files and contain no `</style`.
    return "\n".join(lines)


def as_html(report: JSON) -> str:
    """Render the report as a whole document."""
    return page_html(document(report), "Agreement", report)


def page_html(shown: Document, what: str, report: JSON) -> str:
    """Render a whole document; light, dark and print follow the reader's device."""
    title = escape(shown.title)
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Tandem {escape(report["version"])}">
<title>{what}: {title}</title>
<style>
{style()}
</style>
</head>
<body>
<main class="column">
<header class="report-head">
<h1>{what}: {title}</h1>
</header>
<div id="report">
{document_html(shown, report)}
</div>
</main>
</body>
</html>
"""


HTML_FILE = Format("html", "HTML", "html", "text/html; charset=utf-8", as_html)


def as_json(report: JSON) -> str:
    """Return the report's JSON as documented, without NaN and Infinity."""
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


JSON_FILE = Format("json", "JSON", "json", "application/json", as_json)
