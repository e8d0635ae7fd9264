"""Queries whose labels certify a judge: nothing that could change the judge may read them.

A query belongs to `certify` from the moment when a plan draws it until the plan has ended. All
others belong to `dev`.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Campaign, TrustDraw

CERTIFY, DEV = "certify", "dev"
REFUSED = (
    "labels of this query certify a judge: until its plan has ended, they are not read for "
    "prompts, examples, cuts or disagreements"
)


class CertifyLabelsError(ValueError):
    """Labels of certify queries were asked for. The message names the queries."""

    def __init__(self, queries: Collection[str]) -> None:
        super().__init__(f"{REFUSED} ({', '.join(sorted(queries)[:5])})")


def certify_queries(campaign: Campaign | int) -> frozenset[int]:
    """Return the primary keys of a campaign's certify queries."""
    found = _running().filter(plan__campaign=campaign)
    return frozenset(found.values_list("query", flat=True))


def is_certify(path: str, campaign: str = "campaign") -> Q:
    """Return the condition that the query at a path, and its campaign at another, is certify.

    For instance `~is_certify("item__query", "item__campaign")` keeps what anybody may read.
    """
    drawn = _running().filter(query=OuterRef(path), plan__campaign=OuterRef(campaign))
    return Q(Exists(drawn))


def refuse_certify(campaign: Campaign, queries: Collection[int]) -> None:
    """Raise CertifyLabelsError if any of the queries, given by primary key, is certify."""
    if found := certify_queries(campaign) & set(queries):
        keys = campaign.batch.queries.filter(pk__in=found).values_list("key", flat=True)
        raise CertifyLabelsError(list(keys))


def _running() -> QuerySet[TrustDraw]:
    return TrustDraw.objects.filter(plan__end=None).order_by()
