"""What a section of a report declares: what it computes, where it stands, and what methods say.

A section is a module: its numbers as JSON, their tables, their words and citations, and `PART`,
which `build` lists in reading order. Figures are declared in `tandem.figures`, by the section in
which they are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..document import Block, Cell, Number, Section, Table
from ..labels.frame import Frame
from ..labels.resampling import MEAN, Sample, Scores
from ..labels.selection import ReportOptions
from ..statistics import ORDERED, Estimate
from ..trust.check import Draw
from ..types import JSON
from ..unit_counts import compared_units
from .words import codes_of

PEOPLE, JUDGES, JUDGE, SYSTEMS = "people", "judges", "judge", "systems"
"""Sections of the document to which several modules add blocks: on people, on judges side by side,
on each judge, and on scores of systems."""
OF_AGREEMENT, OF_JUDGES = "Agreement among people", "Judges"
OF_SCORES, FURTHER = "Scores and systems", "Further statistics"
"""Paragraphs of the methods to which modules add sentences."""


@dataclass(frozen=True)
class Labels:
    """The labels of a variable of `frame`: all of them as `sample`, and the comparable as `both`.

    `block` has what is computed so far, under the report's keys. `draw` says how the queries with
    people's labels were drawn, if that is known.
    """

    frame: Frame
    sample: Sample
    both: Sample
    options: ReportOptions
    block: JSON
    draw: Draw | None = None

    def judge(self, column: int) -> JSON:
        """Return the block of the judge in a column."""
        found: JSON = self.block["judges"][self.sample.frame.raters[column].name]
        return found


@dataclass(frozen=True)
class Shown:
    """A variable or a score of a report, by its `name`, and the judge that the section is about."""

    report: JSON
    name: str
    judge: str = ""

    @property
    def variable(self) -> JSON:
        found: JSON = self.report["variables"][self.name]
        return found

    @property
    def score(self) -> JSON:
        found: JSON = self.report["scores"][self.name]
        return found

    @property
    def systems(self) -> list[str]:
        """The systems by people's mean score, highest first, and those without a mean last."""
        return order_of_systems(self.score)

    @property
    def block(self) -> JSON:
        """What the variable has on the judge."""
        found: JSON = self.variable["judges"][self.judge]
        return found

    @property
    def is_ordered(self) -> bool:
        return self.variable["measurement"] in ORDERED

    @property
    def codes(self) -> Mapping[str, str]:
        """The codes of the words that the variable has in place of them."""
        return codes_of(self.variable)

    def compared(self, units: int) -> int:
        """Return a count of units, linked to those on which the judge and people are compared."""
        return compared_units(self.block, self.judge, units)


def order_of_systems(score: JSON) -> list[str]:
    """Return the systems of a score by people's mean, highest first, those without one last."""
    means = score["systems"]

    def value(system: str) -> float | None:
        found = means[system].get(MEAN) or score.get("majority", {}).get(system)
        return found["value"] if found else None

    values = {system: value(system) for system in means}
    return sorted(values, key=lambda each: (values[each] is None, -(values[each] or 0)))


@dataclass(frozen=True)
class SectionPart:
    """A part of the report, with the functions that it has.

    `compute` returns keys of a variable, after the report is first shown if it `is_slow`,
    `of_judge` keys of a judge, by its column, and `of_score` keys of a score from its block so far.
    To the document's section `place` are added, for each variable or score, `blocks`, or a block
    with `title`, `tables` and words `about` them, and `after` all variables further blocks; equal
    titles of a variable share a block. `section` returns whole sections instead.
    `methods` are sentences in the paragraph `head`. A link to the variable's `key` leads to the
    section.
    """

    place: str = ""
    key: str = ""
    compute: Callable[[Labels], JSON] | None = None
    is_slow: bool = False
    of_judge: Callable[[Labels, int], JSON] | None = None
    of_score: Callable[[Scores, ReportOptions, JSON], JSON] | None = None
    blocks: Callable[[Shown], Iterable[Block]] | None = None
    title: str = ""
    tables: Callable[[Shown], Iterable[Table]] | None = None
    about: Callable[[Shown], str] = lambda shown: ""
    after: Callable[[JSON, str], Iterable[Block]] | None = None
    section: Callable[[JSON], Iterable[Section]] | None = None
    head: str = FURTHER
    methods: Callable[[JSON], Iterable[str]] | None = None

    def shown(self, shown: Shown) -> Iterator[Block]:
        """Yield the blocks of a variable, of a judge of it, or of a score."""
        yield from self.blocks(shown) if self.blocks else ()
        if tables := tuple(self.tables(shown) if self.tables else ()):
            yield Block(self.title, tables, self.about(shown))


def blocks_of_judges(report: JSON) -> list[JSON]:
    """Return the blocks of all judges of all variables."""
    return [of for variable in report["variables"].values() for of in variable["judges"].values()]


def as_json(estimates: Mapping[str, Estimate]) -> JSON:
    return {name: estimate.as_json() for name, estimate in estimates.items()}


MOST_ROWS = 30
"""Above this number of people, tables show only a few of them."""


ANY = "*"
"""The filter of the list of disagreements for any grade, or any label of the baseline."""


def first_rows(
    caption: str, rows: Sequence[tuple[Cell, ...]], order: Sequence[float], what: str
) -> tuple[str, tuple[tuple[Cell, ...], ...]]:
    """Return a table's caption and rows, limited to those with the highest `order`."""
    if len(rows) <= MOST_ROWS:
        return caption, tuple(rows)
    ranked = sorted(range(len(rows)), key=lambda n: -order[n])[:MOST_ROWS]
    return f"{caption}: of {len(rows)} the {MOST_ROWS} {what}", tuple(rows[n] for n in ranked)


def estimate_cells(block: JSON, names: dict[str, str]) -> tuple[Number, ...]:
    """Return the named estimates of a block as cells."""
    return tuple(Number.from_estimate(block[name]) for name in names)


def estimate_rows(
    block: JSON, labels: Mapping[str, str], units: Callable[[int], int] = int
) -> tuple[tuple[Cell, ...], ...]:
    """Return a row for each label whose estimate is in a block: the estimate and its units."""
    return tuple(
        (label, Number.from_estimate(block[key]), units(block[key]["n"]))
        for key, label in labels.items()
        if key in block
    )
