"""Data that measures need from the database in addition to a campaign's frame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from analysis.campaigns.chosen_items import chosen_items
from analysis.campaigns.evaluators import campaign_evaluators
from analysis.campaigns.frames import campaign_frame
from analysis.campaigns.people_sample import unfinished_queries
from analysis.evaluation.inputs import (
    AskedContent,
    DeclaredContent,
    QuerySample,
    SampledQuery,
    evaluator_labels,
)
from analysis.evaluation.key_points import RECALL, VERIFICATION
from analysis.evaluation.layout import Layout
from analysis.evaluation.passages import PassageRatings
from analysis.evaluation.slicing import check_same_batch
from annotation.models import Campaign, QuerySampling
from annotation.presentation import items_of, schema
from annotation.registry import get_protocol
from tandem.files.rows import Query
from tandem.labels.evaluators import with_evaluators
from tandem.labels.frame import Frame
from tandem.labels.selection import ReportOptions

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
