"""SVG drawing: marks and texts, with colours from one style sheet, `figures.css`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from xml.sax.saxutils import escape

from ..place import SITE

STATIC = SITE / "static"
SHEET, TOKENS, BLACK = "css/figures.css", "css/tandem.css", "css/figures-black.css"
FACES = '"Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", sans-serif'
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
SIZE, BOLD = 12, 14.5
"""Sizes of names and of bold headings, for estimating their width."""
NARROW, WIDE = 0.56, 1.0
Point = tuple[float, float]


@cache
def file_style(is_black: bool = False) -> str:
    """Return `figures.css` with the light value of each colour filled in; it contains no markup.

    In black and white `figures-black.css` follows, which replaces every colour.
    """
    light = dict(re.findall(r"(--[\w-]+): light-dark\((#\w+),", _read(TOKENS))) | {"--ui": FACES}
    sheets = [_read(SHEET), *([_read(BLACK)] if is_black else [])]
    sheet = re.sub(r"/\*.*?\*/\s*", "", "\n".join(sheets), flags=re.DOTALL)
    filled = re.sub(r"var\((--[\w-]+)\)", lambda token: light[token[1]], sheet)
    return re.sub(r"#[0-9a-f]{6}\b", _grey, filled) if is_black else filled


def _grey(colour: re.Match[str]) -> str:
    """Return the grey of the same lightness as a colour."""
    red, green, blue = (int(colour[0][n : n + 2], 16) for n in (1, 3, 5))
    return "#" + 3 * f"{round(0.2126 * red + 0.7152 * green + 0.0722 * blue):02x}"


def _read(sheet: str) -> str:
    return (STATIC / sheet).read_text("utf-8")


@dataclass(frozen=True)
class Drawing:
    """A figure: its accessible name, its size in pixels, and its marks."""

    title: str
    width: float
    height: float
    parts: tuple[str, ...]

    def inline(self, css: str = "figure") -> str:
        """Return the SVG for a page, whose style sheet has the colours."""
        name = f'role="img" aria-label="{attribute(self.title)}"'
        return self._svg(name, f'width="{self.width}" height="{self.height}"', "", css)

    def file(self, is_black: bool = False, millimetres: float | None = None) -> str:
        """Return the SVG as a self-contained file with light colours on white.

        `millimetres` is its width in print; without it, the size is in pixels as on a page.
        """
        paper = f'<rect class="paper" width="{self.width}" height="{self.height}"/>'
        head = f"<title>{clean(self.title)}</title><style>{file_style(is_black)}</style>{paper}"
        size = f'width="{self.width}" height="{self.height}"'
        if millimetres is not None:
            high = self.height * millimetres / self.width
            size = f'width="{millimetres:g}mm" height="{high:.2f}mm"'
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + self._svg(
            f'{NAMESPACE} role="img"', size, head
        )

    def _svg(self, attributes: str, size: str, head: str, css: str = "figure") -> str:
        box = f'viewBox="0 0 {self.width} {self.height}"'
        return f'<svg class="{css}" {attributes} {size} {box}>{head}{"".join(self.parts)}</svg>'


def clean(text: str) -> str:
    """Escape a text as one line of XML.

    Characters that XML forbids become replacement characters.
    """
    kept = "".join("\ufffd" if _is_unfit(c) else c for c in " ".join(text.split()))
    return escape(kept)


def attribute(text: str) -> str:
    return clean(text).replace('"', "&quot;")


def _is_unfit(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"


def width_of(text: str, size: float = SIZE) -> float:
    """Estimate the width of a set text, in pixels."""
    return size * sum(map(_advance, text))


@lru_cache(maxsize=1024)
def _advance(character: str) -> float:
    if unicodedata.combining(character):
        return 0
    return WIDE if unicodedata.east_asian_width(character) in "WF" else NARROW


def shorten(text: str, width: float, size: float = SIZE) -> str:
    """Shorten a text on one line to this width. Its end is kept, since names differ there."""
    line = " ".join(text.split())
    if width_of(line, size) <= width:
        return line
    kept = line
    while kept and width_of("…" + kept, size) > width:
        kept = kept[1:]
    return "…" + kept


def wrap(text: str, width: float, size: float = SIZE) -> list[str]:
    """Break a text at blanks into lines of at most this width."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > width:
            lines.append(shorten(word, width, size))
        else:
            lines[-1] = shorten(longer, width, size)
    return lines


def text(css: str, x: float, y: float, words: str, anchor: str = "start", title: str = "") -> str:
    place = f'x="{number(x)}" y="{number(y)}"'
    placed = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text class="{css}" {place}{placed}>{_title(title)}{clean(words)}</text>'


def name(css: str, x: float, y: float, words: str, width: float, anchor: str = "start") -> str:
    """Draw a name shortened to a width, with the full name as a tooltip."""
    short = shorten(words, width, BOLD if css == "group" else SIZE)
    return text(css, x, y, short, anchor, words if short != words else "")


def line(css: str, start: Point, end: Point, title: str = "") -> str:
    (x1, y1), (x2, y2) = start, end
    place = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
    return _mark("line", css, place, title)


def rectangle(
    css: str, x: float, y: float, width: float, height: float, title: str = "", more: str = ""
) -> str:
    place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    return _mark("rect", css, f"{place}{more}", title)


def path(css: str, points: Iterable[Point]) -> str:
    """Draw a line through points."""
    return f'<polyline class="{css}" points="{_points(points)}"/>'


def area(css: str, points: Sequence[Point], title: str = "") -> str:
    return _mark("polygon", css, f'points="{_points(points)}"', title)


def circle(css: str, x: float, y: float, title: str = "", radius: float = 5) -> str:
    return _mark("circle", css, f'cx="{number(x)}" cy="{number(y)}" r="{radius}"', title)


def square(css: str, x: float, y: float, title: str = "", side: float = 9) -> str:
    return rectangle(css, x - side / 2, y - side / 2, side, side, title)


def triangle(css: str, x: float, y: float, title: str = "", size: float = 6) -> str:
    """Draw a triangle that points up, or down if its size is negative."""
    return area(
        css,
        [(x, y - size), (x + abs(size), y + size * 0.7), (x - abs(size), y + size * 0.7)],
        title,
    )


def cross(x: float, y: float, title: str = "", size: float = 4) -> str:
    """Draw a cross in place of an undefined value."""
    points = f"M{number(x - size)} {number(y - size)}L{number(x + size)} {number(y + size)}"
    points += f"M{number(x - size)} {number(y + size)}L{number(x + size)} {number(y - size)}"
    return _mark("path", "none", f'd="{points}"', title)


def number(value: float) -> str:
    """Format a coordinate to a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:g}"


def _mark(element: str, css: str, place: str, title: str) -> str:
    start = f'<{element} class="{css}" {place}'
    return f"{start}>{_title(title)}</{element}>" if title else f"{start}/>"


def _title(words: str) -> str:
    return f"<title>{clean(words)}</title>" if words else ""


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)
