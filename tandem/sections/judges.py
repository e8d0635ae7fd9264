"""Section: each judge compared with people: alignment, bounds, curves, references."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..labels.frame import VariableFrame
from ..labels.reference import Reference, mean_rating, reference
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    Alignment,
    Bools,
    Estimate,
    Floats,
    Ints,
    accuracy,
    agreement_estimates,
    alignment_estimates,
    alpha_of_two,
    cohen_kappa,
    confusion,
    correlation_estimates,
    height,
    mean_by_cluster,
    strictness,
    undefined,
)
from ..statistics.alternative import EPSILONS
from ..statistics.ceiling import ceiling_pairs
from ..statistics.coefficients import ALPHA, AMONG, OVERALL
from ..statistics.correlation import CORRELATIONS
from ..statistics.interval_tests import MARGIN
from ..statistics.pairwise import LEAST_SHARED
from ..types import JSON
from .agreement import NO_ORDER, numbers, pair, pair_means, pair_names
from .alt_test import Forms, alternative, forms_of
from .calibration import calibration
from .crowd import is_crowd, judge_distribution
from .cuts import curves, thresholds
from .floor import Floor, compare_with_floor, floor, gaps_of, with_people
from .gap_tests import equivalence
from .grades import grades
from .readings import readings

YES, NO = "yes", "no"
ERROR = "mean absolute error, mean human rating"
ERROR_WITH = ERROR.replace("mean human rating", "adjudicated rating")


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
        "with_people": _as_json(with_people(sample, codes)),
        "gap": _as_json({of: wide for of, (wide, _) in gaps.items()}),
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


def direction(sample: Sample, people: Ints, judge: Ints) -> JSON:
    """Return the key `direction`: in which direction a judge (U,) errs from a reference (U,).

    It is absent if the labels used are neither yes and no nor ordered.
    """
    arguments, clusters = sample.resampling_arguments, sample.clusters
    categories, both = sample.frame.scale.categories, (people >= 0) & (judge >= 0)
    used = {categories[code] for code in np.unique([people[both], judge[both]])}
    if used == {YES, NO}:
        yes, no = categories.index(YES), categories.index(NO)
        found = strictness(people, judge, clusters, yes=yes, no=no, **arguments)
        return {"direction": found.as_json()}
    if not sample.is_ordered:
        return {}
    ranks = [np.where(each >= 0, each, np.nan).astype(float) for each in (people, judge)]
    return {"direction": height(ranks[0], ranks[1], clusters, **arguments).as_json()}


def _pairs(sample: Sample, codes: Ints) -> JSON:
    """Compare a judge's codes (U,) with each person's; in a crowd, by their distribution."""
    frame = sample.frame
    if is_crowd(frame):
        return {"pairs_distribution": judge_distribution(sample, codes)}
    names = pair_names(sample)
    return {
        "pairs": {
            frame.raters[n].name: _as_json(pair(sample, frame.codes[:, n], codes, names))
            for n in frame.columns("human")
        }
    }


def _as_json(estimates: Mapping[str, Estimate]) -> JSON:
    return {name: estimate.as_json() for name, estimate in estimates.items()}


def agreement_with(sample: Sample, people: Reference, codes: Ints) -> JSON:
    """Compare a judge's codes (U,) with a reference.

    If the reference is a mean, interval alpha uses it directly. Coefficients of categories use the
    nearest category.
    """
    scale, both = sample.frame.scale, np.stack([people.codes, codes], axis=1)
    wanted = [each for each in AMONG.values() if each.with_judge]
    many = [each for each in wanted if each.needs and sample.is_continuous]
    corrected = agreement_estimates(
        both,
        sample.clusters,
        sample.k,
        scale.level,
        scale.values() if scale.categories else None,
        names=[each.key for each in wanted if each not in many],
        **sample.resampling_arguments,
    )
    n = int((both >= 0).all(axis=1).sum())
    corrected |= {each.key: undefined(TOO_MANY, n, each.name) for each in many}
    if people.rule == "mean":
        corrected[ALPHA.key] = alpha_of_two(
            people.values, numbers(sample, codes), sample.clusters, **sample.resampling_arguments
        )
    return _as_json(pair(sample, people.codes, codes) | corrected)


def alignment_with(
    sample: Sample, reference: Ints, codes: Ints, gaps: Floats, error: str = ERROR
) -> JSON:
    """Return measures of each category and overall, and the table that both are computed from.

    `gaps` (U,) are the distances of ratings from the reference's, and `error` names their mean.
    """
    if sample.is_continuous:
        n = int(((reference >= 0) & (codes >= 0)).sum())
        nothing = {name: undefined(TOO_MANY, n, method) for name, (_, method) in OVERALL.items()}
        overall = {**nothing, "mean_absolute_error": _error(sample, gaps, error)}
        empty: JSON = {"labels": [], "matrix": []}
        return {"classes": {}, "overall": _as_json(overall), "confusion": empty}
    made = alignment_estimates(
        reference, codes, sample.clusters, sample.k, **sample.resampling_arguments
    )
    overall = {**made.overall, "mean_absolute_error": _error(sample, gaps, error)}
    used = np.flatnonzero(made.confusion.sum(axis=0) + made.confusion.sum(axis=1))
    names = [sample.frame.scale.categories[n] for n in used]
    return {
        "classes": {name: _class(made, int(n)) for name, n in zip(names, used, strict=True)},
        "overall": _as_json(overall),
        "confusion": {
            "labels": names,
            "matrix": made.confusion[np.ix_(used, used)].astype(int).tolist(),
        },
    }


def _class(made: Alignment, place: int) -> JSON:
    of_class = {name: estimates[place] for name, estimates in made.classes.items()}
    return {**_as_json(of_class), "support": int(made.confusion[place].sum())}


def _error(sample: Sample, gaps: Floats, method: str) -> Estimate:
    if not sample.is_ordered:
        return undefined(NO_ORDER, 0, method)
    return mean_by_cluster(np.abs(gaps), sample.clusters, method, (0, sample.span))


def human_ceiling(sample: Sample, judge: Ints) -> JSON:
    """Return human agreement on the units that a judge (U,) labelled, and the pairs used.

    It holds kappas and the share of equal labels, as means over pairs of people weighted by shared
    units. Units on which people tie are included: leaving them out would leave out disagreement.
    """
    people = np.where(judge[:, None] >= 0, sample.frame.codes_of("human"), -1)
    pairs = ceiling_pairs(people)
    counts = {"kept": len(pairs.columns), "left_out": pairs.left_out, "least_shared": LEAST_SHARED}
    return {"human_ceiling": _as_json(pair_means(sample, people)), "ceiling_pairs": counts}


def _correlation(sample: Sample, ratings: Floats, mean: Floats) -> JSON:
    """Correlate with the mean human rating, if categories have an order."""
    if not sample.is_ordered:
        return {
            key: undefined(NO_ORDER, 0, of.method).as_json() for key, of in CORRELATIONS.items()
        }
    made = correlation_estimates(
        ratings, mean, sample.clusters, detail=", mean human rating", **sample.resampling_arguments
    )
    return _as_json(made)


def adjudicated(sample: Sample, column: int) -> JSON:
    """Return the key `adjudicated` of a judge.

    `references` compares the judge with decided units only. These are mostly hard, so the result
    does not represent all of the judge's labels. `settled_codes` adds people's majority on
    undecided units.
    """
    return {
        "references": _against(sample, column, reference(sample.frame, "reference")),
        "settled": _against(sample, column, _settled(sample.frame)),
    }


def settled_codes(frame: VariableFrame) -> tuple[Ints, Bools]:
    """Return the reference's category on decided units, and people's joint label on others.

    Also returns which units were decided, (U,) each; -1 if there is neither.
    """
    return _settled(frame).codes, references_of(frame)[1]


def _settled(frame: VariableFrame) -> Reference:
    is_decided = references_of(frame)[1]
    decided, people = reference(frame, "reference"), reference(frame)
    return Reference(
        people.rule,
        np.where(is_decided, decided.codes, people.codes).astype(np.int64),
        np.where(is_decided, decided.values, people.values),
        np.where(is_decided, decided.ties, people.ties),
    )


def references_of(frame: VariableFrame) -> tuple[Ints, Bools]:
    """Return the reference's category of each unit, and whether the unit was decided, both (U,).

    The category is -1 if nothing was decided, if the decision was an escape, or if several
    references tie. In the last two cases people's joint label does not count either.
    """
    is_decided = np.asarray((frame.codes_of("reference") >= 0).any(axis=1), dtype=np.bool_)
    names = {frame.raters[n].name for n in frame.columns("reference")}
    escaped = [a.unit for a in frame.asides if a.rater in names and not a.is_missing]
    is_decided[escaped] = True
    return reference(frame, "reference").codes, is_decided


def _against(sample: Sample, column: int, said: Reference) -> JSON:
    codes = sample.frame.codes[:, column]
    gaps = numbers(sample, codes) - said.values
    return {
        "units": int(((said.codes >= 0) & (codes >= 0)).sum()),
        "agreement": agreement_with(sample, said, codes),
        **alignment_with(sample, said.codes, codes, gaps, ERROR_WITH),
    }
