"""Section: agreement among people, overall and in pairs, and each person with all others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TypedDict

import numpy as np

from ..document import (
    UNIT,
    UNITS,
    UNITS_HEAD,
    Block,
    Cell,
    CountedText,
    Number,
    RaterName,
    Table,
    UnitCount,
    count,
    count_units,
    pairs_of_labels,
    shared_units,
)
from ..labels.reference import category_numbers
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    ALPHA,
    AMONG,
    CORRELATIONS,
    EQUAL,
    KAPPA,
    MOST_SETS,
    OF_SETS,
    OF_TWO,
    ORDERED,
    WEIGHTED,
    Coefficient,
    Estimate,
    Floats,
    Ints,
    Level,
    agreement_estimates,
    ceiling_estimates,
    correlation_estimates,
    crowd_ceiling_estimates,
    keys_of_two,
    mean_by_cluster,
    pair_estimates,
    pair_of_numbers_estimate,
    pair_of_sets_estimate,
    undefined,
)
from ..statistics.estimate import LEVELS, Scale
from ..statistics.pairwise import METHODS as OF_PAIRS
from ..types import JSON
from .base import (
    MEAN_OF_PAIRS,
    MOST_ROWS,
    OF_AGREEMENT,
    PEOPLE,
    SectionPart,
    Shown,
    coefficient_of,
    estimate_cells,
    joined,
    people_of,
)
from .citations import CITED, cited_statistics
from .crowd import distribution_tables, is_crowd, large_pairs, pairs_distribution

NO_ORDER = "its categories have no order"
TOO_MANY_SETS = f"over {MOST_SETS:,} different sets of codes"
ERROR, DISTANCE = "mean_absolute_error", "mean absolute difference"


def pair(
    sample: Sample, one: Ints, other: Ints, names: Collection[str] = ()
) -> dict[str, Estimate]:
    """Return the coefficients `names` of two columns (U,): `percent` or one of Cohen's kappas.

    By default they are all that can be of the scale.
    """
    names = names or keys_of_two(sample.is_of_sets)
    apart = {name: no for name in names if (no := _undefined(sample, name, one, other))}
    if OF_SETS.key in names and OF_SETS.key not in apart:
        members = sample.frame.scale.members()
        apart[OF_SETS.key] = pair_of_sets_estimate(
            one, other, sample.clusters, members, **sample.resampling_arguments
        )
    if sample.is_ordered and sample.is_continuous and WEIGHTED.key in names:
        apart[WEIGHTED.key] = pair_of_numbers_estimate(
            one, other, sample.clusters, sample.frame.scale.values(), **sample.resampling_arguments
        )
    others = [name for name in names if name not in apart]
    k, scale = sample.k, sample.frame.scale
    values = scale.values() if scale.categories else None
    if sample.is_continuous:
        # A share depends only on whether two labels are equal, not on the number of values.
        one, other, k, values = *_equal_or_not(one, other), 2, None
    made = pair_estimates(
        one, other, sample.clusters, k, values, names=others, **sample.resampling_arguments
    )
    return {name: (made | apart)[name] for name in names}


def pair_names(sample: Sample) -> tuple[str, ...]:
    """Return the coefficients of a judge with one person."""
    weighted = (WEIGHTED.key,) if sample.is_ordered else ()
    return (KAPPA.key, EQUAL.key, *weighted, *of_sets(sample))


def of_sets(sample: Sample) -> tuple[str, ...]:
    """Return the coefficient of two raters that only sets of codes have, on a scale of sets."""
    return (OF_SETS.key,) if sample.is_of_sets else ()


class PairArguments(TypedDict):
    """Arguments of means over pairs: the coefficients that a scale has, and its numbers."""

    names: tuple[str, ...]
    values: Floats | None


def pair_arguments(sample: Sample) -> PairArguments:
    """Return the coefficients of pairs on a sample's scale.

    Kappa needs few categories, kappa with quadratic weights needs their order, and kappa with MASI
    weights needs sets.
    """
    kappa = () if sample.is_continuous else (KAPPA.key,)
    weighted: tuple[str, ...] = (WEIGHTED.key,) if sample.is_ordered else ()
    if not sample.has_too_many_sets:
        weighted += of_sets(sample)
    values = sample.frame.scale.compared_values() if weighted else None
    return {"names": (*kappa, EQUAL.key, *weighted), "values": values}


def pair_means(sample: Sample, codes: Ints) -> Mapping[str, Estimate]:
    """Return the means over pairs of people's codes (U, R), weighted by the units that they share.

    Units with a single label are in no pair, so that people alone and a judge who labelled all
    shared units have the same means, which are computed once.
    """
    several = (codes >= 0).sum(axis=1) >= 2
    held = np.where(several[:, None], codes, -1)
    arguments = pair_arguments(sample)
    key = held.tobytes(), arguments["names"]
    if key not in sample.pair_means:
        estimates = crowd_ceiling_estimates if is_crowd(sample.frame) else ceiling_estimates
        made = estimates(
            held, sample.clusters, sample.k, **arguments, **sample.resampling_arguments
        )
        bounded = {name: of.within(*OF_TWO[name].bounds) for name, of in made.items()}
        many = too_many(sample, int(several.sum()), OF_PAIRS.__getitem__)
        sample.pair_means[key] = {**many, **bounded}
    return sample.pair_means[key]


def too_many(sample: Sample, n: int, method_of: Callable[[str], str]) -> dict[str, Estimate]:
    """Return the undefined kappas of a scale with too many values, which defined ones replace."""
    reasons = {KAPPA.key: TOO_MANY, **dict.fromkeys(of_sets(sample), TOO_MANY_SETS)}
    return {name: undefined(why, n, method_of(name)) for name, why in reasons.items()}


def numbers(sample: Sample, codes: Ints) -> Floats:
    """Return codes as the numbers of their categories, NaN without a label."""
    return category_numbers(sample.frame.scale, codes)


def _undefined(sample: Sample, name: str, one: Ints, other: Ints) -> Estimate | None:
    method, needs = OF_TWO[name].method, OF_TWO[name].needs
    if needs == "sets":
        n = int(((one >= 0) & (other >= 0)).sum())
        return undefined(TOO_MANY_SETS, n, method) if sample.has_too_many_sets else None
    if needs == "order" and not sample.is_ordered:
        return undefined(NO_ORDER, 0, method)
    if needs and sample.is_continuous:
        return undefined(TOO_MANY, int(((one >= 0) & (other >= 0)).sum()), method)
    return None


def _equal_or_not(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    both = (one >= 0) & (other >= 0)
    return np.where(both, 0, -1), np.where(both, one != other, -1)


def agreement(sample: Sample, with_pairs: bool = False) -> JSON:
    """Return the agreement of people on the units of a sample.

    In a crowd, pairs with enough shared units are listed only with `with_pairs`. Categories that
    only judges used have no effect here, not even on the ranks of other categories.
    """
    if sample.frame.scale.foreign:
        sample = replace(sample, frame=sample.frame.without_foreign())
    codes = sample.frame.codes_of("human")
    return {
        "units": int(((codes >= 0).sum(axis=1) >= 2).sum()),
        "raters": int((codes >= 0).any(axis=0).sum()),
        **{name: of.as_json() for name, of in _coefficients(sample, codes).items()},
        MEAN_OF_PAIRS: {name: of.as_json() for name, of in pair_means(sample, codes).items()},
        **_pairs(sample, with_pairs),
    }


def _pairs(sample: Sample, with_pairs: bool) -> JSON:
    if not is_crowd(sample.frame):
        people = sample.frame.columns("human")
        return {"pairs": [_pair(sample, a, b) for a, b in combinations(people, 2)]}
    large = large_pairs(sample) if with_pairs else []
    listed = {"pairs": [_pair(sample, a, b) for a, b in large]} if with_pairs else {}
    return {"pairs_distribution": pairs_distribution(sample), **listed}


def _coefficients(sample: Sample, codes: Ints) -> dict[str, Estimate]:
    renumbered, k, level, values = own_codes(sample, codes)
    apart = dict[str, str]()
    if sample.has_too_many_sets:
        apart[ALPHA.key] = TOO_MANY_SETS
    elif sample.is_ordered and sample.is_continuous:
        apart = dict.fromkeys((name for name in AMONG if "kappa" in name), TOO_MANY)
    names = [name for name in AMONG if name not in apart]
    made = agreement_estimates(
        renumbered, sample.clusters, k, level, values, names=names, **sample.resampling_arguments
    )
    n, scale = int(((codes >= 0).sum(axis=1) >= 2).sum()), Scale(k, level)
    made |= {name: undefined(why, n, AMONG[name].method_on(scale)) for name, why in apart.items()}
    return {name: made[name] for name in AMONG}


def own_codes(sample: Sample, codes: Ints) -> tuple[Ints, int, Level, Floats | None]:
    """Return people's codes (U, R) without categories that only judges used.

    Also returns the number of remaining categories, the level, and the categories' numbers.
    """
    scale = sample.frame.scale
    own = scale.own()
    place = np.cumsum(own) - 1
    renumbered = np.where(codes >= 0, place[np.maximum(codes, 0)], -1) if own.any() else codes
    compared = scale.compared_values()
    values = compared[own] if compared is not None and own.any() else None
    return renumbered, max(1, int(own.sum())), scale.level, values


def _pair(sample: Sample, a: int, b: int) -> JSON:
    frame = sample.frame
    one, other = frame.codes[:, a], frame.codes[:, b]
    return {
        "a": frame.raters[a].name,
        "b": frame.raters[b].name,
        "units": int(((one >= 0) & (other >= 0)).sum()),
        **{name: of.as_json() for name, of in pair(sample, one, other).items()},
        **{name: of.as_json() for name, of in _of_numbers(sample, one, other).items()},
    }


def _of_numbers(sample: Sample, one: Ints, other: Ints) -> dict[str, Estimate]:
    """Return correlations and the mean distance of two columns of codes, if they are ordered."""
    if not sample.is_ordered:
        methods = {key: of.method for key, of in CORRELATIONS.items()} | {ERROR: DISTANCE}
        return {name: undefined(NO_ORDER, 0, method) for name, method in methods.items()}
    x, y = numbers(sample, one), numbers(sample, other)
    made = correlation_estimates(x, y, sample.clusters, **sample.resampling_arguments)
    distance = mean_by_cluster(np.abs(x - y), sample.clusters, DISTANCE, (0, sample.span))
    return made | {ERROR: distance}


LEVEL_WORDS = {"set": "sets of codes"}
ABOUT_SETS = (
    "A label there is a set of codes. Krippendorff's alpha and the kappa of pairs weigh two sets "
    f"by MASI, 1 - J M {CITED['passonneau2006']}: J is the Jaccard index, and M is 1 for equal "
    "sets, 2/3 if one contains the other, 1/3 if they meet, and 0 otherwise; two empty sets agree. "
    "The share of equal labels, Cohen's kappa without weights and Fleiss' kappa only ask whether "
    "two sets are equal. Coefficients whose chance agreement depends on the number of categories "
    "are undefined. People's joint label is their most frequent set. Beside that, each code is "
    "compared as a variable of its own, with a yes for the sets that have it."
)


def among_people(report: JSON) -> str:
    """Name the coefficients of agreement among people, or the reason why there are none."""
    variables = report["variables"]
    alone = {n: _why_not_compared(v["agreement"]) for n, v in variables.items()}
    sentences = []
    for level in LEVELS:
        of = [n for n, v in variables.items() if v["measurement"] == level and not alone[n]]
        if of:
            found = cited_statistics(variables[n]["agreement"] for n in of)
            sentences.append(
                f"Agreement among people on {joined(of)} ({LEVEL_WORDS.get(level, level)}) is "
                f"given as {joined(found)}."
            )
            if level == "set":
                sentences.append(ABOUT_SETS)
    if sentences:
        sentences.append("A statistic that is undefined on these labels is reported as undefined.")
    for why in dict.fromkeys(filter(None, alone.values())):
        of = [n for n in variables if alone[n] == why]
        sentences.append(f"There is no agreement among people on {joined(of)}: {why}.")
    return " ".join(sentences)


def _why_not_compared(agreement: JSON) -> str:
    """Explain why people could not be compared; empty if they were."""
    if agreement["units"] and cited_statistics([agreement]):
        return ""
    people = agreement["raters"]
    if people < 2:
        return "one person labelled" if people else "no person labelled"
    return (
        f"no two people labelled the same {UNIT}" if not agreement["units"] else "none is defined"
    )


OF_OTHERS = f"mean over pairs, weighted by shared {UNITS}"


FEWEST_COMPARED = 3
"""With only two people, neither can be compared with the others."""


def describe_variable(variable: JSON) -> str:
    escapes = [f"escape {code}: {count}" for code, count in variable["escapes"].items()]
    level = str(LEVEL_WORDS.get(variable["measurement"], variable["measurement"]))
    return "; ".join([level, _describe_categories(variable), *escapes])


def _describe_categories(variable: JSON) -> str:
    """Name the categories, or the single codes of sets, or the ends of a scale of many numbers."""
    if variable["measurement"] == "set":
        codes = variable["codes"]
        return f"codes {', '.join(codes)}" if len(codes) <= MOST_ROWS else f"{len(codes)} codes"
    named = variable["categories"]
    if len(named) <= MOST_ROWS:
        return f"categories {', '.join(named)}"
    if variable["measurement"] in ORDERED:
        return f"{len(named)} categories from {named[0]} to {named[-1]}"
    return f"{len(named)} categories"


def agreement_block(variable: JSON) -> Block:
    """Return the agreement of people on a variable, and of each person with the others."""
    block = variable["agreement"]
    coefficients = tuple(
        (of.name, Number.from_estimate(block[key]), _of_several(block[key]["n"], block["units"]))
        for key, of in AMONG.items()
        if of.name and key in block
    )
    shown, headline, path = people_of(variable)
    if MEAN_OF_PAIRS in path:
        of = _of_several(headline["n"], block["units"])
        mean = f"{shown.name}, mean of pairs", Number.from_estimate(headline), of
        coefficients = (mean, *coefficients)
    tables = [Table("Coefficients", ("Coefficient", "Value", UNITS_HEAD), coefficients)]
    tables += _with_others(block, coefficient_of(variable))
    raters, units = count(block["raters"], "rater"), count_units(block["units"])
    about = f"{raters}, {units} with two or more labels; {describe_variable(variable)}"
    several = UnitCount.of(block["units"], show="several")
    return Block("Agreement", tuple(tables), CountedText.of(about, (units, several)))


def _of_several(units: int, of: int) -> int:
    """Return the count of units that several people labelled, linked if a list has them all."""
    return UnitCount.of(units, show="several") if units == of else units


def with_others(pairs: Iterable[JSON], key: str) -> list[tuple[str, float, int]]:
    """Return each person's coefficient with the others and its number of units, lowest first.

    It is the mean over pairs, weighted by the units that two share.
    """
    sums: dict[str, tuple[float, int]] = {}
    for pair in pairs:
        kappa = pair[key]["value"]
        for who in (pair["a"], pair["b"]) if kappa is not None else ():
            total, units = sums.get(who, (0.0, 0))
            sums[who] = total + kappa * pair["units"], units + pair["units"]
    found = [(who, total / units, units) for who, (total, units) in sums.items() if units]
    return sorted(found, key=lambda each: (each[1], each[0]))


def _with_others(block: JSON, shown: Coefficient) -> list[Table]:
    found = with_others(block.get("pairs", ()), shown.key)
    if len(found) < FEWEST_COMPARED:
        return []
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (RaterName(who, "human"), Number(kappa, method=OF_OTHERS), pairs_of_labels(labels, who))
        for who, kappa, labels in found[:MOST_ROWS]
    )
    caption = "Each person with all others, lowest agreement first"
    return [Table(caption, ("Person", f"{shown.name}, mean", "Pairs of labels"), rows)]


def pairs_blocks(shown: Shown) -> list[Block]:
    """Return the block on pairs of people: one by one, or as a distribution for a crowd."""
    block, tables = shown.variable["agreement"], list[Table]()
    if "pairs_distribution" in block:
        tables += distribution_tables(block["pairs_distribution"])
    listed = block.get("pairs", [])
    names = {
        key: of.head or of.name
        for key, of in {**OF_TWO, "spearman": CORRELATIONS["spearman"]}.items()
        if (shown.is_ordered or of.needs != "order") and all(key in pair for pair in listed)
    }
    pairs: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{p['a']} – {p['b']}",
            shared_units(p["units"], p["a"], p["b"]),
            *estimate_cells(p, names),
        )
        for p in listed
    )
    if pairs:
        tables.append(Table("Pairs of people", ("Pair", UNITS_HEAD, *names.values()), pairs))
    return [Block("Pairs of people", tuple(tables))] if tables else []


PART = SectionPart(
    PEOPLE,
    "agreement",
    blocks=lambda shown: [agreement_block(shown.variable)],
    head=OF_AGREEMENT,
    methods=lambda report: [among_people(report)],
)
PAIRS = SectionPart(PEOPLE, blocks=pairs_blocks)
