"""Agreement of people and of judges before and after a change of the guideline, in words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..document import Block, Cell, Number, RaterName, Section, Table, UnitCount, count, with_counts
from ..sections.sentence import number
from ..statistics.coefficients import ALPHA, EQUAL, FLEISS
from ..statistics.estimate import Coefficient
from ..types import JSON
from .nouns import noun_of

GUIDELINE = "guideline"
OF_ALL_RATERS = "labels that all raters gave under this version; the list filters only one person's"
CAVEAT = (
    "A pair of labels counts under the version that both raters followed. The versions may differ "
    "in people and texts, so a difference need not come from the guideline."
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
        made = [Block(name if several else "", tuple(_tables(variable)))]
        if tables := tuple(_judges_tables(variable)):
            made.append(Block(f"{name}: judges" if several else "Judges", tables))
        blocks += [with_counts(each, partial(_of_variable, name)) for each in made]
    if not blocks:
        return []
    return [Section("Guideline", tuple(blocks), CAVEAT, points=tuple(points), name=GUIDELINE)]


def _of_variable(name: str, units: UnitCount) -> UnitCount:
    return units.within(variable=name)


def _coefficient(variable: JSON) -> Coefficient:
    """Return the coefficient of labels that were given under one version.

    It uses every pair of labels: few people gave enough under one version to be compared in pairs.
    """
    return FLEISS if variable["measurement"] == "nominal" else ALPHA


def named(version: int | None) -> str:
    return "the protocol's own guideline" if version is None else f"version {version}"


def _sentences(variable: JSON) -> Iterator[str]:
    """Describe the agreement before and after each change, or why it is unknown."""
    shown = _coefficient(variable)
    key, sign = shown.key, shown.sign
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
        yield f"{_direction(change[key])}: {sides}, {_difference(change[key])}."
    for judge, of in variable["guidelines"].get("judges", {}).items():
        yield from _of_judge(judge, of, variable)
    if unknown := variable["guidelines"]["unknown"]:
        labels = count(unknown, "label")
        yield f"{labels} without a known version, such as imported ones, are left out."


def _of_judge(judge: str, found: JSON, variable: JSON) -> Iterator[str]:
    """Describe a judge's agreement with people before and after each change, if known."""
    versions = {each["version"]: each for each in found["versions"]}
    if len(versions) < 2:
        under = f"only under {named(next(iter(versions)))}" if versions else "under none of them"
        yield f"The judge {judge} labelled {under}: there is no before and after to compare."
    for change in found["changes"]:
        before, after, of = change["before"], change["after"], change[ALPHA.key]
        if of["value"] is None:
            steps = f"from {named(before)} to {named(after)}"
            yield f"The judge {judge} {steps}: not known, {of['reason']}."
            continue
        sides = " and ".join(
            f"α {number(versions[side]['krippendorff_alpha'])} under {named(side)} "
            f"({_units(variable, versions[side]['units'])})"
            for side in (before, after)
        )
        yield f"{_change_of(judge, of)}: {sides}, {_difference(of)}."


def _change_of(judge: str, of: JSON) -> str:
    """Describe the conclusion from the interval of a judge's difference."""
    if of["low"] is None or of["low"] <= 0 <= of["high"]:
        return f"No change of the judge {judge} with people can be shown"
    how = "better" if of["low"] > 0 else "less"
    return f"The judge {judge} agrees {how} with people since the change"


def _direction(of: JSON) -> str:
    """Describe the conclusion from the interval of the difference."""
    if of["low"] is None or of["low"] <= 0 <= of["high"]:
        return "No change of agreement among people can be shown"
    how = "better" if of["low"] > 0 else "less"
    return f"People agree {how} since the change"


def _difference(of: JSON) -> str:
    """Format a difference with its interval, or with the reason why it has none."""
    _, none, why = of["method"].partition("no interval: ")
    return f"a difference of {number(of)}{f'; {none}{why}' if of['low'] is None else ''}"


def _units(variable: JSON, units: int) -> str:
    return count(units, *noun_of(variable))


def _tables(variable: JSON) -> Iterator[Table]:
    shown = _coefficient(variable)
    key = shown.key
    noun = noun_of(variable)[1]
    rows: list[tuple[Cell, ...]] = [
        (
            _title(each["version"]),
            each["people"],
            each["labels"],
            _units_under(each["digest"], each["units"], show="several"),
            Number.from_estimate(each[key]),
            Number.from_estimate(each[EQUAL.key]),
        )
        for each in variable["guidelines"]["versions"]
    ]
    header = ("Guideline", "People", "Labels", f"{noun.capitalize()} of two people")
    yield Table("Agreement under each version", (*header, shown.name, "Percent"), tuple(rows))
    changes: list[tuple[Cell, ...]] = [
        (
            f"{_title(each['after'])} less {named(each['before'])}",
            Number.from_estimate(each[key]),
            Number.from_estimate(each[EQUAL.key]),
        )
        for each in variable["guidelines"]["changes"]
    ]
    yield Table(
        "After each change less before it", ("Change", shown.name, "Percent"), tuple(changes)
    )


def _units_under(digest: str, units: int, **filters: str) -> int:
    """Return the count of units under a version, unlinked for the protocol's own guideline."""
    if not digest:
        return units
    return UnitCount.of(units, guideline=digest, **filters).counting(OF_ALL_RATERS)


def _judges_tables(variable: JSON) -> Iterator[Table]:
    """Yield tables of judges' agreement with people by version, and of its changes."""
    judges, noun = variable["guidelines"].get("judges", {}), noun_of(variable)[1]
    several = {name: of for name, of in judges.items() if of["changes"]}
    if not several:
        return
    digests = {each["version"]: each["digest"] for each in variable["guidelines"]["versions"]}
    rows: list[tuple[Cell, ...]] = [
        (
            RaterName(name, "judge"),
            _title(each["version"]),
            each["labels"],
            _units_under(digests[each["version"]], each["units"], show="labelled", one=name),
            Number.from_estimate(each[ALPHA.key]),
            Number.from_estimate(each[EQUAL.key]),
        )
        for name, of in several.items()
        for each in of["versions"]
    ]
    header = (
        "Judge",
        "Guideline",
        "Labels",
        f"{noun.capitalize()} with people",
        ALPHA.name,
        "Percent",
    )
    yield Table("Judges with people's majority under each version", header, tuple(rows))
    changes: list[tuple[Cell, ...]] = [
        (
            RaterName(name, "judge"),
            f"{_title(each['after'])} less {named(each['before'])}",
            Number.from_estimate(each[ALPHA.key]),
            Number.from_estimate(each[EQUAL.key]),
        )
        for name, of in several.items()
        for each in of["changes"]
    ]
    caption = "Judges with people's majority, after each change less before it"
    yield Table(caption, ("Judge", "Change", ALPHA.name, "Percent"), tuple(changes))


def _title(version: int | None) -> str:
    words = named(version)
    return words[:1].upper() + words[1:]
