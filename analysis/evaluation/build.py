"""The report of measures as JSON: each measure of each system, by people and by each judge."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.conf import settings
from django.utils import timezone

from analysis.campaigns.evaluators import campaign_evaluators
from analysis.campaigns.frames import campaign_frame
from analysis.campaigns.people_sample import (
    behind_warnings,
    chosen_items,
    chosen_warnings,
    interim_warnings,
    unfinished_queries,
)
from analysis.campaigns.reports import fakes_among, mark_raters
from analysis.evaluation.inputs import (
    JUDGE,
    AskedContent,
    DeclaredContent,
    JointLabels,
    QuerySample,
    SampledQuery,
    evaluator_labels,
    evaluators_beside,
)
from analysis.evaluation.key_points import RECALL, VERIFICATION, key_point_scores
from analysis.evaluation.layout import Layout
from analysis.evaluation.parts_by_protocol import batch_parts, parts_of
from analysis.evaluation.passages import PassageRatings, reference_contexts, sampled_orderings
from analysis.evaluation.slicing import check_same_batch, labelled_strata
from analysis.evaluation.system_rankings import Tables, system_rankings
from analysis.evaluation.system_values import (
    Persons,
    measure_parts,
    measures_with_tests,
    options_as_json,
    tests_of,
)
from annotation.models import Campaign, QuerySampling
from annotation.presentation import items_of, schema
from annotation.registry import get_protocol
from datasets.material import batch_rows
from datasets.models import Batch
from datasets.work.guard import for_workers
from tandem.files.rows import Query
from tandem.labels.evaluators import with_evaluators
from tandem.labels.frame import Frame, without_garbage_collection
from tandem.labels.selection import ReportOptions
from tandem.scores.options import Options
from tandem.statistics import resamples_of
from tandem.types import JSON, Progress, Steps, ignore_progress

RATING = "answer-rating"
"""The protocol whose measures depend on which passages an item shows."""


def asked_content(campaign: Campaign) -> AskedContent:
    """Return the content of a campaign's questions."""
    return AskedContent(
        campaign.protocol,
        get_protocol(campaign).reading,
        _queries_without_passages(campaign),
        DeclaredContent.of(
            get_protocol(campaign), schema(campaign).variables, partial(items_of, campaign)
        ),
    )


def _queries_without_passages(campaign: Campaign) -> frozenset[str] | None:
    """Return the queries whose items show no passage, if the campaign shows only relevant ones."""
    if campaign.protocol != RATING or campaign.options.get("passages", "all") == "all":
        return None
    shown = campaign.items.order_by().values_list("query__key", "shown_passages")
    return frozenset(query for query, passages in shown if not passages)


def stored_sample(campaign: Campaign) -> QuerySample:
    """Return the stored sample of a campaign's queries."""
    rows = sampled_queries(campaign)
    return QuerySample.of(rows, unfinished_queries(campaign), chosen_items(campaign) > 0)


def sampled_queries(campaign: Campaign) -> list[SampledQuery]:
    """Return the sampling of each of a campaign's queries, in the batch's order."""
    rows = QuerySampling.objects.filter(campaign=campaign).order_by("query__position")
    columns = ("query__key", "probability", "drawn", "role", "role_probability")
    return [SampledQuery._make(row) for row in rows.values_list(*columns)]


def passage_ratings(
    campaign: Campaign,
    rater: str,
    queries: Sequence[Query],
    report_options: ReportOptions,
    of: tuple[Campaign, Frame],
) -> PassageRatings:
    """Return the ratings of a rater, of `people`, or of an evaluator.

    They decide about the labels `of` a campaign, whose evaluators they are. Raises ValueError if
    there are none.
    """
    frame = campaign_frame(campaign, report_options)
    joint = with_evaluators(frame, campaign_evaluators([of, (campaign, frame)]))
    variable = joint.variables.get("rating")
    if campaign.protocol != "rubric-passage" or variable is None:
        raise ValueError(f"{campaign.name!r} has no ratings of passages")
    known = {evaluator.rater: evaluator for evaluator in evaluator_labels(variable)}
    if rater not in known:
        raise ValueError(f"{rater!r} rated nothing there; raters are {', '.join(known)}")
    layout = Layout.from_queries(queries)
    return PassageRatings(layout, layout.ratings(variable, known[rater]))


def answer_points(points: Campaign, campaign: Campaign, report_options: ReportOptions) -> Frame:
    """Return the labels of a campaign that compares points of answers with their context.

    Raises ValueError if it has another protocol, option or batch, or if `campaign` does not ask
    about key points of the query.
    """
    if campaign.protocol != RECALL:
        raise ValueError(
            f"points do not apply to {campaign.name!r}, which is of {campaign.protocol}; give them "
            f"to a campaign of {RECALL}"
        )
    if points.protocol != VERIFICATION or get_protocol(points).reading != "answers":
        raise ValueError(
            f"{points.name!r} does not ask about points of answers; name a campaign of "
            f"{VERIFICATION} with points=answers"
        )
    check_same_batch(points, campaign)
    return campaign_frame(points, report_options)


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
) -> JSON:
    """Compute the measures of a campaign.

    `passages` are a rater and the campaign with this rater's passage ratings. `slices` are
    campaigns whose labels divide the queries. `points` is a campaign that compares points of
    answers with their context. The campaign's evaluators stand beside their judges. Raises
    ValueError if the options cannot be met.
    """
    if passages is not None:
        check_same_batch(passages[1], campaign)
    strata = [each for other in slices for each in labelled_strata(other, campaign, report_options)]
    frame = campaign_frame(campaign, report_options)
    labels = _joint_labels(campaign, frame, points, report_options)
    with without_garbage_collection():
        queries = tuple(batch_rows(campaign.batch))
    rated = passages and passage_ratings(
        passages[1], passages[0], queries, report_options, (campaign, frame)
    )
    layout = Layout.from_queries(queries)
    tables = Tables(stored_sample(campaign), layout.oracles)
    asked = asked_content(campaign)
    parts = list(parts_of(asked, queries, labels.frame, options, rated, layout, labels.points))
    found = measures_with_tests(parts, labels, options, report_options, strata, tables, progress)
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
        "warnings": [
            *interim_warnings(campaign),
            *chosen_warnings(campaign),
            *behind_warnings(campaign),
        ],
        "evaluation_queries": tables.sample.combined(len(queries)),
        "leaderboard": system_rankings(found, [*raters, *evaluators_there]),
        "measures": found,
        "thresholds": {} if rated is None else rated.thresholds(frame, options, report_options),
        "metrics": tables.metrics(report_options),
        **_of_passages(campaign, layout, frame, options, report_options),
        "key_point_scores": key_point_scores(asked, queries, labels.frame, options, report_options),
    }


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
    steps = Steps(progress, sum(len(part.measures) for part in parts) + 1)
    labels = JointLabels(Frame((), (), {}, 0))
    found = measure_parts(parts, labels, options, report_options, (), tables, Persons(), steps)
    for name, of in found.items():
        of |= tests_of(tables, name, report_options)
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
    campaign: Campaign, frame: Frame, points: Campaign | None, report_options: ReportOptions
) -> JointLabels:
    """Return a campaign's labels, with its evaluators beside their judges."""
    of_answers = None if points is None else answer_points(points, campaign, report_options)
    also = [(points, of_answers)] if points and of_answers else []
    own = campaign_evaluators([(campaign, frame), *also])
    return evaluators_beside(frame, of_answers, own)


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
