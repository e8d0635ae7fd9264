"""Section: labels by category, and the scale: how far categories are apart, which nobody used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..document import Block, Cell, CountedText, Number, RaterName, Table, UnitCount, count_units
from ..labels.facts import Scale, number_of
from ..labels.frame import VariableFrame
from ..labels.reference import category_numbers
from ..labels.resampling import bounds_of
from ..statistics import mean_by_cluster
from ..types import JSON
from .base import MOST_ROWS, PEOPLE, SectionPart, Shown, joined
from .crowd import is_crowd

OF_LABELS = "labels from all people together; the list shows each unit only once"


def counted_rows(
    counts: Mapping[str, Mapping[str, int]], kinds: Mapping[str, str], codes: Sequence[str]
) -> list[tuple[Cell, ...]]:
    """Return labels by category, with a row for each rater, or one row for a crowd."""
    people = [name for name in counts if kinds.get(name) == "human"]
    rows: list[tuple[Cell, ...]] = []
    if len(people) > MOST_ROWS:
        sums = [sum_of_people([counts[name][code] for name in people]) for code in codes]
        rows.append((f"All {len(people)} people", *sums))
        counts = {name: of for name, of in counts.items() if name not in people}
    for name, of in counts.items():
        rows.append((RaterName(name, kinds.get(name, "")), *(of[code] for code in codes)))
    return rows


def sum_of_people(counts: Sequence[int]) -> int:
    """Return the sum of people's counts of one label, linked to its units."""
    label = next((of.filters["label"] for of in counts if isinstance(of, UnitCount)), "")
    whole = sum(counts)
    return UnitCount.of(whole, show="all", label=label).counting(OF_LABELS) if label else whole


def distribution(frame: VariableFrame) -> JSON:
    """Count labels by rater and category, units by number of human labels, and unanimous units.

    A unit is unanimous if two or more people labelled it and all gave the same category.
    """
    codes, k = frame.codes_of("human"), len(frame.scale.categories)
    labels = (codes >= 0).sum(axis=1)
    lowest = np.where(codes >= 0, codes, k).min(axis=1, initial=k)
    same = lowest == codes.max(axis=1, initial=-1)
    return {
        "counts": {
            frame.raters[n].name: _by_category(frame, n)
            for n in (*frame.columns("human"), *frame.columns("judge"))
        },
        "labels_per_unit": {str(n): units for n, units in sorted(Counter(labels.tolist()).items())},
        "unanimous": int(((labels >= 2) & same).sum()),
        **({"means": _means(frame)} if frame.scale.level == "interval" else {}),
    }


def _means(frame: VariableFrame) -> JSON:
    """Return each rater's mean on an interval scale, in a crowd of all people together."""
    numbers, query = category_numbers(frame.scale, frame.codes), frame.units.query
    people, judges = frame.columns("human"), frame.columns("judge")
    ends = bounds_of(frame.scale)
    found = {}
    if is_crowd(frame):
        of_all = numbers[:, people].ravel(), np.repeat(query, len(people))
        found[""] = mean_by_cluster(*of_all, MEAN_OF_LABELS, ends).as_json()
    for n in judges if is_crowd(frame) else [*people, *judges]:
        made = mean_by_cluster(numbers[:, n], query, MEAN_OF_LABELS, ends)
        found[frame.raters[n].name] = made.as_json()
    return found


def _by_category(frame: VariableFrame, column: int) -> dict[str, int]:
    codes = frame.codes[:, column]
    counts = np.bincount(codes[codes >= 0], minlength=len(frame.scale.categories))
    return dict(zip(frame.scale.categories, counts.tolist(), strict=True))


MOST = 12
"""The maximum number of categories in a table that fits a page."""
RANGES = 10
"""The number of ranges of a scale of more numbers."""
MEAN_OF_LABELS = "mean of labels"


def in_ranges(
    counts: Mapping[str, Mapping[str, int]], words: Sequence[str]
) -> tuple[list[str], dict[str, dict[str, int]]]:
    """Return the counts of numbers in ranges of equal width, and the ranges; none without numbers.

    A range is named by the lowest and the highest category in it.
    """
    numbers = [number for word in words if (number := number_of(word)) is not None]
    if len(numbers) < len(words) or not numbers or max(numbers) == min(numbers):
        return [], {}
    low, width = min(numbers), (max(numbers) - min(numbers)) / RANGES
    held: dict[int, list[tuple[float, str]]] = {}
    for number, word in sorted(zip(numbers, words, strict=True)):
        held.setdefault(min(int((number - low) / width), RANGES - 1), []).append((number, word))
    ranges = {
        each[0][1] if len(each) == 1 else f"{each[0][1]} to {each[-1][1]}": [w for _, w in each]
        for each in held.values()
    }
    sums = {
        rater: {name: sum(of[word] for word in inside) for name, inside in ranges.items()}
        for rater, of in counts.items()
    }
    return list(ranges), sums


def answered_blocks(shown: Shown) -> list[Block]:
    """Return each rater's shares of answers. With unequal shares, no coefficient can reach 1."""
    if not (block := shown.variable.get("distribution")):
        return []
    kinds, codes = {rater["name"]: rater["kind"] for rater in shown.report["raters"]}, shown.codes
    words = list(dict.fromkeys(word for counts in block["counts"].values() for word in counts))
    counts: Mapping[str, Mapping[str, int]] = {
        rater: {
            word: UnitCount.of(number, show="all", one=rater, label=codes.get(word, word))
            for word, number in of.items()
        }
        for rater, of in block["counts"].items()
    }
    caption = "Labels by category"
    if len(words) > MOST and shown.is_ordered:
        caption, (words, counts) = "Labels by range of the scale", in_ranges(counts, words)
    rows = tuple(counted_rows(counts, kinds, words))
    units = count_units(block["unanimous"])
    agree = UnitCount.of(block["unanimous"], show="agree")
    about = CountedText.of(f"all people agree on {units}", (units, agree))
    tables = [Table(caption, ("Rater", *words), rows)] if 0 < len(words) <= MOST else []
    if means := block.get("means"):
        of_raters = tuple(
            (RaterName(name or "all people", kinds.get(name, "human")), Number.from_estimate(of))
            for name, of in means.items()
        )
        tables.append(Table("Mean of each rater", ("Rater", "Mean"), of_raters))
    return [Block("What was answered", tuple(tables), about)]


PART = SectionPart(PEOPLE, "distribution", blocks=answered_blocks)


def scale_used(frame: VariableFrame) -> JSON:
    """Return the convention of the distances of categories, and the categories that nobody used.

    `distances` is null if the categories have no order.
    """
    scale = frame.scale
    columns = [n for n, rater in enumerate(frame.raters) if rater.excluded is None]
    used = set(np.unique(frame.codes[:, columns]).tolist())
    return {
        "declared": scale.declared,
        "distances": scale.distances if scale.is_ordered else None,
        "unused": _unused(scale, used),
    }


def _unused(scale: Scale, used: set[int]) -> list[str]:
    """Return the categories, or the single codes of sets, that are in none of the codes used."""
    if scale.level == "set":
        given = scale.members()[sorted(used - {-1})].sum(axis=0).tolist()
        return [code for code, labels in zip(scale.single, given, strict=True) if not labels]
    return [
        category
        for n, category in enumerate(scale.categories)
        if n not in used and category not in scale.foreign
    ]


DISTANCES = {
    ("numbers", True): "their numbers on the declared scale",
    ("numbers", False): "their numbers; no scale is declared, so the values that occur are it",
    ("ranks", True): "their ranks on the declared scale",
    ("ranks", False): "their ranks among the values that occur, since no scale is declared",
}


def scales(report: JSON) -> str:
    """Say from what the weights of coefficients are computed, and which categories are unused."""
    used = {name: of["scale"] for name, of in report["variables"].items() if "scale" in of}
    parts = []
    for (distances, declared), words in DISTANCES.items():
        same = (distances, declared)
        of = [n for n, each in used.items() if (each["distances"], each["declared"]) == same]
        if of:
            parts.append(
                "The distances between categories in weighted kappas, Gwet's AC2, interval alpha "
                f"and errors of {joined(of)} are differences of {words}."
            )
    of_sets = {name for name, of in report["variables"].items() if of.get("measurement") == "set"}
    unused = {name: _of(name, of["unused"]) for name, of in used.items() if of["unused"]}
    if categories := [text for name, text in unused.items() if name not in of_sets]:
        parts.append(
            f"Nobody used {'; '.join(categories)}. Such categories count in Randolph's kappa and "
            "in Gwet's coefficients."
        )
    if codes := [text for name, text in unused.items() if name in of_sets]:
        parts.append(f"Nobody used {'; '.join(codes)}.")
    return " ".join(parts)


def _of(name: str, unused: list[str]) -> str:
    few = len(unused) <= MOST
    return f"{joined(unused) if few else f'{len(unused)} of the categories'} of {name}"


SCALES = SectionPart(head="Scales", methods=lambda report: [scales(report)])
