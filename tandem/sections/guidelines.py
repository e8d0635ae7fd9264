"""Section: agreement of people, and of judges with people, before and after guideline changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from ..document import (
    PLAIN,
    Block,
    Cell,
    Number,
    RaterName,
    Section,
    Table,
    UnitCount,
    count,
    with_counts,
)
from ..labels.frame import Guideline
from ..labels.guidelines import judge_codes_under, people_codes_under
from ..labels.reference import reference_of
from ..labels.resampling import Sample
from ..statistics import (
    ALPHA,
    EQUAL,
    FLEISS,
    Coefficient,
    Estimate,
    Floats,
    Ints,
    Level,
    agreement_change,
    agreement_estimates,
    undefined,
)
from ..types import JSON
from .agreement import own_codes
from .base import Labels, SectionPart, as_json
from .nouns import noun_of
from .sentence import number

FEWEST = 30
"""With fewer units that two people labelled under a version, no figure of it is shown.

So few units support no conclusion, and their figures would reveal single answers.
"""


def _on_scale(sample: Sample, codes: Ints) -> tuple[Ints, int, Level, Floats | None]:
    """Return codes unchanged, with the number of codes, the level and the values of the scale."""
    scale = sample.frame.scale
    return codes, sample.k, scale.level, scale.values() if scale.categories else None


@dataclass(frozen=True)
class _Raters:
    """The raters to compare, the coefficients, and the codes."""

    whose: str
    method: str
    names: tuple[str, ...]
    coded: Callable[[Sample, Ints], tuple[Ints, int, Level, Floats | None]]


PEOPLE = _Raters(
    "labels from two people",
    "among labels that people gave under one version of the guideline",
    (EQUAL.key, FLEISS.key, ALPHA.key),
    own_codes,
)
WITH_JUDGE = _Raters(
    "labels from people and from the judge",
    "of a judge with people, among labels given under one version of the guideline",
    (EQUAL.key, ALPHA.key),
    _on_scale,
)


def guidelines(
    sample: Sample,
    versions: Sequence[Guideline],
    noun: Sequence[str] = PLAIN,
    compared: Sample | None = None,
) -> JSON:
    """Return people's agreement under each version of the guideline, and its changes.

    A pair of labels counts if both were given under the version. Versions under which nobody
    labelled this variable are left out. `noun` is the units' noun, singular and plural. Judges are
    compared with people on the part `compared`; None for the whole sample.
    """
    codes = {n: people_codes_under(sample.frame, n) for n in range(len(versions))}
    used = [n for n, of in codes.items() if (of >= 0).any()]
    labels = {n: int((codes[n] >= 0).sum()) for n in used}
    every = int((sample.frame.codes_of("human") >= 0).sum())
    return {
        "least_units": FEWEST,
        "unknown": every - sum(labels.values()),
        "versions": [
            {
                "version": versions[n].version,
                "digest": versions[n].digest,
                "labels": labels[n],
                "people": int((codes[n] >= 0).any(axis=0).sum()),
                "units": _paired(codes[n]),
                **as_json(_under(sample, codes[n], noun, PEOPLE)),
            }
            for n in used
        ],
        "changes": [
            {
                "before": versions[one].version,
                "after": versions[other].version,
                **as_json(_change(sample, codes[one], codes[other], noun, PEOPLE)),
            }
            for one, other in pairwise(used)
        ],
        "judges": _judges(sample if compared is None else compared, versions, used, noun),
    }


def _judges(
    sample: Sample, versions: Sequence[Guideline], used: Sequence[int], noun: Sequence[str]
) -> JSON:
    """Return each judge's agreement with people under the versions that both followed."""
    frame = sample.frame
    people = {n: reference_of(people_codes_under(frame, n), frame.scale).codes for n in used}
    found: JSON = {}
    for column in frame.columns("judge"):
        said = {n: judge_codes_under(frame, column, n) for n in used}
        under = [n for n in used if (said[n] >= 0).any()]
        sides = {n: np.stack([people[n], said[n]], axis=1) for n in under}
        found[frame.raters[column].name] = {
            "versions": [
                {
                    "version": versions[n].version,
                    "labels": int((said[n] >= 0).sum()),
                    "units": _paired(sides[n]),
                    **as_json(_under(sample, sides[n], noun, WITH_JUDGE)),
                }
                for n in under
            ],
            "changes": [
                {
                    "before": versions[one].version,
                    "after": versions[other].version,
                    **as_json(_change(sample, sides[one], sides[other], noun, WITH_JUDGE)),
                }
                for one, other in pairwise(under)
            ],
        }
    return found


def _paired(codes: Ints) -> int:
    return int(((codes >= 0).sum(axis=1) >= 2).sum())


def _under(
    sample: Sample, codes: Ints, noun: Sequence[str], raters: _Raters
) -> dict[str, Estimate]:
    if why := _too_few([codes], noun, raters.whose):
        return {name: undefined(why, _paired(codes), raters.method) for name in raters.names}
    coded, k, level, values = raters.coded(sample, codes)
    return agreement_estimates(
        coded, sample.clusters, k, level, values, names=raters.names, **sample.resampling_arguments
    )


def _change(
    sample: Sample, before: Ints, after: Ints, noun: Sequence[str], raters: _Raters
) -> dict[str, Estimate]:
    if why := _too_few([before, after], noun, raters.whose):
        return {name: undefined(why, 0, raters.method) for name in raters.names}
    both, k, level, values = raters.coded(sample, np.concatenate([before, after], axis=1))
    first = before.shape[1]
    return agreement_change(
        both[:, :first],
        both[:, first:],
        sample.clusters,
        k,
        level,
        values,
        names=raters.names,
        **sample.resampling_arguments,
    )


def _too_few(sides: Iterable[Ints], noun: Sequence[str], whose: str) -> str:
    """Explain that a version has too few units that both labelled; empty if it has enough."""
    units = min(map(_paired, sides))
    if units >= FEWEST:
        return ""
    amount = "no" if units == 0 else f"only {units}"
    has = f"{noun[0]} has" if units == 1 else f"{noun[1]} have"
    return f"{amount} {has} {whose} under one version, at least {FEWEST} are needed"


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
    found = variable["guidelines"]
    yield from _changes(variable, found, _coefficient(variable))
    for judge, of in found.get("judges", {}).items():
        if len(under := [each["version"] for each in of["versions"]]) < 2:
            only = f"only under {named(under[0])}" if under else "under none of them"
            yield f"The judge {judge} labelled {only}: there is no before and after to compare."
        yield from _changes(variable, of, ALPHA, judge)
    if unknown := found["unknown"]:
        labels = count(unknown, "label")
        yield f"{labels} without a known version, such as imported ones, are left out."


def _changes(variable: JSON, found: JSON, shown: Coefficient, judge: str = "") -> Iterator[str]:
    """Describe each change of people's agreement, or of a judge's with people."""
    versions = {each["version"]: each for each in found["versions"]}
    for change in found["changes"]:
        before, after, of = change["before"], change["after"], change[shown.key]
        if of["value"] is None:
            start = f"The judge {judge} from" if judge else "From"
            yield f"{start} {named(before)} to {named(after)}: not known, {of['reason']}."
            continue
        sides = " and ".join(
            f"{shown.sign} {number(versions[side][shown.key])} under {named(side)} "
            f"({count(versions[side]['units'], *noun_of(variable))})"
            for side in (before, after)
        )
        yield f"{_direction(of, judge)}: {sides}, {_difference(of)}."


def _direction(of: JSON, judge: str) -> str:
    """Describe the conclusion from the interval of the difference."""
    if of["low"] is None or of["low"] <= 0 <= of["high"]:
        whose = f"the judge {judge} with people" if judge else "agreement among people"
        return f"No change of {whose} can be shown"
    how = "better" if of["low"] > 0 else "less"
    who, since = f"The judge {judge} agrees {how} with people", "since the change"
    return f"{who} {since}" if judge else f"People agree {how} {since}"


def _difference(of: JSON) -> str:
    """Format a difference with its interval, or with the reason why it has none."""
    _, none, why = of["method"].partition("no interval: ")
    return f"a difference of {number(of)}{f'; {none}{why}' if of['low'] is None else ''}"


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


def _compute(of: Labels) -> JSON:
    if not (versions := of.frame.guidelines):
        return {}
    noun = of.block.get("noun", PLAIN)
    return {"guidelines": guidelines(of.sample, versions, noun, of.both)}


PART = SectionPart(GUIDELINE, "guidelines", _compute, is_slow=True, section=guideline_section)
