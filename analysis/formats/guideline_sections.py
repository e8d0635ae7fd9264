"""Agreement of people before and after a change of the guideline, as a section in words."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Block, Cell, Number, Section, Table, count
from ..report.sentence import number
from ..report.verdict import coefficient_of
from ..types import JSON
from .nouns import noun_of

GUIDELINE = "guideline"
NAMES = {"fleiss_kappa": "Fleiss' kappa", "krippendorff_alpha": "Krippendorff's alpha"}
CAVEAT = (
    "A pair of labels counts under the version that both people followed. Other people and other "
    "texts may stand behind another version, so a difference need not come from the guideline."
)


def guideline_section(report: JSON) -> list[Section]:
    """Return agreement before and after each change; nothing if all followed one guideline."""
    several = len(report["variables"]) > 1
    blocks: list[Block] = []
    points: list[str] = []
    for name, variable in report["variables"].items():
        if not (found := variable.get("guidelines")) or len(found["versions"]) < 2:
            continue
        points += [f"{name}: {each}" if several else each for each in _sentences(variable)]
        blocks.append(Block(name if several else "", tuple(_tables(variable))))
    if not blocks:
        return []
    return [Section("Guideline", tuple(blocks), CAVEAT, points=tuple(points), name=GUIDELINE)]


def named(version: int | None) -> str:
    return "the protocol's own guideline" if version is None else f"version {version}"


def _sentences(variable: JSON) -> Iterator[str]:
    """Say of each change how agreement was before and after it, or why that is not known."""
    key, sign = coefficient_of(variable)
    versions = {each["version"]: each for each in variable["guidelines"]["versions"]}
    for change in variable["guidelines"]["changes"]:
        before, after = (change["before"], change["after"])
        if change[key]["value"] is None:
            sentence = f"From {named(before)} to {named(after)}: not known, {change[key]['reason']}"
            yield f"{sentence}."
            continue
        sides = " and ".join(
            f"{sign} {number(versions[side][key])} under {named(side)} "
            f"({_units(variable, versions[side]['units'])})"
            for side in (before, after)
        )
        yield f"{_direction(change[key])}: {sides}, a difference of {number(change[key])}."
    if unknown := variable["guidelines"]["unknown"]:
        labels = count(unknown, "label")
        yield f"{labels} without a known version, such as imported ones, are left out."


def _direction(of: JSON) -> str:
    """Tell what the interval of the difference supports."""
    if of["low"] is None:
        return "Without an interval, no change can be shown"
    if of["low"] > 0:
        return "People agree better since the change"
    return "People agree less since the change" if of["high"] < 0 else "No change can be shown"


def _units(variable: JSON, units: int) -> str:
    return count(units, *noun_of(variable))


def _tables(variable: JSON) -> Iterator[Table]:
    key = coefficient_of(variable)[0]
    noun = noun_of(variable)[1]
    rows: list[tuple[Cell, ...]] = [
        (
            _title(each["version"]),
            each["people"],
            each["labels"],
            each["units"],
            Number.from_estimate(each[key]),
            Number.from_estimate(each["percent"]),
        )
        for each in variable["guidelines"]["versions"]
    ]
    header = ("Guideline", "People", "Labels", f"{noun.capitalize()} of two people")
    yield Table("Agreement under each version", (*header, NAMES[key], "Percent"), tuple(rows))
    changes: list[tuple[Cell, ...]] = [
        (
            f"{_title(each['after'])} less {named(each['before'])}",
            Number.from_estimate(each[key]),
            Number.from_estimate(each["percent"]),
        )
        for each in variable["guidelines"]["changes"]
    ]
    yield Table(
        "After each change less before it", ("Change", NAMES[key], "Percent"), tuple(changes)
    )


def _title(version: int | None) -> str:
    words = named(version)
    return words[:1].upper() + words[1:]
