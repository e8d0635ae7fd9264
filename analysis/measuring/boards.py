"""Leaderboards as tables: one for each evaluator and cut, systems down, measures across."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from analysis.formats.document import DASH, Block, Cell, Number, Section, Table
from analysis.measuring.parts import MEAN_OF_PEOPLE, PEOPLE, TEXTS
from analysis.measuring.voices import HUMAN, JUDGE

JSON = dict[str, Any]
NO_VALUE = "no value here"
NO_TEST = "not tested: people together are, unit by unit"
TITLES = {
    PEOPLE: "Under people together",
    MEAN_OF_PEOPLE: "Under the mean of people",
    TEXTS: "From the batch alone",
    JUDGE: "Under the judge {}, uncorrected",
    "powered": "People and {} together (prediction-powered)",
    "reference": "Under the Reference {}",
    HUMAN: "Under {}",
}
SIGNS: dict[str, str] = {PEOPLE: HUMAN, MEAN_OF_PEOPLE: HUMAN, "powered": JUDGE, TEXTS: ""}


def board_sections(report: JSON) -> list[Section]:
    """The leaderboards; persons by themselves stand under their measures."""
    blocks = tuple(block for board in shown_boards(report) for block in _blocks(report, board))
    return [Section("Leaderboards", blocks, _about(report))] if blocks else []


def shown_boards(report: JSON) -> list[JSON]:
    """All boards but those of single people, unless there are no others."""
    boards: list[JSON] = report["leaderboard"]["boards"]
    return [each for each in boards if each["kind"] != HUMAN] or boards


def _about(report: JSON) -> str:
    percent = f"{100 * report['leaderboard']['level']:g} %"
    return (
        "The letters after a number are the systems over which it is significantly higher, at "
        f"{percent}, adjusted over all pairs of systems of the measure (Holm); the test is that of "
        "the intervals, t by query, so that there is no letter without intervals. What is higher "
        "is not always better. Not tested are cuts of rankings, and the oracle by a measure whose "
        "yardstick it is."
    )


def _blocks(report: JSON, board: JSON) -> Iterator[Block]:
    title, kind = title_of(board)
    tables = tuple(board_table(report, board, cut) for cut in cuts_of(report, board))
    if tables:
        yield Block(title, tables, tested(board), kind)


def tested(board: JSON) -> str:
    """By what a board's systems are tested, in words."""
    return f"tested by {board['test']}" if board["test"] else NO_TEST


def title_of(board: JSON) -> tuple[str, str]:
    """A board's title, and the sign of its evaluator."""
    kind: str = board["kind"]
    return TITLES.get(kind, "{}").format(board["by"]), SIGNS.get(kind, kind)


def cuts_of(report: JSON, board: JSON) -> list[str]:
    """The cuts of the measures that a board has, in order; empty for whole rankings."""
    names = dict.fromkeys(name for row in board["systems"].values() for name in row)
    return list(dict.fromkeys(report["measures"][name]["cut"] for name in names))


def board_table(report: JSON, board: JSON, cut: str) -> Table:
    """A board at a cut."""
    letters, measures = report["leaderboard"]["letters"], report["measures"]
    there = {name for row in board["systems"].values() for name in row}
    names = [name for name, of in measures.items() if name in there and of["cut"] == cut]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{letters[system]}  {system or DASH}", *(_number(row.get(n), letters) for n in names))
        for system, row in board["systems"].items()
        if any(name in row for name in names)
    )
    caption = f"Systems, rankings cut {_in_words(cut)}" if cut else "Systems"
    return Table(caption, ("System", *names), rows)


def _in_words(cut: str) -> str:
    at = cut.removeprefix("@")
    return "at the size of the oracle context" if at == "oracle" else f"at {at}"


def _number(cell: JSON | None, letters: JSON) -> Number:
    if cell is None:
        return Number(None, reason=NO_VALUE)
    above = tuple(letters[system] for system in cell["higher_than"] or ())
    return replace(Number.of(cell), above=above)


def rank_sections(report: JSON) -> list[Section]:
    """Whether people and judges order the systems alike, also by two forms of a measure."""
    beside: list[tuple[Cell, ...]] = []
    squares: dict[tuple[str, ...], list[tuple[Cell, ...]]] = {}
    for name, of in report["measures"].items():
        if of["evaluators"]:
            names = tuple(of["evaluator_matrix"]["evaluators"])
            squares.setdefault(names, []).extend(_square(name, names, of["evaluators"]))
        beside += [
            (f"{name} – {pair['form']}", *_pair(pair), Number.of(pair["spearman"]))
            for pair in of["forms"]
        ]
    if not squares and not beside:
        return []
    tables = [
        Table(
            "Kendall's tau-b of the systems' means", ("Measure", "Evaluator", *names), tuple(rows)
        )
        for names, rows in squares.items()
    ]
    if beside:
        about = "By two forms of a measure: tau of the systems' means, Spearman of all reports"
        header = ("Measure", "Evaluators", "tau", "Spearman")
        tables.append(Table(about, header, tuple(beside)))
    about = (
        "From six systems on, the oracle apart. Whole queries are resampled; where queries have "
        "roles, of evaluation queries only."
    )
    return [Section("Do evaluators order the systems alike?", (Block("", tuple(tables)),), about)]


def _square(measure: str, names: tuple[str, ...], pairs: list[JSON]) -> Iterator[tuple[Cell, ...]]:
    """A row for each evaluator, with its tau with each; a blank with itself and its own people."""
    taus = {frozenset((pair["a"], pair["b"])): Number.of(pair["kendall"]) for pair in pairs}
    for one in names:
        yield measure, one, *(taus.get(frozenset((one, other)), Number(None)) for other in names)


def _pair(pair: JSON) -> tuple[Cell, Cell]:
    return f"{pair['a']} – {pair['b']}", Number.of(pair["kendall"])
