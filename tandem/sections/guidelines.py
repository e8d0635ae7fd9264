"""Section: agreement of people, and of judges with people, before and after guideline changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from .base import Labels, SectionPart, as_json, noun_of
from .sentence import number

FEWEST = 30
"""With fewer units that two people labelled under a version, no figure of it is shown.

So few units support no conclusion, and their figures would reveal single answers.
"""


def _on_scale(sample: Sample, codes: Ints) -> tuple[Ints, int, Level, Floats | None]:
    """Return codes unchanged, with the number of codes, the level and the values of the scale."""
    scale = sample.frame.scale
    return codes, sample.k, scale.level, scale.compared_values()


@dataclass(frozen=True)
class _Raters:
    """The raters to compare: their coefficients and codes, and the words and filter of tables."""

    whose: str
    method: str
    names: tuple[str, ...]
    coded: Callable[[Sample, Ints], tuple[Ints, int, Level, Floats | None]]
    captions: tuple[str, str]
    units: str
    show: str


PEOPLE = _Raters(
    "labels from two people",
    "among labels that people gave under one version of the guideline",
    (EQUAL.key, FLEISS.key, ALPHA.key),
    own_codes,
    ("Agreement under each version", "After each change less before it"),
    "of two people",
    "several",
)
_WITH = "Judges with people's majority"
WITH_JUDGE = _Raters(
    "labels from people and from the judge",
    "of a judge with people, among labels given under one version of the guideline",
    (EQUAL.key, ALPHA.key),
    _on_scale,
    (f"{_WITH} under each version", f"{_WITH}, after each change less before it"),
    "with people",
    "labelled",
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
    given = [people_codes_under(sample.frame, n) for n in range(len(versions))]
    codes = {n: of for n, of in enumerate(given) if (of >= 0).any()}
    heads = {
        n: versions[n]._asdict()
        | {"labels": int((of >= 0).sum()), "people": int((of >= 0).any(axis=0).sum())}
        for n, of in codes.items()
    }
    every = int((sample.frame.codes_of("human") >= 0).sum())
    return {
        "least_units": FEWEST,
        "unknown": every - sum(each["labels"] for each in heads.values()),
        **_by_version(sample, codes, heads, noun, PEOPLE),
        "judges": _judges(sample if compared is None else compared, versions, codes, noun),
    }


def _judges(
    sample: Sample, versions: Sequence[Guideline], used: Iterable[int], noun: Sequence[str]
) -> JSON:
    """Return each judge's agreement with people under the versions that both followed."""
    frame = sample.frame
    people = {n: reference_of(people_codes_under(frame, n), frame.scale).codes for n in used}
    found: JSON = {}
    for column in frame.columns("judge"):
        said = {n: judge_codes_under(frame, column, n) for n in people}
        sides = {n: np.stack([people[n], of], 1) for n, of in said.items() if (of >= 0).any()}
        heads = {
            n: {"version": versions[n].version, "labels": int((said[n] >= 0).sum())} for n in sides
        }
        found[frame.raters[column].name] = _by_version(sample, sides, heads, noun, WITH_JUDGE)
    return found


def _by_version(
    sample: Sample,
    codes: Mapping[int, Ints],
    heads: Mapping[int, JSON],
    noun: Sequence[str],
    raters: _Raters,
) -> JSON:
    """Return agreement under each version, with what `heads` says of it, and each change."""
    return {
        "versions": [
            {**heads[n], "units": _paired(of), **as_json(_estimates(sample, [of], noun, raters))}
            for n, of in codes.items()
        ],
        "changes": [
            {
                "before": heads[one]["version"],
                "after": heads[other]["version"],
                **as_json(_estimates(sample, [codes[one], codes[other]], noun, raters)),
            }
            for one, other in pairwise(codes)
        ],
    }


def _paired(codes: Ints) -> int:
    return int(((codes >= 0).sum(axis=1) >= 2).sum())


def _estimates(
    sample: Sample, sides: list[Ints], noun: Sequence[str], raters: _Raters
) -> dict[str, Estimate]:
    """Return agreement of one side, or its change from the first side to the second."""
    single = len(sides) == 1
    if why := _too_few(sides, noun, raters.whose):
        n = _paired(sides[0]) if single else 0
        return {name: undefined(why, n, raters.method) for name in raters.names}
    both, *scale = raters.coded(sample, np.concatenate(sides, axis=1))
    estimates: Callable[..., dict[str, Estimate]] = (
        agreement_estimates if single else agreement_change
    )
    return estimates(
        *np.split(both, [of.shape[1] for of in sides[:-1]], axis=1),
        sample.clusters,
        *scale,
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
        people = _tables(variable, {"": found}, _coefficient(variable), PEOPLE)
        made = [Block(name if several else "", people)]
        if tables := _tables(variable, found.get("judges", {}), ALPHA, WITH_JUDGE):
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


def _tables(
    variable: JSON, found: Mapping[str, JSON], shown: Coefficient, raters: _Raters
) -> tuple[Table, ...]:
    """Return agreement by version and its changes: of people under an empty name, or of judges.

    There are no tables if nobody labelled under two versions.
    """
    several = {name: of for name, of in found.items() if of["changes"]}
    if not several:
        return ()
    noun = noun_of(variable)[1].capitalize()
    digests = {each["version"]: each["digest"] for each in variable["guidelines"]["versions"]}
    judge, people = ("Judge",) * (raters is WITH_JUDGE), ("People",) * (raters is PEOPLE)

    def figures(each: JSON) -> tuple[Cell, ...]:
        return tuple(Number.from_estimate(each[of.key]) for of in (shown, EQUAL))

    rows = (
        (
            *(RaterName(name, "judge") for _ in judge),
            _title(each["version"]),
            *(each["people"] for _ in people),
            each["labels"],
            _units_under(digests[each["version"]], each["units"], raters.show, name),
            *figures(each),
        )
        for name, of in several.items()
        for each in of["versions"]
    )
    changes = (
        (
            *(RaterName(name, "judge") for _ in judge),
            f"{_title(each['after'])} less {named(each['before'])}",
            *figures(each),
        )
        for name, of in several.items()
        for each in of["changes"]
    )
    header = (*judge, "Guideline", *people, "Labels", f"{noun} {raters.units}")
    figured = (shown.name, "Percent")
    return (
        Table(raters.captions[0], (*header, *figured), tuple(rows)),
        Table(raters.captions[1], (*judge, "Change", *figured), tuple(changes)),
    )


def _units_under(digest: str, units: int, show: str, judge: str) -> int:
    """Return the count of units under a version, unlinked for the protocol's own guideline."""
    if not digest:
        return units
    one = {"one": judge} if judge else {}
    return UnitCount.of(units, guideline=digest, show=show, **one).counting(OF_ALL_RATERS)


def _title(version: int | None) -> str:
    words = named(version)
    return words[:1].upper() + words[1:]


def _compute(of: Labels) -> JSON:
    if not (versions := of.frame.guidelines):
        return {}
    noun = of.block.get("noun", PLAIN)
    return {"guidelines": guidelines(of.sample, versions, noun, of.both)}


PART = SectionPart(GUIDELINE, "guidelines", _compute, is_slow=True, section=guideline_section)
