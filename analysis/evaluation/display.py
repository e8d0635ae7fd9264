"""The visible parts of a report of measures, and the order of its systems."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from analysis.evaluation.inputs import JOINT_EVALUATORS, TEXTS
from tandem.labels.selection import option_metadata
from tandem.options import options_of
from tandem.types import JSON

NO_CUT = "whole"


@dataclass(frozen=True)
class DisplayOptions:
    """The parts of a report to show. An empty tuple selects everything.

    `order` is the measure by which systems are sorted: the highest first, or the lowest first if a
    `-` precedes the name. If it is empty, systems are in the order of the batch. Tests and letters
    always cover all systems, including hidden ones.
    """

    measures: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "show only this measure; may be given several times, as the next three",
            name="measure",
            label="Measures",
        ),
    )
    evaluators: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "only this system ranking: people, a rater, texts or people+JUDGE",
            name="evaluator",
            label="Evaluators",
        ),
    )
    systems: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "only this system; it was compared with all others", name="system", label="Systems"
        ),
    )
    cuts: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "only this cut of rankings, such as @10, or whole", name="cut", label="Cuts of rankings"
        ),
    )
    order: str = field(
        default="",
        metadata=option_metadata(
            "the measure by which systems are sorted, highest first; -NAME for lowest"
        ),
    )


DISPLAY_OPTIONS = options_of(DisplayOptions)


@dataclass
class AvailableParts:
    """What a report contains: the values that the options of `DisplayOptions` can take."""

    measures: list[str] = field(default_factory=list)
    evaluators: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)

    @classmethod
    def from_report(cls, report: JSON) -> AvailableParts:
        boards = report["leaderboard"]["boards"]
        return cls(
            list(report["measures"]),
            [name_of(board) for board in boards],
            list(report["leaderboard"]["letters"]),
            list(dict.fromkeys(each["cut"] or NO_CUT for each in report["measures"].values())),
        )

    def lacking(self, shown: DisplayOptions) -> list[str]:
        """Return an error message for each selected part that does not exist."""
        found = []
        for one, chosen, there in (
            ("measure", shown.measures, self.measures),
            ("evaluator", shown.evaluators, self.evaluators),
            ("system", shown.systems, self.systems),
            ("cut", shown.cuts, self.cuts),
            (
                "measure to order by",
                tuple(filter(None, (shown.order.removeprefix("-"),))),
                self.measures,
            ),
        ):
            names = ", ".join(there[:12]) + (" …" if len(there) > 12 else "")
            missing = [name for name in chosen if name not in there]
            found += [f"There is no {one} {name!r}; there are {names}." for name in missing]
        return found


def own_measures(report: JSON) -> list[str]:
    """Return the measures that depend on labels; the others depend on the batch alone."""

    def is_own(of: JSON) -> bool:
        return any(
            bool(said["raters"])
            or any(said.get(each) for each in JOINT_EVALUATORS if each != TEXTS)
            for said in of["systems"].values()
        )

    return [name for name, of in report["measures"].items() if is_own(of)]


def name_of(board: JSON) -> str:
    """Return the name of a ranking. A judge has its own ranking, and one combined with people."""
    return f"people+{board['by']}" if board["kind"] == "powered" else str(board["by"])


def select_shown(report: JSON, shown: DisplayOptions) -> JSON:
    """Return the selected parts of the report. Raises ValueError for unknown ones."""
    if problems := AvailableParts.from_report(report).lacking(shown):
        raise ValueError(" ".join(problems))
    kept = [
        name
        for name, of in report["measures"].items()
        if _is_selected(shown.measures, name) and _is_selected(shown.cuts, of["cut"] or NO_CUT)
    ]
    board = report["leaderboard"]
    chosen = [each for each in board["boards"] if _is_selected(shown.evaluators, name_of(each))]
    rows = [_rows(each["systems"], shown.systems, kept) for each in chosen]
    boards = [
        {**each, "systems": _ordered(systems, shown.order, each)}
        for each, systems in zip(chosen, rows, strict=True)
    ]
    measures = {name: _measure(report["measures"][name], shown.systems) for name in kept}
    return {**report, "leaderboard": {**board, "boards": boards}, "measures": measures}


def _is_selected(chosen: Collection[str], name: str) -> bool:
    return not chosen or name in chosen


def _measure(of: JSON, systems: Collection[str]) -> JSON:
    def only(held: JSON) -> JSON:
        return {name: each for name, each in held.items() if _is_selected(systems, name)}

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
    """Return the pairs of which both systems are shown."""
    return [pair for pair in pairs if all(_is_selected(systems, pair[side]) for side in ("a", "b"))]


def _rows(rows: JSON, systems: Collection[str], measures: Collection[str]) -> JSON:
    return {
        system: {name: each for name, each in row.items() if name in measures}
        for system, row in rows.items()
        if _is_selected(systems, system)
    }


def _ordered(rows: JSON, order: str, board: JSON) -> JSON:
    """Sort systems by a measure, those without a value last; ties keep their order."""
    if not order:
        return rows
    name, sign = order.removeprefix("-"), 1 if order.startswith("-") else -1

    def place(system: str) -> tuple[bool, float]:
        value = board["systems"][system].get(name, {}).get("value")
        return (value is None, 0.0 if value is None else sign * value)

    return {system: rows[system] for system in sorted(rows, key=place)}
