"""What a section of a report declares, the task's noun, and how agreement is stated.

A section is a module: its numbers as JSON, their tables, their words and citations, and `PART`,
which `build` lists in reading order. Figures are declared in `tandem.figures`, by the section in
which they are drawn.

It is Cohen's kappa of pairs of raters, with quadratic weights where categories have an order, and
with MASI weights of sets of codes. The verdict, the first page, figures and tables of judges all
take it from here, so that two numbers beside each other can be compared. People's own number is its
mean over pairs of people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..document import (
    PLAIN,
    UNIT,
    UNITS,
    Block,
    Cell,
    Document,
    Number,
    Section,
    Table,
    compared_units,
    in_noun,
    with_counts,
)
from ..labels.frame import Frame
from ..labels.resampling import MEAN, Sample, Scores
from ..labels.selection import ReportOptions
from ..statistics import (
    ALPHA,
    EQUAL,
    FLEISS,
    KAPPA,
    OF_SETS,
    OF_TWO,
    ORDERED,
    WEIGHTED,
    Coefficient,
    Estimate,
)
from ..statistics.pairwise import LEAST_SHARED
from ..trust.check import Draw
from ..types import JSON
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


PHRASES = (
    "no unit ",
    "every unit ",
    "such a unit",
    "share a unit",
    "two units have both",
    "these units",
    "the units of each label",
    "shared units",
    "averaged over units",
    "equally many units",
    f"{LEAST_SHARED} units",
)
"""Phrases with *unit* in methods and reasons. A test checks that the list is complete."""


_SLOTTED = {each: each.replace("units", UNITS).replace("unit", UNIT) for each in PHRASES}


Noun = Sequence[str]


def noun_of(variable: JSON) -> Noun:
    """Return the name of a variable's units, in singular and plural."""
    noun: Noun = variable.get("noun", PLAIN)
    return noun


def common_noun(report: JSON) -> Noun:
    """Return the noun common to all variables of a report, or *unit*."""
    nouns = {tuple(noun_of(variable)) for variable in report["variables"].values()}
    return nouns.pop() if len(nouns) == 1 else PLAIN


def slotted(text: str) -> str:
    """Return a method or reason from the statistics with slots for the noun."""
    for phrase, slots in _SLOTTED.items():
        text = text.replace(phrase, slots)
    return text


def table_in_noun(table: Table, noun: Noun) -> Table:
    """Return a table with the noun in its caption, headings, methods and reasons."""
    header = tuple(in_noun(head, noun) if isinstance(head, str) else head for head in table.header)
    rows = tuple(tuple(_cell(cell, noun) for cell in row) for row in table.rows)
    return replace(table, caption=in_noun(table.caption, noun), header=header, rows=rows)


def _cell(cell: Cell, noun: Noun) -> Cell:
    if not isinstance(cell, Number):
        return cell
    method, reason = (in_noun(slotted(text), noun) for text in (cell.method, cell.reason))
    return replace(cell, method=method, reason=reason)


def block_in_noun(block: Block, noun: Noun) -> Block:
    tables = tuple(table_in_noun(table, noun) for table in block.tables)
    return replace(
        block, title=in_noun(block.title, noun), about=in_noun(block.about, noun), tables=tables
    )


def document_in_noun(shown: Document, noun: Noun) -> Document:
    """Return a document with a noun in the slots that are still empty."""
    return replace(
        shown,
        about=in_noun(shown.about, noun),
        sections=tuple(_section(each, noun) for each in shown.sections),
    )


def _section(section: Section, noun: Noun) -> Section:
    return replace(
        section,
        about=in_noun(section.about, noun),
        paragraphs=tuple(in_noun(each, noun) for each in section.paragraphs),
        points=tuple(in_noun(each, noun) for each in section.points),
        blocks=tuple(block_in_noun(block, noun) for block in section.blocks),
    )


def joined(words: list[str]) -> str:
    """Join words to a list in a sentence, separated by semicolons if they contain commas."""
    comma = ";" if any("," in word for word in words) else ","
    if len(words) < 2:
        return "".join(words)
    last = f"{comma} and " if comma == ";" else " and "
    return f"{f'{comma} '.join(words[:-1])}{last}{words[-1]}"


def named_blocks(blocks: Sequence[Block], name: str, report: JSON) -> Iterator[Block]:
    """Yield a variable's blocks under its name, if the report has several variables.

    The first block of a single variable has no title, and so is not folded.
    """
    several, noun = len(report["variables"]) > 1, noun_of(report["variables"][name])
    for n, each in enumerate(blocks):
        block = block_in_noun(of_variable(each, name), noun)
        if several:
            yield replace(block, title=f"{name}: {within(block.title)}")
        else:
            yield replace(block, title="" if n == 0 else block.title)


def of_variable(block: Block, name: str) -> Block:
    return with_counts(block, lambda count: count.within(variable=name))


def within(title: str) -> str:
    """Return a title in lower case, to follow a name; people's names in it keep their capitals."""
    return title[:1].lower() + title[1:]


MEAN_OF_PAIRS = "mean_of_pairs"
"""The key of people's mean over pairs within `agreement`."""
_FIRST = {"nominal": KAPPA, "set": OF_SETS}
"""The coefficient of each level that has no order."""


def choose_coefficient(block: JSON) -> str:
    """Return the key of the coefficient of a variable, from its block in the making.

    If neither people nor any judge has a kappa, since labels do not vary or there are too many
    categories, it is the share of equal labels.
    """
    first = _FIRST.get(block["measurement"], WEIGHTED).key
    if any(_value(of, first) is not None for of in _compared(block)):
        return first
    known = any(_value(of, EQUAL.key) is not None for of in _compared(block))
    return EQUAL.key if known else first


def _compared(block: JSON) -> Iterator[JSON]:
    yield block["agreement"].get(MEAN_OF_PAIRS, {})
    for judge in block["judges"].values():
        yield judge["gap"]
        yield judge["agreement"]


def _value(of: JSON, key: str) -> float | None:
    value: float | None = of.get(key, {}).get("value")
    return value


def coefficient_of(block: JSON) -> Coefficient:
    """Return the coefficient of a variable's block. Snapshots of older reports compare kappas."""
    if "coefficient" in block:
        return OF_TWO[block["coefficient"]]
    gaps = [judge.get("gap", {}) for judge in block.get("judges", {}).values()]
    equal = gaps and all(_value(gap, KAPPA.key) is None for gap in gaps)
    return EQUAL if equal else KAPPA


def people_of(block: JSON) -> tuple[Coefficient, JSON, tuple[str, ...]]:
    """Return the coefficient of people, its estimate, and its path within the block.

    If no pair of people has one, it is Fleiss' kappa of nominal variables and Krippendorff's alpha
    of all others, which use units that no large pair shares. Nothing of a judge stands beside it
    then, as a judge is compared with pairs.
    """
    agreement, shown = block["agreement"], coefficient_of(block)
    found: JSON = agreement.get(MEAN_OF_PAIRS, {}).get(shown.key, {})
    if shown != EQUAL and found.get("value") is not None:
        return shown, found, ("agreement", MEAN_OF_PAIRS, shown.key)
    other = FLEISS if block["measurement"] == "nominal" else ALPHA
    return other, agreement[other.key], ("agreement", other.key)
