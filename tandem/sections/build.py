"""The report: agreement among people, each judge compared with them, and scores of systems."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from types import MappingProxyType

import numpy as np

from ..crosscheck.figures import Figures, score_figures, variable_figures
from ..crosscheck.process import pending_crosscheck, run_crosscheck, skipped_crosscheck
from ..document import PLAIN
from ..labels.assisted import summary
from ..labels.frame import Frame, UnitFacts, VariableFrame
from ..labels.metadata import in_order
from ..labels.people_sample import PeopleSample
from ..labels.reference import reference
from ..labels.resampling import Sample
from ..labels.selection import OWN_STRATA, ReportOptions, Strata
from ..labels.splits import STRATUM, evaluation_items, item_mask, splits_as_json
from ..statistics import resamples_of
from ..types import (
    JSON,
    Beside,
    Progress,
    Publish,
    Steps,
    compute_later,
    ignore_part,
    ignore_progress,
)
from ..version import ORIGIN
from .agreement import agreement, distribution, scale_used
from .alt_test import sensitivity_and_power
from .backgrounds import backgrounds
from .between_judges import between_judges
from .coefficient import choose_coefficient
from .evidence import spans
from .extras import soft_labels
from .families import own_family
from .gap_tests import add_gap_tests
from .guidelines import guidelines
from .judges import adjudicated, agreement_with, bounds, judges
from .missing import missing_labels, missing_scores
from .planning import planning, systems_planning
from .systems import scores, scores_of_items
from .two_way import over_raters
from .variance_components import components
from .verdict import verdict
from .warnings import warnings

Comparable = Collection[str] | None
"""The items on which judges are compared with people; None for all."""


def frame_report(
    head: JSON,
    frame: Frame,
    options: ReportOptions,
    order: list[str],
    sampled: PeopleSample | None,
    check: bool = True,
    progress: Progress = ignore_progress,
    words: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    nouns: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    chosen: int = 0,
    publish: Publish = ignore_part,
    beside: Beside = compute_later,
) -> JSON:
    """Create the report of a frame, as JSON.

    `head` describes the labels: campaign, protocol and batch, each null if there is none. Variables
    are in `order`. `sampled` are the queries sampled for people; None if these were not a random
    share of all. With `check`, other libraries compute the figures again. `progress` is called with
    the number of finished steps and of all steps. By variable, `words` maps codes to words, and
    `nouns` has the singular and plural of the units' noun. `chosen` is the number of items that
    were chosen instead of sampled. `publish` gets the report without spans, strata,
    guidelines and components of variance, and then the whole report before its check. `beside`
    computes strata and components.
    """
    names = [name for name in dict.fromkeys(order) if name in frame.variables]
    comparable = evaluation_items(frame.strata, options)
    judged = (len(frame.variables[name].columns("judge")) for name in names)
    steps = Steps(progress, 2 + len(names) * STEPS_OF_A_VARIABLE + sum(judged))
    samples = {n: Sample(frame.variables[n], options.resamples, options.seed) for n in names}
    later = beside(lambda: _later(frame, samples, options, comparable))
    variables = {
        name: _variable(frame, samples[name], options, comparable, steps) for name in names
    }
    for name, block in variables.items():
        block |= {"words": dict(words[name])} if words.get(name) else {}
        block |= {"noun": list(nouns[name])} if name in nouns else {}
    found = _scores(frame, options, sampled, comparable)
    steps.done()
    made = _assemble(head, frame, options, variables, found, comparable, chosen)
    publish(made | {"check": pending_crosscheck()}, False)
    for name, block in variables.items():
        sample = samples[name]
        _put_spans(block, spans(sample.frame, frame.evidence, options.resamples, options.seed))
        steps.done()
    rest = later()
    for name, of in rest["components"].items():
        found[name]["components"] = of
    for name, block in variables.items():
        block["strata"] = steps.after(rest["strata"][name])
        if frame.guidelines:
            noun, compared = nouns.get(name, PLAIN), comparable_part(samples[name], comparable)
            block["guidelines"] = guidelines(samples[name], frame.guidelines, noun, compared)
    made = _assemble(head, frame, options, variables, found, comparable, chosen)
    if not check:
        return made | {"check": skipped_crosscheck("it was not asked for")}
    publish(made | {"check": pending_crosscheck()}, True)
    return made | {"check": _check(frame, variables, found, options, samples, comparable)}


def _later(
    frame: Frame, samples: Mapping[str, Sample], options: ReportOptions, comparable: Comparable
) -> JSON:
    """Return the strata by variable, and the components of variance by score."""
    return {
        "strata": {n: _strata(of, frame, options, comparable) for n, of in samples.items()},
        "components": {
            name: components(of, options, comparable) for name, of in scores_of_items(frame).items()
        },
    }


def _put_spans(block: JSON, found: JSON) -> None:
    """Replace the block's empty key `spans`, or drop it if no rater marked anything."""
    block |= found
    if not found:
        del block["spans"]


def _assemble(
    head: JSON,
    frame: Frame,
    options: ReportOptions,
    variables: JSON,
    found: JSON,
    comparable: Comparable,
    chosen: int,
) -> JSON:
    """Return the report without its check, from the blocks of the variables and the scores."""
    raters = [_rater(rater) for rater in frame.raters]
    return {
        **head,
        "verdict": verdict(raters, variables, found, chosen),
        "generated_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **ORIGIN,
        "seed": options.seed,
        "resamples": resamples_of(frame.queries, options.resamples),
        "choices": options.as_json(),
        "inputs": asdict(frame.inputs),
        "queries": frame.queries,
        "chosen_items": chosen,
        "assisted_labels": len(frame.assisted),
        "assisted": summary(frame.assisted, options.assisted),
        "exposed": frame.exposed.summary(options.exposed),
        "roles": splits_as_json(frame.strata, comparable),
        "raters": raters,
        "warnings": warnings(frame, variables),
        "variables": variables,
        "scores": found,
    }


def agreement_of_variables(frame: Frame, options: ReportOptions, order: list[str]) -> JSON:
    """Return the agreement of people, and of each judge with them, by variable.

    The keys are those of the report, whose other parts are not computed.
    """
    comparable = evaluation_items(frame.strata, options)
    found: JSON = {}
    for name in (name for name in order if name in frame.variables):
        of = frame.variables[name]
        sample = Sample(of, options.resamples, options.seed)
        both = comparable_part(sample, comparable)
        people = reference(both.frame)
        found[name] = {
            "categories": _own_categories(of),
            "agreement": agreement(sample),
            "judges": {
                of.raters[n].name: {
                    "agreement": agreement_with(both, people, both.frame.codes[:, n])
                }
                for n in of.columns("judge")
            },
        }
    return found


def _own_categories(of: VariableFrame) -> list[str]:
    return [c for c in of.scale.categories if c not in of.scale.foreign]


def _check(
    frame: Frame,
    variables: JSON,
    of: JSON,
    options: ReportOptions,
    samples: Mapping[str, Sample],
    comparable: Comparable,
) -> JSON:
    """Check the figures that other libraries can compute."""

    def figures() -> Figures:
        found = Figures()
        for name, block in variables.items():
            compared = comparable_part(samples[name], comparable).frame
            variable_figures(found, frame.variables[name], compared, block)
        score_figures(found, of)
        return found

    return run_crosscheck(figures, sum(rater.labels for rater in frame.raters), options.check)


def _scores(
    frame: Frame, options: ReportOptions, sampled: PeopleSample | None, comparable: Comparable
) -> JSON:
    found = scores(frame, options.resamples, options.seed, sampled, comparable)
    for name, of in scores_of_items(frame).items():
        found[name]["planning"] = systems_planning(of, found[name]["systems"], options.width)
        found[name]["components"] = None
        found[name]["missing_scores"] = missing_scores(of)
    return found


def _rater(rater: object) -> JSON:
    names = ("name", "kind", "responses", "labels", "excluded")
    return {name: getattr(rater, name) for name in names}


STEPS_OF_A_VARIABLE = 5


def _variable(
    whole: Frame, sample: Sample, options: ReportOptions, comparable: Comparable, steps: Steps
) -> JSON:
    """Return the block of a variable without spans and strata.

    It takes three steps and one for each judge.
    """
    frame = sample.frame
    compared, both = _comparison(sample, options, comparable), comparable_part(sample, comparable)
    steps.done()
    for column in frame.columns("judge"):
        judge = compared["judges"][frame.raters[column].name]
        judge["alt_test"] |= sensitivity_and_power(both, column, compared, options.epsilon)
        judge |= bounds(both, column)
        judge |= own_family(both, column, whole.families)
        steps.done()
    chosen = choose_coefficient({"measurement": frame.scale.level, **compared})
    return {
        "measurement": frame.scale.level,
        "coefficient": chosen,
        "categories": _own_categories(frame),
        "scale": scale_used(frame),
        "escapes": frame.escapes,
        "distribution": distribution(frame),
        "missing_labels": missing_labels(frame),
        **compared,
        **({"backgrounds": backgrounds(sample, whole.backgrounds)} if whole.backgrounds else {}),
        "spans": None,
        "soft_labels": soft_labels(sample),
        **steps.after(between_judges(both)),
        "planning": steps.after(planning(sample, compared, options.width)),
        "strata": {},
    }


def _comparison(
    sample: Sample, options: ReportOptions, comparable: Comparable, with_curves: bool = True
) -> JSON:
    both = comparable_part(sample, comparable)
    found = judges(both, options.epsilon, with_curves, options.margin)
    if options.reference == "adjudicated":
        for column in both.frame.columns("judge"):
            found[both.frame.raters[column].name]["adjudicated"] = adjudicated(both, column)
    for block in found.values() if options.threshold is not None else ():
        block["thresholds"] = _only(block["thresholds"], options.threshold)
        block["curves"] = _only(block["curves"], options.threshold)
    made: JSON = {"agreement": agreement(sample, options.pairs == "all"), "judges": found}
    if options.bootstrap == "two-way":
        over_raters(sample, both, made)
    add_gap_tests(found, len(np.unique(both.clusters)))
    return made


def _only(cuts: list[JSON], threshold: float | None) -> list[JSON]:
    """Return the cuts at one threshold, and the cuts without a threshold."""
    return [cut for cut in cuts if cut.get("threshold", threshold) == threshold]


def comparable_part(sample: Sample, comparable: Comparable) -> Sample:
    """Drop the labels on which judges and people may not be compared."""
    if comparable is None:
        return sample
    return sample.only(item_mask([item for item, _, _ in sample.frame.units.names], comparable))


def _strata(sample: Sample, frame: Frame, options: ReportOptions, comparable: Comparable) -> JSON:
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
