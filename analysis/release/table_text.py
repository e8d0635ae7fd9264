"""Where the text of a paper's tables differs from the one that their JSON gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

_BAR = re.compile(r"(?<!\\)\|")


def differences_in_text(expected: str, text: str, name: str) -> Iterator[str]:
    """Yield each cell of the Markdown tables in the file `name` that differs, with its place.

    Any other line that differs is named by its number, and nothing after it.
    """
    table, caption, head = "", "", list[str]()
    lines = zip_longest(expected.split("\n"), text.split("\n"))
    for number, (line, found) in enumerate(lines, start=1):
        cells, others = _cells(line), _cells(found)
        if line != found:
            if not head or len(cells) != len(others) or len(cells) != len(head):
                yield f"line {number} of {name} is not that of the tables' JSON"
                return
            for column, one, other in zip(head, cells, others, strict=True):
                if one != other:
                    place = ", ".join(filter(None, (table, caption, cells[0], column)))
                    yield f"{place}: {other!r} in {name}, and {one!r} by the tables' JSON"
        if line is not None and line.startswith("## "):
            table, caption = line.removeprefix("## "), ""
        elif line is not None and line.startswith("**"):
            caption = line.strip("*")
        head = (head or cells) if cells else []


def _cells(line: str | None) -> list[str]:
    """Return the cells of a line of a table; none for another line."""
    if line is None or not line.startswith("|"):
        return []
    return [cell.strip() for cell in _BAR.split(line)[1:-1]]
