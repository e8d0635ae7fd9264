"""What a figure of the report is, and what it is drawn of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from analysis.figures.svg import Drawing
from analysis.formats.document import Table

JSON = dict[str, Any]
Part = Literal["variables", "scores"]


@dataclass(frozen=True)
class Subject:
    """One variable or one score of a report: its name, its object, and the raters' kinds."""

    name: str
    block: JSON
    kinds: Mapping[str, str]

    @property
    def judges(self) -> JSON:
        """What a variable says of each judge."""
        return dict(self.block["judges"])


@dataclass(frozen=True)
class Figure:
    """A figure: its name in addresses, its title, and the part of the report that it is drawn of.

    `suits` says whether there is anything to draw; `data` has the numbers that are drawn, in full;
    `caption` says how to read it.
    """

    name: str
    title: str
    part: Part
    caption: str
    suits: Callable[[Subject], bool]
    data: Callable[[Subject], Table]
    draw: Callable[[Subject], Drawing]
