"""Section: each judge compared with people: agreement, bounds, and further coefficients."""

from __future__ import annotations

from functools import partial

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
    compared_units,
    count,
    count_units,
    of_several,
    rounded,
    shared_units,
)
from ..labels.reference import Reference, mean_rating, reference
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    ALPHA,
    AMONG,
    CORRELATIONS,
    EQUAL,
    KAPPA,
    OF_TWO,
    Floats,
    Ints,
    accuracy,
    agreement_estimates,
    alpha_of_two,
    cohen_kappa,
    confusion,
    correlation_estimates,
    undefined,
)
from ..statistics.alternative import EPSILONS
from ..statistics.ceiling import ceiling_pairs
from ..statistics.interval_tests import MARGIN
from ..statistics.pairwise import LEAST_SHARED
from ..types import JSON
from .agreement import NO_ORDER, TOO_MANY_SETS, numbers, pair, pair_means, pair_names
from .alignment import alignment_with, direction
from .alt_test import Forms, alternative, forms_of
from .base import (
    JUDGE,
    JUDGES,
    OF_JUDGES,
    SectionPart,
    Shown,
    as_json,
    blocks_of_judges,
    coefficient_of,
    estimate_cells,
    estimate_rows,
    joined,
)
from .calibration import calibration
from .citations import cited_statistics
from .crowd import is_crowd, judge_distribution
from .cuts import curves, thresholds
from .floor import (
    Floor,
    compare_with_floor,
    equivalence,
    floor,
    gaps_of,
    no_floor,
    pair_columns,
    with_people,
)
from .grades import grades
from .readings import readings


def bounds(sample: Sample, column: int) -> JSON:
    """Return the key `bounds` of a judge, or nothing if no answer is missing.

    The bounds are the results if all missing answers were right, and if all were wrong. Only units
    with a joint label of people count. For Cohen's kappa, a wrong answer is people's most frequent
    other category. With more than two categories, a different wrong answer might lower kappa
    further.
    """
    frame = sample.frame
    people = reference(frame).codes
    codes, name = frame.codes[:, column], frame.raters[column].name
    lost = np.zeros(len(codes), dtype=bool)
    lost[[a.unit for a in frame.asides if a.is_missing and a.rater == name]] = True
    lost &= people >= 0
    if not lost.any() or sample.is_continuous:
        return {}
    k = max(sample.k, 2)
    tables = [
        confusion(people, np.where(lost, as_if, codes), k) for as_if in (_others(people), people)
    ]
    kappas = [float(cohen_kappa(table)) for table in tables]
    return {
        "bounds": {
            "units": int(tables[0].sum()),
            "missing": int(lost.sum()),
            "percent": [float(accuracy(table)) for table in tables],
            "cohen_kappa": kappas if np.isfinite(kappas).all() else None,
        }
    }


def _others(reference: Ints) -> Ints:
    """Return the most frequent category other than each unit's own."""
    counts = np.bincount(reference[reference >= 0], minlength=2)
    first, second = np.argsort(-counts, kind="stable")[:2]
    others: Ints = np.where(reference == first, second, first).astype(np.int64)
    return others


def judges(
    sample: Sample, epsilon: float, with_curves: bool = True, margin: float = MARGIN
) -> JSON:
    """Compare each judge of the frame with people, by the judge's name.

    `with_curves` includes the results over ranges of thresholds and epsilons, and `margin` is that
    of the equivalence of judge and people.
    """
    columns = sample.frame.columns("judge")
    epsilons = (epsilon, *(EPSILONS if with_curves else ()))
    if not columns:
        return {}
    beside = floor(sample, epsilons)
    forms = forms_of(sample, beside.reason or beside.codes)
    return {
        sample.frame.raters[n].name: judge(sample, n, beside, forms, epsilons, margin)
        for n in columns
    }


def judge(
    sample: Sample,
    column: int,
    beside: Floor,
    forms: Forms,
    epsilons: tuple[float, ...],
    margin: float,
) -> JSON:
    """Compare one judge with people together (see `tandem.labels.reference`).

    Ties are left out and counted. The first of `epsilons` is the report's own, and the others are
    those of its curve, if any.
    """
    frame = sample.frame
    name, codes, people = frame.raters[column].name, frame.codes[:, column], reference(frame)
    ratings, mean = numbers(sample, codes), mean_rating(frame)
    gaps = gaps_of(sample, codes)
    return {
        "reference": people.rule,
        "units": int(((people.codes >= 0) & (codes >= 0)).sum()),
        "ties": int(people.ties.sum()),
        "people_units": int(((people.codes >= 0) | people.ties).sum()),
        "missing": frame.aside(name, is_missing=True),
        "escapes": frame.aside(name, is_missing=False),
        "agreement": agreement_with(sample, people, codes),
        **alignment_with(sample, people.codes, codes, ratings - mean),
        **_pairs(sample, codes),
        **human_ceiling(sample, codes),
        **direction(sample, people.codes, codes),
        "with_people": as_json(with_people(sample, codes)),
        "gap": as_json({of: wide for of, (wide, _) in gaps.items()}),
        "equivalence": equivalence({of: narrow for of, (_, narrow) in gaps.items()}, margin),
        "floor": compare_with_floor(sample, codes, beside),
        "correlation": _correlation(sample, ratings, mean),
        "thresholds": thresholds(sample, codes),
        "curves": curves(sample, column, people.codes) if len(epsilons) > 1 else [],
        "alt_test": alternative(sample, codes, epsilons, forms),
        **calibration(sample, column, people.codes),
        **readings(sample, column, people.codes),
        **grades(sample, column, with_curves=len(epsilons) > 1),
    }


def _pairs(sample: Sample, codes: Ints) -> JSON:
    """Compare a judge's codes (U,) with each person's; in a crowd, by their distribution."""
    frame = sample.frame
    if is_crowd(frame):
        return {"pairs_distribution": judge_distribution(sample, codes)}
    names = pair_names(sample)
    return {
        "pairs": {
            frame.raters[n].name: as_json(pair(sample, frame.codes[:, n], codes, names))
            for n in frame.columns("human")
        }
    }


def agreement_with(sample: Sample, people: Reference, codes: Ints) -> JSON:
    """Compare a judge's codes (U,) with a reference.

    If the reference is a mean, interval alpha uses it directly. Coefficients of categories use the
    nearest category.
    """
    scale, both = sample.frame.scale, np.stack([people.codes, codes], axis=1)
    wanted = [each for each in AMONG.values() if each.with_judge]
    many = {
        each.key: TOO_MANY
        for each in wanted
        if each.needs and sample.is_continuous and not sample.is_of_sets
    }
    many |= {ALPHA.key: TOO_MANY_SETS} if sample.has_too_many_sets else {}
    corrected = agreement_estimates(
        both,
        sample.clusters,
        sample.k,
        scale.level,
        scale.compared_values(),
        names=[each.key for each in wanted if each.key not in many],
        **sample.resampling_arguments,
    )
    n = int((both >= 0).all(axis=1).sum())
    corrected |= {key: undefined(why, n, AMONG[key].name) for key, why in many.items()}
    if people.rule == "mean":
        corrected[ALPHA.key] = alpha_of_two(
            people.values, numbers(sample, codes), sample.clusters, **sample.resampling_arguments
        )
    return as_json(pair(sample, people.codes, codes) | corrected)


def human_ceiling(sample: Sample, judge: Ints) -> JSON:
    """Return human agreement on the units that a judge (U,) labelled, and the pairs used.

    It holds kappas and the share of equal labels, as means over pairs of people weighted by shared
    units. Units on which people tie are included: leaving them out would leave out disagreement.
    """
    people = np.where(judge[:, None] >= 0, sample.frame.codes_of("human"), -1)
    pairs = ceiling_pairs(people)
    counts = {"kept": len(pairs.columns), "left_out": pairs.left_out, "least_shared": LEAST_SHARED}
    return {"human_ceiling": as_json(pair_means(sample, people)), "ceiling_pairs": counts}


def _correlation(sample: Sample, ratings: Floats, mean: Floats) -> JSON:
    """Correlate with the mean human rating, if categories have an order."""
    if not sample.is_ordered:
        return {
            key: undefined(NO_ORDER, 0, of.method).as_json() for key, of in CORRELATIONS.items()
        }
    made = correlation_estimates(
        ratings, mean, sample.clusters, detail=", mean human rating", **sample.resampling_arguments
    )
    return as_json(made)


_MEANS = {
    "balanced_accuracy": "Balanced accuracy: mean recall of the categories",
    "macro_precision": "Mean precision of the categories",
    "macro_f1": "Mean F1 of the categories",
}


_OF_MEAN = {"mean_absolute_error": "Mean absolute error, from the mean rating"}


def _describe_left_out(shown: Shown) -> CountedText:
    block, judge, codes = shown.block, shown.judge, shown.codes
    units, ties = count_units(block["units"]), count(block["ties"], "tie")
    facts = [f"{units} with a majority, {ties} left out"]
    show = "labelled" if block["reference"] == "mean" else "decided"
    linked = [
        (units, UnitCount.of(block["units"], show=show, one=judge)),
        (ties, UnitCount.of(block["ties"], show="ties")),
    ]
    if block["reference"] == "mean":
        facts = [f"{units} with people's mean rating, no tie"]
        linked = linked[:1]
    facts += [f"{n} missing: {reason}" for reason, n in block["missing"].items()]
    for word, n in block.get("escapes", {}).items():
        facts.append(f"escape {word}: {n}")
        given = UnitCount.of(n, show="all", one=judge, label=codes.get(word, word))
        linked.append((facts[-1], given))
    if out := block.get("ceiling_pairs", {}).get("left_out"):
        least = block["ceiling_pairs"]["least_shared"]
        facts.append(f"{count(out, 'pair')} of people below {least} shared {UNITS} left out")
    facts += _describe_bounds(block.get("bounds"))
    facts += no_floor(block)
    return CountedText.of("; ".join(facts), *linked)


def _describe_bounds(bounds: JSON | None) -> list[str]:
    """Describe the agreement with all missing answers counted as wrong, and as right."""
    if not bounds:
        return []
    ends = {"percent": bounds[EQUAL.key], "kappa": bounds[KAPPA.key]}
    ranges = [f"{name} {rounded(e[0])} to {rounded(e[1])}" for name, e in ends.items() if e]
    return [
        f"with all {bounds['missing']} missing on such {UNITS} wrong or right: {', '.join(ranges)}"
    ]


def _agreement_table(shown: Shown) -> Table:
    block, judge = shown.block, shown.judge
    names = pair_columns(block)

    def row(label: str, of: JSON, units: int) -> tuple[Cell, ...]:
        return (label, units, *estimate_cells(of, names))

    def with_person(rater: str, of: JSON) -> tuple[Cell, ...]:
        units = shared_units(of[EQUAL.key]["n"], judge, rater)
        return (RaterName(rater, "human"), units, *estimate_cells(of, names))

    together, among = block["agreement"], block["human_ceiling"]
    of_all = shown.compared(together[EQUAL.key]["n"])
    rows = (
        row(f"{block['reference'].capitalize()} of people", together, of_all),
        *(with_person(rater, pair) for rater, pair in block.get("pairs", {}).items()),
        row("People with each other", among, of_several(among[EQUAL.key]["n"], judge)),
    )
    return Table("Against people", ("Against", UNITS_HEAD, *names.values()), rows, apart=1)


def further(shown: Shown) -> Table:
    """Return the coefficients for which the block has figures. Snapshots may have fewer."""
    block, overall = shown.block, shown.block.get("overall", {})
    against = [each for each in AMONG.values() if each.with_judge]
    against += [each for each in OF_TWO.values() if shown.is_ordered or each.needs != "order"]
    with_people = {
        each.key: each.named_with(block["reference"])
        for each in against
        if each not in (KAPPA, EQUAL)
    }
    rows = estimate_rows(block["agreement"], with_people, shown.compared)
    rows += estimate_rows(overall, _MEANS, shown.compared)
    if shown.is_ordered:
        # Tied units have a mean, too.
        labelled = partial(UnitCount.of, show="labelled", one=shown.judge)
        of_mean = {key: of.named_with("mean rating") for key, of in CORRELATIONS.items()}
        rows += estimate_rows(overall, _OF_MEAN, labelled)
        rows += estimate_rows(block["correlation"], of_mean, labelled)
    return Table(FURTHER_COEFFICIENTS, ("Coefficient", "Value", UNITS_HEAD), rows)


def describe_comparisons(report: JSON) -> list[str]:
    """Describe each judge's reference and coefficients, or say that there was none."""
    judges = list(dict.fromkeys(j for v in report["variables"].values() for j in v["judges"]))
    who = "Each judge" if len(judges) > 1 else f"The judge {judges[0]}"
    held = {n: of for n, v in report["variables"].items() if (of := _compared_blocks(v))}
    rules = {n: of[0]["reference"] for n, of in held.items()}
    raters = {n: report["variables"][n]["agreement"]["raters"] for n in held}
    parts = []
    if most := [n for n in held if rules[n] == "majority" and raters[n] > 1]:
        parts.append(
            f"{who} was compared with the most frequent human label{_on_variables(most, held)}. "
            f"{_ties({n: held[n][0] for n in most})}"
        )
    if alone := [n for n in held if rules[n] == "majority" and raters[n] == 1]:
        parts.append(
            f"{who} was compared with the labels of one person{_on_variables(alone, held)}."
        )
    if mean := [n for n in held if rules[n] == "mean"]:
        parts.append(
            f"{who} was compared with the mean human rating{_on_variables(mean, held)}, so that no "
            f"{UNIT} ties. Errors and Krippendorff's alpha use the mean itself, and coefficients "
            "of categories the category nearest to it, rounding halves up."
        )
    blocks = [block for of in held.values() for block in of]
    if given := cited_statistics([b["agreement"], b["classes"], b.get("overall")] for b in blocks):
        parts.append(
            f"Reported are {joined(given)}; {_describe_pairs(blocks, max(raters.values()))}."
        )
    return [*parts, *_describe_uncompared(report, who)]


def _ties(blocks: dict[str, JSON]) -> str:
    """Say on how many units people tie, by variable; a judge's block has all that people labelled.

    People tie on the same units for every judge.
    """
    tied = {name: block for name, block in blocks.items() if block["ties"]}
    if not tied:
        return f"People tie on no {UNIT}."
    counts = [
        f"{block['ties']}{f' of {of}' if (of := block.get('people_units')) else ''} {UNITS}"
        f"{f' of {name}' if len(blocks) > 1 else ''}"
        for name, block in tied.items()
    ]
    return f"Left out are {joined(counts)}, where people tie."


def _compared_blocks(variable: JSON) -> list[JSON]:
    """Return the blocks of judges that were compared with people."""
    return [block for block in variable["judges"].values() if block["units"]]


def _on_variables(names: list[str], held: JSON) -> str:
    """Name the variables, unless they are all of them."""
    return "" if len(names) == len(held) else f" on {joined(names)}"


def _describe_pairs(blocks: list[JSON], people: int) -> str:
    """Describe the further figures besides the judge's agreement with people's joint labels."""
    if people < 2:
        return "one person alone shows nothing about human agreement"
    said = (
        "kappa and the share of equal labels also with each person, beside those of people with "
        f"each other on the {UNITS} that the judge labelled: the mean over pairs of people, "
        f"weighted by the {UNITS} that a pair shares"
    )
    out = [b["ceiling_pairs"] for b in blocks if b.get("ceiling_pairs", {}).get("left_out")]
    if not out:
        return said
    left = sum(pairs["left_out"] for pairs in out)
    fewer = f"pairs that share fewer than {out[0]['least_shared']} of them were left out"
    return f"{said}; {fewer} ({left} over all variables and judges)"


def _describe_uncompared(report: JSON, who: str) -> list[str]:
    """Name the variables on which no judge could be compared with people."""
    none = {
        n: f"no {UNIT} has both its label and a joint label of people"
        if v["agreement"]["raters"]
        else "no person labelled, so that there is no reference"
        for n, v in report["variables"].items()
        if v["judges"] and not _compared_blocks(v)
    }
    return [
        f"{who} could not be compared with people on "
        f"{joined([n for n in none if none[n] == why])}: {why}."
        for why in dict.fromkeys(none.values())
    ]


def side_by_side(variable: JSON) -> list[Block]:
    """Return a table with a row for each judge, if there is a reference."""
    shown, rows = coefficient_of(variable), list[tuple[Cell, ...]]()
    for name, of in variable["judges"].items():
        gap, own = of.get("gap", {}), of.get("with_people", {})
        cells = (of["agreement"], own, of["human_ceiling"], gap)
        kappas = (each.get(shown.key) for each in cells)
        numbers = (Number(None) if each is None else Number.from_estimate(each) for each in kappas)
        rows.append((RaterName(name, "judge"), compared_units(of, name, of["units"]), *numbers))
    if not any(isinstance(cell, Number) and cell.value is not None for row in rows for cell in row):
        return []
    header = ("Judge", UNITS_HEAD, "With the majority", "With each person", "People", "Gap")
    return [Block("Agreement with people", (Table(shown.name, header, tuple(rows)),))]


def comparison_methods(report: JSON) -> list[str]:
    """Describe each judge's reference and coefficients, and how ratings were correlated."""
    parts = describe_comparisons(report)
    if ordered := cited_statistics(b["correlation"] for b in blocks_of_judges(report)):
        parts.append(f"Ratings were correlated with the mean human rating: {joined(ordered)}.")
    return parts


def family_methods(report: JSON) -> list[str]:
    """Say that variables are families of their own, if there are several."""
    variables = list(report["variables"])
    if len(variables) < 2:
        return []
    return [
        f"The variables {joined(variables)} are families of their own: no p-value is adjusted "
        "over them."
    ]


FURTHER_COEFFICIENTS = "Further coefficients"
SIDE_BY_SIDE = SectionPart(JUDGES, blocks=lambda shown: side_by_side(shown.variable))
PART = SectionPart(
    JUDGE,
    of_judge=lambda of, n: bounds(of.both, n),
    title="Against people",
    tables=lambda shown: [_agreement_table(shown)],
    about=_describe_left_out,
)
FURTHER = SectionPart(JUDGE, title=FURTHER_COEFFICIENTS, tables=lambda shown: [further(shown)])
METHODS = SectionPart(head=OF_JUDGES, methods=comparison_methods)
FAMILIES = SectionPart(head=OF_JUDGES, methods=family_methods)
