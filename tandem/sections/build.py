"""The report: agreement among people, each judge compared with them, and scores of systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from types import MappingProxyType

from ..crosscheck.process import (
    Figures,
    pending_crosscheck,
    run_crosscheck,
    score_figures,
    skipped_crosscheck,
    variable_figures,
)
from ..labels.exposed import summary
from ..labels.frame import Frame, VariableFrame, evaluation_items, splits_as_json
from ..labels.people_sample import PeopleSample
from ..labels.resampling import Sample
from ..labels.selection import ReportOptions
from ..statistics import resamples_of
from ..trust.check import Draw
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
from . import (
    adjudicated,
    agreement,
    alignment,
    alt_power,
    alt_test,
    backgrounds,
    between_judges,
    by_code,
    calibration,
    consistency,
    crowd,
    cuts,
    distribution,
    estimates,
    evidence,
    exposure,
    families,
    floor,
    grades,
    guidelines,
    intervals,
    judges,
    missing,
    planning,
    raters,
    readings,
    slices,
    soft_labels,
    system_decisions,
    system_order,
    systems,
    trust,
    variance_components,
    verdict,
    warnings,
    written,
)
from .base import Labels, SectionPart, choose_coefficient
from .comparison import METHODS as METHODS_OF_SPLITS
from .comparison import Comparable, comparable_part, comparison, own_categories
from .systems import scores, scores_of_items
from .words import words_of_sets

PARTS: tuple[SectionPart, ...] = (
    verdict.PART,
    warnings.PART,
    # People.
    raters.PART,
    agreement.PART,
    missing.PEOPLES,
    agreement.PAIRS,
    distribution.PART,
    by_code.PART,
    backgrounds.PART,
    soft_labels.PART,
    exposure.PART,
    distribution.SCALES,
    guidelines.PART,
    # Judges side by side.
    judges.SIDE_BY_SIDE,
    between_judges.PART,
    consistency.SIDE_BY_SIDE,
    # Each judge.
    judges.PART,
    crowd.PART,
    floor.PART,
    alignment.PART,
    by_code.JUDGES,
    alt_test.PART,
    alt_power.PART,
    trust.PART,
    cuts.PART,
    calibration.PART,
    consistency.PART,
    grades.PART,
    readings.PART,
    judges.FURTHER,
    families.PART,
    adjudicated.PART,
    missing.JUDGES,
    exposure.VALIDATED,
    # The rest.
    written.PART,
    # Scores of systems.
    systems.PART,
    missing.SCORES,
    systems.PAIRS,
    system_decisions.PART,
    system_order.PART,
    systems.CORRELATIONS,
    estimates.PART,
    variance_components.PART,
    evidence.PART,
    slices.PART,
    evidence.METHODS,
    soft_labels.METHODS,
    planning.PART,
    exposure.ELSEWHERE,
    # What methods say of judges, written answers, intervals and the check.
    judges.METHODS,
    trust.METHODS,
    cuts.METHODS,
    alt_test.METHODS,
    alt_power.METHODS,
    floor.METHODS,
    judges.FAMILIES,
    METHODS_OF_SPLITS,
    missing.METHODS,
    written.METHODS,
    intervals.PART,
    intervals.CHECK,
)
"""The parts of the report in reading order; the methods of several follow in their own order."""


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
    draw: Draw | None = None,
) -> JSON:
    """Create the report of a frame, as JSON.

    `head` describes the labels: campaign, protocol and batch, each null if there is none. Variables
    are in `order`. `sampled` are the queries sampled for people; None if these were not a random
    share of all. With `check`, other libraries compute the figures again. `progress` is called with
    the number of finished steps and of all steps. By variable, `words` maps codes to words, and
    `nouns` has the singular and plural of the units' noun. `chosen` is the number of items that
    were chosen instead of sampled. `publish` gets the report without spans, strata,
    guidelines and components of variance, and then the whole report before its check. `beside`
    computes strata and components. `draw` says how the queries with people's labels were drawn, if
    that is known.
    """
    names = [name for name in dict.fromkeys(order) if name in frame.variables]
    comparable = evaluation_items(frame.strata, options)
    judged = (len(frame.variables[name].columns("judge")) for name in names)
    slow = [part.compute for part in PARTS if part.compute and part.is_slow]
    own = 1 + sum(bool(part.compute) for part in PARTS)
    steps = Steps(progress, 2 + len(names) * (own + 1) + sum(judged))
    samples = {n: Sample(frame.variables[n], options.resamples, options.seed) for n in names}
    later = beside(lambda: _later(frame, samples, options, comparable))
    labels = {n: _variable(frame, samples[n], options, comparable, draw, steps) for n in names}
    variables = {name: of.block for name, of in labels.items()}
    for name, block in variables.items():
        block |= _words(frame.variables[name], words.get(name, {}))
        block |= {"noun": list(nouns[name])} if name in nouns else {}
    found = _scores(frame, options, sampled, comparable)
    steps.done()
    made = _assemble(head, frame, options, variables, found, comparable, chosen)
    publish(made | {"check": pending_crosscheck()}, False)
    for of in labels.values():
        for compute in slow:
            of.block.update(steps.after(compute(of)))
    rest = later()
    for name, of_score in rest["components"].items():
        found[name]["components"] = of_score
    for name, block in variables.items():
        block["strata"] = steps.after(rest["strata"][name])
        if block["spans"] is None:
            del block["spans"]
    made = _assemble(head, frame, options, variables, found, comparable, chosen)
    if not check:
        return made | {"check": skipped_crosscheck("it was not asked for")}
    publish(made | {"check": pending_crosscheck()}, True)
    return made | {"check": _check(frame, variables, found, options, samples, comparable)}


def _words(frame: VariableFrame, words: Mapping[str, str]) -> JSON:
    """Return the key `words` of a variable, and `code_words` if its labels are sets of codes."""
    if frame.scale.level != "set":
        return {"words": dict(words)} if words else {}
    escapes = {code: word for code, word in words.items() if code in frame.escapes}
    given = words_of_sets(frame.scale.categories, words) | escapes
    codes = {code: words[code] for code in frame.scale.single if code in words}
    return {"words": given} | ({"code_words": codes} if codes else {})


def _later(
    frame: Frame, samples: Mapping[str, Sample], options: ReportOptions, comparable: Comparable
) -> JSON:
    """Return the strata by variable, and the components of variance by score."""
    return {
        "strata": {n: slices.strata(of, frame, options, comparable) for n, of in samples.items()},
        "components": {
            name: variance_components.components(of, options, comparable)
            for name, of in scores_of_items(frame).items()
        },
    }


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
    answered = [_rater(rater) for rater in frame.raters]
    return {
        **head,
        "verdict": verdict.verdict(answered, variables, found, chosen),
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
        "raters": answered,
        "warnings": warnings.warnings(frame, variables),
        "variables": variables,
        "scores": found,
    }


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
        # Their places among the keys; components are computed later.
        found[name] |= {"planning": None, "components": None}
        for part in PARTS:
            found[name].update(part.of_score(of, options, found[name]) if part.of_score else {})
    return found


def _rater(rater: object) -> JSON:
    names = ("name", "kind", "responses", "labels", "excluded")
    return {name: getattr(rater, name) for name in names}


def _variable(
    whole: Frame,
    sample: Sample,
    options: ReportOptions,
    comparable: Comparable,
    draw: Draw | None,
    steps: Steps,
) -> Labels:
    """Return the labels of a variable with its block, but for what is slow.

    It takes a step for the comparison, for each judge, and for each part.
    """
    frame = sample.frame
    compared = comparison(sample, options, comparable)
    of = Labels(whole, sample, comparable_part(sample, comparable), options, compared, draw)
    steps.done()
    for column in frame.columns("judge"):
        for part in PARTS:
            of.judge(column).update(part.of_judge(of, column) if part.of_judge else {})
        steps.done()
    block = {
        "measurement": frame.scale.level,
        "coefficient": choose_coefficient({"measurement": frame.scale.level, **compared}),
        "categories": own_categories(frame),
        "scale": distribution.scale_used(frame),
        "escapes": frame.escapes,
        "distribution": distribution.distribution(frame),
        "missing_labels": missing.missing_labels(frame),
        **compared,
        # Their places among the keys.
        "backgrounds": None,
        "spans": None,
    }
    of = replace(of, block=block)
    for part in PARTS:
        if part.compute and not part.is_slow:
            block.update(steps.after(part.compute(of)))
    if block["backgrounds"] is None:
        del block["backgrounds"]
    return replace(of, block=block | {"strata": {}})
