"""What of the measures a reader wants to see, and in which order: a smaller report of the same."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from analysis.measuring.computing import JSON

NO_CUT = "whole"


@dataclass(frozen=True)
class Shown:
    """Empty tuples take everything. `order` is a measure by which systems stand, the highest first,
    the lowest with `-` before it; empty for the order of the batch.

    Tests and letters stay those of all systems: what is hidden was compared all the same.
    """

    measures: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    order: str = ""


@dataclass
class Offered:
    """What there is to choose from in a report."""

    measures: list[str] = field(default_factory=list)
    evaluators: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, report: JSON) -> Offered:
        boards = report["leaderboard"]["boards"]
        return cls(
            list(report["measures"]),
            [name_of(board) for board in boards],
            list(report["leaderboard"]["letters"]),
            list(dict.fromkeys(each["cut"] or NO_CUT for each in report["measures"].values())),
        )

    def lacking(self, shown: Shown) -> list[str]:
        """What was chosen and is not there, in sentences."""
        found = []
        for one, chosen, there in (
            ("measure", shown.measures, self.measures),
            ("evaluator", shown.evaluators, self.evaluators),
            ("system", shown.systems, self.systems),
            ("cut", shown.cuts, self.cuts),
            ("measure to order by", tuple(filter(None, (shown.order.removeprefix("-"),))),
             self.measures),
        ):  # fmt: skip
            names = ", ".join(there[:12]) + (" …" if len(there) > 12 else "")
            missing = [name for name in chosen if name not in there]
            found += [f"There is no {one} {name!r}; there are {names}." for name in missing]
        return found


def name_of(board: JSON) -> str:
    """A board's own name: a judge has one by itself, and one together with people."""
    return f"people+{board['by']}" if board["kind"] == "powered" else str(board["by"])


def shown_of(report: JSON, shown: Shown) -> JSON:
    """The report with what was chosen. Raises ValueError for what is not there."""
    if problems := Offered.of(report).lacking(shown):
        raise ValueError(" ".join(problems))
    kept = [
        name for name, of in report["measures"].items()
        if _takes(shown.measures, name) and _takes(shown.cuts, of["cut"] or NO_CUT)
    ]  # fmt: skip
    board = report["leaderboard"]
    chosen = [each for each in board["boards"] if _takes(shown.evaluators, name_of(each))]
    rows = [_rows(each["systems"], shown.systems, kept) for each in chosen]
    boards = [
        {**each, "systems": _ordered(systems, shown.order, each)}
        for each, systems in zip(chosen, rows, strict=True)
    ]
    measures = {name: _measure(report["measures"][name], shown.systems) for name in kept}
    return {**report, "leaderboard": {**board, "boards": boards}, "measures": measures}


def _takes(chosen: Collection[str], name: str) -> bool:
    return not chosen or name in chosen


def _measure(of: JSON, systems: Collection[str]) -> JSON:
    def only(held: JSON) -> JSON:
        return {name: each for name, each in held.items() if _takes(systems, name)}

    slices = {
        stratum: {value: only(each) for value, each in values.items()}
        for stratum, values in of["slices"].items()
    }
    tested = {by: _both(pairs, systems) for by, pairs in of["settings"].items()}
    powered = {
        judge: {"systems": only(each["systems"]), "pairs": _both(each["pairs"], systems)}
        for judge, each in of["powered"].items()
    }
    held = {"slices": slices, "settings": tested, "powered": powered}
    return {**of, "systems": only(of["systems"]), **held}


def _both(pairs: list[JSON], systems: Collection[str]) -> list[JSON]:
    """The pairs of which both systems are shown."""
    return [pair for pair in pairs if all(_takes(systems, pair[side]) for side in ("a", "b"))]


def _rows(rows: JSON, systems: Collection[str], measures: Collection[str]) -> JSON:
    return {
        system: {name: each for name, each in row.items() if name in measures}
        for system, row in rows.items()
        if _takes(systems, system)
    }


def _ordered(rows: JSON, order: str, board: JSON) -> JSON:
    """Systems by a measure, those without a value last; the sort keeps the order of ties."""
    if not order:
        return rows
    name, sign = order.removeprefix("-"), 1 if order.startswith("-") else -1

    def place(system: str) -> tuple[bool, float]:
        value = board["systems"][system].get(name, {}).get("value")
        return (value is None, 0.0 if value is None else sign * value)

    return {system: rows[system] for system in sorted(rows, key=place)}
