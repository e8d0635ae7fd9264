r"""The report as LaTeX tables (booktabs), for `\input` in a paper.

The file is plain ASCII and needs `booktabs`, and `longtable` if a table is longer than a page. A
command, which papers may redefine, typesets a number with its interval. An undefined number is a
dash with its reason under the table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from ..document import Block, Cell, Document, Format, Number, Section, Table
from ..sections.contents import document
from ..types import JSON

_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "#": r"\#", "$": r"\$", "%": r"\%",
    "&": r"\&", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\symbol{34}",
    "`": r"\textasciigrave{}", "'": r"'{}", "-": r"-{}", ",": r",{}", "[": "{[}", "]": "{]}",
    "*": "{*}", "–": "--{}", "—": "---{}", "‘": "`{}", "’": "'{}", "“": "``{}", "”": "''{}",
    "…": r"\ldots{}", "·": r"$\cdot$", "\u00a0": "~", "§": r"\S{}",
    "≥": r"$\geq$", "≤": r"$\leq$", "×": r"$\times$", "±": r"$\pm$", "−": "$-$",
    "ß": r"\ss{}", "ø": r"\o{}", "Ø": r"\O{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}",
    "Œ": r"\OE{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "δ": r"$\delta$", "ε": r"$\epsilon$",
    "η": r"$\eta$", "θ": r"$\theta$", "κ": r"$\kappa$", "λ": r"$\lambda$", "μ": r"$\mu$",
    "π": r"$\pi$", "ρ": r"$\rho$", "σ": r"$\sigma$", "τ": r"$\tau$", "ω": r"$\omega$",
}  # fmt: skip
"""`[` and `*` would be read as arguments of the row's end before them. `--`, `,,` and the like
would join into other signs, so an empty group separates them."""

_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip

UNICODE = r"""\DeclareRobustCommand{\tandemcode}[1]{{\ttfamily U+#1}}
\DeclareRobustCommand{\tandemunicode}[2]{\ifdefined\Umathcode
  \iffontchar\font#1 \char#1\relax\else\tandemcode{#2}\fi\else\tandemcode{#2}\fi}"""
"""Any other character: itself if engine and font support it, otherwise its code point."""

# An empty group is only needed between signs that would form a ligature.
_NEEDLESS = re.compile(r"(?<=[-,'`])\{\}(?![-,'`])")
WIDTH = 98
"""Characters of a line at \\small on A4 or letter; a wider table is split."""
LONGEST_NAME = 38
LONGEST_FLOAT = 40
MANY_FLOATS = 12
"""The number of consecutive tables after which they are flushed to pages, since LaTeX holds only a
few dozen.
"""
COMMANDS = rf"""\providecommand{{\tandemci}}[3]{{#1 {{\scriptsize [#2, #3]}}}}
\providecommand{{\tandemundefined}}[1]{{--\textsuperscript{{#1}}}}
{UNICODE}"""


def tex(text: str) -> str:
    """Return a text on one line as LaTeX, in which every character is literal."""
    made = "".join(map(_sign, " ".join(text.split())))
    return _NEEDLESS.sub("", made)


def _sign(character: str) -> str:
    known = _SIGNS.get(character)
    if known is not None:
        return known
    if " " <= character < "\x7f":
        return character
    parts = unicodedata.normalize("NFD", character)
    letter, accent = parts[0], _ACCENTS.get(parts[1:])
    if letter.isascii() and letter.isalpha() and accent:
        return f"\\{accent}{{{letter}}}"
    return rf"\tandemunicode{{{ord(character)}}}{{{ord(character):04X}}}"


def as_latex(report: JSON) -> str:
    """Return each table of the report as a LaTeX `table` with a caption and a label."""
    return sections_as_latex(document(report), "Agreement")


def sections_as_latex(whole: Document, what: str) -> str:
    """Return a document's texts and tables."""
    return "\n".join([*_head(whole, what), *_texts(whole), *_tables(whole)]) + "\n"


def _head(whole: Document, what: str) -> list[str]:
    is_long = any(len(table.rows) > LONGEST_FLOAT for _, _, table in whole.tables())
    packages = "booktabs,longtable" if is_long else "booktabs"
    return [
        f"% {what}: {_comment(whole.title)}",
        f"% {_comment(whole.about)}",
        f"% {_comment(whole.origin)}",
        f"% Read it with \\input. In the preamble: \\usepackage{{{packages}}}",
        "% \\tandemci{value}{low}{high} sets a number with its interval; define it first to",
        "% format it differently.",
        COMMANDS,
    ]


def _comment(text: str) -> str:
    return " ".join(text.replace("·", ";").split()).encode("ascii", "backslashreplace").decode()


def _texts(whole: Document) -> Iterator[str]:
    """Yield the sections' sentences, each under its title; the tables float after them."""
    for section in whole.sections:
        if section.paragraphs or section.points:
            yield f"\n\\paragraph{{{tex(section.title)}}}"
            yield "\n\n".join(map(tex, section.paragraphs))
        if section.points:
            items = (f"\\item {tex(point)}" for point in section.points)
            yield "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])


def _tables(whole: Document) -> Iterator[str]:
    number = 0
    about = whole.about
    for section, block, table in whole.tables():
        notes = [about, *_abouts(section, block, table)]
        for part in split(table):
            number += 1
            if number % MANY_FLOATS == 0:
                yield "\n\\clearpage"
            yield _table(part, _caption(whole, section, block, table), number, notes)
        about = ""


def _abouts(section: Section, block: Block, table: Table) -> list[str]:
    """Return the texts below headings, which LaTeX prints below the first table."""
    first = table is block.tables[0]
    opens = first and block is section.blocks[0]
    return [section.about if opens else "", block.about if first else ""]


def _caption(whole: Document, section: Section, block: Block, table: Table) -> str:
    parts = (whole.title, section.title, block.title, table.caption)
    return ". ".join(dict.fromkeys(part for part in parts if part))


def split(table: Table) -> Iterator[Table]:
    """Split a table into several that fit the line width; each repeats the first column."""
    widths = [
        max(_width(row[n]) for row in (table.header, *table.rows)) + 2
        for n in range(len(table.header))
    ]
    room = WIDTH - min(widths[0], LONGEST_NAME)
    chosen: list[int] = []
    for column in range(1, len(widths)):
        if chosen and sum(widths[n] for n in (*chosen, column)) > room:
            yield _only(table, chosen)
            chosen = []
        chosen.append(column)
    yield _only(table, chosen)


def _width(cell: Cell) -> float:
    """Return the width of a cell in characters of ordinary size; intervals are set smaller."""
    small = len(str(cell)) - len(cell.text) if isinstance(cell, Number) else 0
    return len(str(cell)) - 0.3 * small


def _only(table: Table, columns: Sequence[int]) -> Table:
    kept = (0, *columns)
    rows = tuple(tuple(row[n] for n in kept) for row in table.rows)
    return Table(table.caption, tuple(table.header[n] for n in kept), rows, table.apart)


def _table(table: Table, caption: str, number: int, notes: Sequence[str]) -> str:
    label = re.sub(r"[^a-z0-9]+", "-", table.caption.lower()).strip("-")
    title = rf"\caption{{{tex(caption)}}}\label{{tab:tandem-{number}-{label}}}"
    marks = table.reasons()
    said = [tex(note) for note in notes if note]
    said += [rf"\textsuperscript{{{mark}}} {tex(reason)}" for reason, mark in marks.items()]
    body = [_row(row, marks) for row in table.rows]
    if table.apart:
        body.insert(len(body) - table.apart, r"\midrule")
    columns = f"{{@{{}}{_columns(table)}@{{}}}}"
    head = " & ".join(tex(str(name)) for name in table.header) + r" \\"
    make = _long if len(table.rows) > LONGEST_FLOAT else _float
    return "\n".join(["", *make(title, columns, head, body), *_after(said, make is _long)])


def _float(title: str, columns: str, head: str, body: list[str]) -> list[str]:
    return [
        r"\begin{table}[htbp]",
        r"\centering\small",
        title,
        rf"\begin{{tabular}}{columns}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _long(title: str, columns: str, head: str, body: list[str]) -> list[str]:
    """Return a table that continues over pages, with its header on each of them."""
    return [
        r"{\small",
        rf"\begin{{longtable}}{columns}",
        rf"{title} \\",
        r"\toprule",
        head,
        r"\midrule",
        r"\endfirsthead",
        r"\toprule",
        head,
        r"\midrule",
        r"\endhead",
        *body,
        r"\bottomrule",
        r"\end{longtable}}",
    ]


def _after(notes: list[str], is_long: bool) -> list[str]:
    text = rf"\par\smallskip{{\footnotesize {'; '.join(notes)}\par}}" if notes else ""
    return [line for line in (text, "" if is_long else r"\end{table}") if line]


def _columns(table: Table) -> str:
    longest = max((len(str(row[0])) for row in table.rows), default=0)
    first = "l" if longest <= LONGEST_NAME else r"p{0.36\linewidth}"
    return first + "".join("r" if table.is_numeric(n) else "l" for n in range(1, len(table.header)))


def _row(row: Sequence[Cell], marks: dict[str, str]) -> str:
    return " & ".join(_cell(cell, marks) for cell in row) + r" \\"


def _cell(cell: Cell, marks: dict[str, str]) -> str:
    if not isinstance(cell, Number):
        return tex(str(cell))
    rated = rf" {{\footnotesize {tex(cell.rated)}}}" if cell.rated else ""
    if cell.value is None:
        mark = marks.get(cell.reason, "")
        if cell.bounds:
            return rf"{tex(cell.text)}\textsuperscript{{{mark}}}{rated}"
        return rf"\tandemundefined{{{mark}}}{rated}"
    above = rf"\textsuperscript{{{','.join(cell.above)}}}" if cell.above else ""
    if cell.ends is None:
        return _figure(cell.text) + above + rated
    low, high = map(_figure, cell.ends)
    return rf"\tandemci{{{_figure(cell.text)}}}{{{low}}}{{{high}}}{above}{rated}"


def _figure(number: str) -> str:
    """Typeset in math mode the signs that text fonts lack or draw differently."""
    return f"${number[0]}${number[1:]}" if number[0] in "-<" else number


FORMAT = Format("latex", "LaTeX", "tex", "application/x-tex", as_latex)
