"""The report of measures as JSON: each measure of each system, by people and by each judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from types import MappingProxyType

import numpy as np
from django.conf import settings
from django.utils import timezone

from analysis.campaigns.behind import behind_warnings
from analysis.campaigns.chosen_items import chosen_warnings
from analysis.campaigns.evaluators import campaign_evaluators
from analysis.campaigns.frames import JoinedCampaign, campaign_frame
from analysis.campaigns.scripted_judges import fakes_among, mark_raters
from analysis.evaluation.inputs import JOINT_EVALUATORS, JUDGE, Part, QuerySample, Rows
from analysis.evaluation.joint_labels import (
    JointLabels,
    evaluators_beside,
    evaluators_instead,
    variables_of,
)
from analysis.evaluation.key_points import key_point_scores
from analysis.evaluation.layout import Layout
from analysis.evaluation.parts_by_protocol import batch_parts, parts_of
from analysis.evaluation.passages import reference_contexts, sampled_orderings
from analysis.evaluation.people_mean import Persons
from analysis.evaluation.slicing import Division, Stratum, check_same_batch, labelled_strata
from analysis.evaluation.stored import answer_points, asked_content, passage_ratings, stored_sample
from analysis.evaluation.system_rankings import RANKED, Tables, matrix_of, system_rankings
from annotation.models import Campaign
from datasets.jobs.guard import for_workers
from datasets.material import batch_rows
from datasets.models import Batch
from tandem.files.rows import Query
from tandem.labels.evaluators import Evaluator
from tandem.labels.frame import Frame, without_garbage_collection
from tandem.labels.selection import ReportOptions
from tandem.scores import of_family
from tandem.scores.answers.refusals import refusal_list
from tandem.scores.base import Measure, MeasureValues, Pooled, estimate, rows_of
from tandem.scores.options import Options
from tandem.scores.tokenizer import tokenizer
from tandem.statistics import Bools, Estimate, resamples_of
from tandem.types import JSON, Progress, Steps, ignore_progress


@for_workers
def measures_report(
    campaign: Campaign,
    options: Options,
    preset: str,
    report_options: ReportOptions,
    passages: tuple[str, Campaign] | None = None,
    slices: Sequence[Campaign] = (),
    points: Campaign | None = None,
    progress: Progress = ignore_progress,
    evaluators: Sequence[Evaluator] | None = None,
    joined: Mapping[int, Sequence[JoinedCampaign]] = MappingProxyType({}),
) -> JSON:
    """Compute the measures of a campaign.

    `passages` are a rater and the campaign with this rater's passage ratings. `slices` are
    campaigns whose labels divide the queries. `points` is a campaign that compares points of
    answers with their context. `evaluators` take the place of their judges. Without them, the
    campaign's own stand beside their judges. `joined` are, by a campaign's primary key, all
    campaigns whose labels are read as its own. Raises ValueError if the options cannot be met.
    """
    if passages is not None:
        check_same_batch(passages[1], campaign)
    strata = [each for other in slices for each in labelled_strata(other, campaign, report_options)]
    campaigns = joined.get(campaign.pk, ())
    frame = campaign_frame(campaign, report_options, joined=campaigns)
    labels = _joint_labels(campaign, frame, points, evaluators, report_options, joined)
    # Beside their judges, evaluators would only repeat what is made of a single variable.
    by_variable = labels.frame if labels.own is None else frame
    with without_garbage_collection():
        queries = tuple(batch_rows(campaign.batch))
    rated = passages and passage_ratings(passages[1], passages[0], queries, report_options)
    layout = Layout.from_queries(queries)
    sample = stored_sample(_sampling_campaign(campaign, campaigns))
    tables = Tables(sample, layout.oracles)
    asked = asked_content(campaign)
    parts = list(parts_of(asked, queries, labels.frame, options, rated, layout, labels.points))
    found = _measures(parts, labels, options, report_options, strata, tables, progress)
    raters, evaluators_there = _raters(frame), _evaluators(labels)
    return {
        **_head(campaign, options, preset, report_options, len(queries)),
        "passages": passages and f"{passages[0]}@{passages[1].name}",
        "points": points and points.name,
        "strata": {each.name: each.as_json() for each in strata},
        "queries": len(queries),
        "raters": raters,
        "evaluators": evaluators_there,
        "exposed": frame.exposed.summary(report_options.exposed),
        "warnings": [*chosen_warnings(campaign), *behind_warnings(campaign)],
        "evaluation_queries": tables.sample.combined(len(queries)),
        "leaderboard": system_rankings(found, [*raters, *evaluators_there]),
        "measures": found,
        "thresholds": {}
        if rated is None
        else rated.thresholds(by_variable, options, report_options),
        "metrics": tables.metrics(report_options),
        **_of_passages(campaign, layout, by_variable, options, report_options),
        "key_point_scores": key_point_scores(asked, queries, labels.frame, options, report_options),
    }


def _sampling_campaign(campaign: Campaign, joined: Sequence[JoinedCampaign]) -> Campaign:
    """Return the campaign whose sample is that of people."""
    every = [campaign, *(each.campaign for each in joined)]
    return next((each for each in every if each.asks_people), campaign)


@for_workers
def named_measures(
    campaign: Campaign,
    names: Collection[str],
    options: Options,
    report_options: ReportOptions,
    frame: Frame,
    queries: Sequence[Query],
    strata: Sequence[Division] = (),
) -> JSON:
    """Compute only these measures of a campaign, by name, with their values of each system.

    The values are those of `measures_report` under `measures`, with slices by further `strata`; its
    rankings, tests and orderings, which take most of its time, are left out.
    """
    layout = Layout.from_queries(queries)
    parts = parts_of(asked_content(campaign), queries, frame, options, None, layout)
    found: JSON = {}
    for part in parts:
        for measure in of_family(part.family):
            if f"{measure.name}{part.suffix}" in names:
                _add(found, measure, part, JointLabels(frame), options, report_options, strata)
    return found


@for_workers
def batch_measures(
    batch: Batch,
    options: Options,
    report_options: ReportOptions,
    progress: Progress = ignore_progress,
) -> JSON:
    """Compute the measures that a batch gives without labels.

    The keys are those of `measures_report` on systems; there are no raters and no campaign.
    """
    with without_garbage_collection():
        queries = tuple(batch_rows(batch))
    layout = Layout.from_queries(queries)
    tables = Tables(QuerySample(), layout.oracles)
    parts = list(batch_parts(queries, layout, options))
    steps = Steps(progress, sum(len(of_family(part.family)) for part in parts) + 1)
    labels = JointLabels(Frame((), (), {}, 0))
    found = _measure_parts(parts, labels, options, report_options, (), tables, Persons(), steps)
    for name, of in found.items():
        of |= _of_tables(tables, name, report_options)
    return {
        "batch": batch.name,
        "generated_at": timezone.now().isoformat(timespec="seconds"),
        "version": settings.TANDEM_VERSION,
        "commit": settings.TANDEM_COMMIT,
        "queries": len(queries),
        "raters": [],
        "leaderboard": system_rankings(found, []),
        "measures": found,
    }


def _joint_labels(
    campaign: Campaign,
    frame: Frame,
    points: Campaign | None,
    evaluators: Sequence[Evaluator] | None,
    report_options: ReportOptions,
    joined: Mapping[int, Sequence[JoinedCampaign]],
) -> JointLabels:
    """Return a campaign's labels with evaluators: those given, or its own beside their judges."""
    of_answers = None
    if points is not None:
        parts = joined.get(points.pk, ())
        of_answers = answer_points(points, campaign, report_options, parts)
    if evaluators is not None:
        return evaluators_instead(frame, of_answers, evaluators)
    also = [(points, of_answers)] if points and of_answers else []
    own = campaign_evaluators([(campaign, frame), *also])
    return evaluators_beside(frame, of_answers, own)


def _measures(
    parts: Sequence[Part],
    labels: JointLabels,
    options: Options,
    report_options: ReportOptions,
    strata: Sequence[Stratum],
    tables: Tables,
    progress: Progress,
) -> JSON:
    """Compute the measures of all parts, with the tests and orderings of their tables."""
    number, persons = sum(len(of_family(part.family)) for part in parts), Persons()
    # The tests and orderings that follow take about as long as the measures themselves.
    steps = Steps(progress, 2 * number + 1)
    found = _measure_parts(parts, labels, options, report_options, strata, tables, persons, steps)
    for name, measure, part, values in persons.together():
        _add_sliced(found[name], measure, values, part, report_options, strata)
    for place, (name, of) in enumerate(found.items(), start=1):
        of |= _of_tables(tables, name, report_options)
        steps.done(number + number * place // len(found) - steps.number)
    return found


def _measure_parts(
    parts: Iterable[Part],
    labels: JointLabels,
    options: Options,
    report_options: ReportOptions,
    strata: Sequence[Stratum],
    tables: Tables,
    persons: Persons,
    steps: Steps,
) -> JSON:
    """Compute the measures of all parts, and add their values to the tables and persons."""
    found: JSON = {}
    for part in parts:
        for measure in of_family(part.family):
            steps.done()
            if not labels.counts(measure, part):
                continue
            name, values = _add(found, measure, part, labels, options, report_options, strata)
            persons.add(name, measure, part, values)
            if not isinstance(values, Pooled):
                tables.add(name, measure, part, values)
    return found


def _head(
    campaign: Campaign, options: Options, preset: str, report_options: ReportOptions, queries: int
) -> JSON:
    """Return the campaign that was measured, and how."""
    return {
        "campaign": campaign.name,
        "protocol": campaign.protocol,
        "batch": campaign.batch.name,
        "generated_at": timezone.now().isoformat(timespec="seconds"),
        "version": settings.TANDEM_VERSION,
        "commit": settings.TANDEM_COMMIT,
        "seed": report_options.seed,
        "resamples": resamples_of(queries, report_options.resamples),
        "preset": preset,
        "options": options_as_json(options),
    }


def _raters(frame: Frame) -> list[JSON]:
    raters: list[JSON] = [
        {"name": r.name, "kind": r.kind, "scripted": False, "excluded": r.excluded}
        for r in frame.raters
    ]
    mark_raters(raters)
    return raters


def _evaluators(labels: JointLabels) -> list[JSON]:
    """Return the evaluators like raters; they are scripted if one of their judges is."""
    fakes = fakes_among([judge for each in labels.evaluators for judge in each.judges])
    return [
        {**each.as_json(), "kind": JUDGE, "scripted": not fakes.keys().isdisjoint(each.judges)}
        for each in labels.evaluators
    ]


def _of_tables(tables: Tables, name: str, report_options: ReportOptions) -> JSON:
    """Return the parts of a measure's report that need its values on all queries and systems."""
    evaluators = tables.evaluators(name, report_options)
    return {
        "evaluators": evaluators,
        "evaluator_matrix": matrix_of(evaluators),
        "forms": tables.forms(name, report_options),
        "settings": tables.settings(name),
        "powered": tables.powered(name),
    }


def _of_passages(
    campaign: Campaign,
    layout: Layout,
    frame: Frame,
    options: Options,
    report_options: ReportOptions,
) -> JSON:
    ratings = frame.variables.get("rating")
    if campaign.protocol != "rubric-passage" or ratings is None:
        return {"sampled": {}, "required": {}, "reference_contexts": {}}
    return {
        "sampled": sampled_orderings(layout, ratings, options, report_options),
        **reference_contexts(layout, ratings, options, report_options),
    }


def options_as_json(options: Options) -> JSON:
    """Return every option with its value and the reason for its default."""
    values = asdict(options)
    values["tokenizer"] = tokenizer(options.tokenizer).name
    values["refusals"] = refusal_list(options.refusals).name
    return {
        each.name: {"value": values[each.name], "reason": each.metadata["reason"]}
        for each in fields(options)
    }


def _add(
    found: JSON,
    measure: Measure,
    part: Part,
    labels: JointLabels,
    options: Options,
    report_options: ReportOptions,
    strata: Sequence[Division],
) -> tuple[str, MeasureValues]:
    name = f"{measure.name}{part.suffix}"
    of = found.setdefault(
        name,
        {
            "summary": measure.summary,
            "citation": measure.citation,
            "options": list(measure.options),
            "variables": list(variables_of(measure, part.suffix)),
            "judgements": {},
            "cut": part.suffix if part.family in RANKED else "",
            "systems": {},
            "slices": {},
        },
    )
    if judgements := labels.made_of(measure, part):
        of["judgements"][part.rater] = judgements
    values = part.compute(measure, options)
    _add_sliced(of, measure, values, part, report_options, strata)
    return name, values


def _add_sliced(
    of: JSON,
    measure: Measure,
    values: MeasureValues,
    part: Part,
    report_options: ReportOptions,
    strata: Sequence[Division],
) -> None:
    """Add a part's values by system, overall and in every slice."""
    every = np.ones(len(part.rows.systems), bool)
    _add_values(of["systems"], _by_system(measure, values, part.rows, every, report_options), part)
    for stratum, rows in _strata(part.rows, strata):
        slices = of["slices"].setdefault(stratum, {})
        for value, where in rows.items():
            made = _by_system(measure, values, part.rows, where, report_options)
            _add_values(slices.setdefault(value, {}), made, part)


def _by_system(
    measure: Measure, values: MeasureValues, rows: Rows, where: Bools, report_options: ReportOptions
) -> dict[str, Estimate]:
    numbers = rows.numbers
    made = {}
    for column, system in enumerate(rows.system_names):
        kept = (rows.columns == column) & where
        if kept.any():
            own = rows_of(values, kept)
            made[system] = estimate(
                measure, own, numbers[kept], report_options.resamples, report_options.seed
            )
    return made


def _add_values(systems: JSON, made: Mapping[str, Estimate], part: Part) -> None:
    """Add values under each system, for joint evaluators such as `people` and for every rater."""
    for system, each in made.items():
        of = systems.setdefault(system, {**dict.fromkeys(JOINT_EVALUATORS), "raters": {}})
        (of if part.kind in JOINT_EVALUATORS else of["raters"])[part.rater] = each.as_json()


def _strata(rows: Rows, divisions: Sequence[Division]) -> Iterable[tuple[str, dict[str, Bools]]]:
    for name, values in rows.strata.items():
        every = np.array([value or "" for value in values], dtype=str)
        known = sorted(set(every.tolist()) - {""})
        yield name, {value: every == value for value in known}
    for stratum in divisions:
        if parts := stratum.among(rows):
            yield stratum.name, parts
