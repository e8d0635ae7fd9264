"""The style of figures that stand alone: the page's own style sheet in its light colours."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders

SHEET, TOKENS = "css/figures.css", "css/tandem.css"
FACES = '"Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", sans-serif'


@cache
def file_style() -> str:
    """`figures.css` with the light value of each colour in its place; it holds no markup."""
    light = dict(re.findall(r"(--[\w-]+): light-dark\((#\w+),", _read(TOKENS))) | {"--ui": FACES}
    sheet = re.sub(r"/\*.*?\*/\s*", "", _read(SHEET), flags=re.DOTALL)
    return re.sub(r"var\((--[\w-]+)\)", lambda token: light[token[1]], sheet)


def _read(sheet: str) -> str:
    return Path(str(finders.find(sheet))).read_text("utf-8")
