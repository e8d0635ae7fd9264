"""Section: everything again within each part of each stratum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..document import (
    UNITS_HEAD,
    Block,
    Cell,
    Number,
    RaterName,
    Section,
    Table,
    units_of_slice,
    with_counts,
)
from ..labels.frame import STRATUM, Frame, UnitFacts
from ..labels.metadata import in_order
from ..labels.resampling import Sample
from ..labels.selection import OWN_STRATA, ReportOptions, Strata
from ..statistics import FLEISS
from ..types import JSON
from .base import MEAN_OF_PAIRS, SectionPart, block_in_noun, coefficient_of, noun_of
from .base import within as _within
from .comparison import Comparable
from .comparison import comparison as _comparison


def divisions(strata: JSON) -> list[tuple[str, JSON]]:
    """Merge strata that divide the units alike, as `system` and `setting` mostly do."""
    found: list[tuple[str, JSON]] = []
    for name, groups in strata.items():
        same = next((n for n, (_, of) in enumerate(found) if of == groups), None)
        if same is None:
            found.append((name, groups))
        else:
            found[same] = (f"{found[same][0]}, {name}", groups)
    return found


def numbers_of(part: JSON, whole: JSON) -> tuple[Number, dict[str, Number]]:
    """Return the agreement of people and of each judge with them in one part of a variable.

    Both are the variable's own coefficient: of pairs of people, and of the judge with each of them;
    or of the judge with people together, if no two people labelled the same units.
    """
    key, in_pairs = coefficient_of(whole).key, is_in_pairs(whole)
    people = part["agreement"].get(MEAN_OF_PAIRS, {}).get(key) or part["agreement"][FLEISS.key]
    judges = {
        judge: Number.from_estimate(of["with_people" if in_pairs else "agreement"][key])
        for judge, of in part["judges"].items()
    }
    return Number.from_estimate(people), judges


def is_in_pairs(whole: JSON) -> bool:
    """Return whether a judge of a variable can be compared with each person.

    In snapshots of older reports, parts compare judges with people together.
    """
    found: JSON = whole["agreement"].get(MEAN_OF_PAIRS, {}).get(coefficient_of(whole).key, {})
    return found.get("value") is not None


NO_LABELS = Number(None, reason="no labels here")


def slice_blocks(variable: JSON, name: str) -> list[Block]:
    """Return agreement within the parts of each stratum of a variable."""
    blocks = [_stratum(names, groups, variable) for names, groups in divisions(variable["strata"])]
    return [with_counts(each, lambda count: count.within(variable=name)) for each in blocks]


def _stratum(name: str, groups: JSON, variable: JSON) -> Block:
    judges = list(dict.fromkeys(j for g in groups.values() for j in g["judges"]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            group,
            units_of_slice(block["agreement"]["units"], name, group),
            people,
            *(of_judges.get(judge, NO_LABELS) for judge in judges),
        )
        for group, block in groups.items()
        for people, of_judges in [numbers_of(block, variable)]
    )
    header = (name.capitalize(), UNITS_HEAD, "People with each other")
    whom = "each person" if is_in_pairs(variable) else "people together"
    caption = f"{coefficient_of(variable).name}{f'; judges with {whom}' if judges else ''}"
    against = tuple(RaterName(judge, "judge") for judge in judges)
    numbers = [cell for row in rows for cell in row if isinstance(cell, Number)]
    few = any(number.value is not None and number.ends is None for number in numbers)
    about = "no interval for numbers that rest on fewer than 10 queries" if few else ""
    return Block(f"By {name}", (Table(caption, (*header, *against), rows),), about)


def slices_section(report: JSON) -> list[Section]:
    several = len(report["variables"]) > 1
    blocks = tuple(
        replace(block, title=f"{name}: {_within(block.title)}" if several else block.title)
        for name, variable in report["variables"].items()
        for found in slice_blocks(variable, name)
        for block in [block_in_noun(found, noun_of(variable))]
    )
    subjects = tuple(report["variables"])
    whole = Section("By slice", blocks, name="slices", place="slices", subjects=subjects)
    return [whole] if blocks else []


def strata(sample: Sample, frame: Frame, options: ReportOptions, comparable: Comparable) -> JSON:
    """Repeat the sections for each part of each stratum. Equal parts are computed only once."""
    done: dict[tuple[bool, tuple[int, ...]], JSON] = {}
    strata: JSON = {}
    for name, values in _values(sample.frame.units, frame.strata).items():
        # In the stratum of splits, each split is compared separately.
        of_roles = name == STRATUM
        for part, units in _parts(values).items():
            # A system and its setting often have the same units.
            key = of_roles, tuple(units)
            if key not in done:
                done[key] = _comparison(
                    sample.only(_mask(units, sample)),
                    options,
                    None if of_roles else comparable,
                    with_curves=False,
                )
            strata.setdefault(name, {})[part] = done[key]
    return strata


def _values(units: UnitFacts, strata: Strata) -> dict[str, tuple[str | None, ...]]:
    """Return the value of each unit in each stratum."""
    found: dict[str, tuple[str | None, ...]] = {name: getattr(units, name) for name in OWN_STRATA}
    for name, of in strata.items():
        found[name] = tuple(of.get(item) for item, _, _ in units.names)
    return found


def _parts(values: tuple[str | None, ...]) -> dict[str, list[int]]:
    parts: dict[str, list[int]] = {}
    for n, value in enumerate(values):
        if value is not None:
            parts.setdefault(value, []).append(n)
    return {name: parts[name] for name in in_order(parts)}


def _mask(units: list[int], sample: Sample) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask = np.zeros(len(sample.frame.codes), dtype=bool)
    mask[units] = True
    return mask


PART = SectionPart(section=slices_section)
