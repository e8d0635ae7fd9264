"""No page shows people's labels of queries that certify a judge, nor what depends on them.

The test plants words in people's answers and turns their labels, as that of the ledger does, while
a plan draws every query. A page may neither show a planted word nor change.
"""

from __future__ import annotations

import re

import pytest

from annotation.models import Campaign, Label, Response, Span, TrustDraw, TrustPlan, User
from tests.databases import rolling_back
from tests.security.routes import Route
from tests.security.test_crawler import made, world  # noqa: F401 - fixtures
from tests.security.test_ledger import READ, TURNED, addresses, asked
from tests.security.world import World

pytestmark = pytest.mark.django_db

PLANTED = ("sentinel-comment", "sentinel-quote")
MAY_DIFFER = {
    "campaign-quality": "agreement and flags among people, without a judge, for who leads them",
    "rater-quality": "the same of one person",
    "api-quality": "the same",
    "protocol-new": "its example has a new token each time",
    "import-template-xlsx": "the file contains its time",
    "audit-file": "it lists the downloads before it",
    "campaign-audit-file": "the same",
}
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
LOOKS = ("trust", "api-trust")
"""What reads such labels itself, and shows counts."""


@pytest.mark.parametrize(
    "route", [each for each in READ if each.name not in LOOKS], ids=lambda route: route.name
)
def test_nothing_shows_or_depends_on_labels_that_certify(
    world: World,  # noqa: F811
    route: Route,
) -> None:
    certify()
    for role, address in list(addresses(world, route)):
        before = asked(world, route, role, address)
        with rolling_back():
            change_answers(world.users[role])
            after = asked(world, route, role, address)
        shown = [word for word in PLANTED if word in after.text]
        assert not shown, f"{role} GET {address} shows {shown}"
        if route.name not in MAY_DIFFER:
            assert UID.sub("", after.text) == UID.sub("", before.text), (
                f"{role} GET {address} depends on such labels"
            )


def certify() -> None:
    """Draw every query that anybody was asked about for a plan."""
    rows = Campaign.objects.filter(items__assignments__rater__kind="human").distinct()
    for campaign in rows:
        plan = TrustPlan.objects.create(
            campaign=campaign,
            kind=TrustPlan.Kind.CERTIFY,
            variable="answerable",
            number=1,
            document={"truth": "majority"},
            digest="0" * 64,
        )
        queries = campaign.items.order_by().values_list("query", flat=True).distinct()
        TrustDraw.objects.bulk_create(
            TrustDraw(plan=plan, place=place, cut=0, query_id=query)
            for place, query in enumerate(queries, 1)
        )
    Campaign.objects.filter(pk__in=[each.pk for each in rows]).update(has_plan=True)


def change_answers(user: User) -> None:
    """Plant words in other people's answers, and swap yes and no in their labels."""
    theirs = Response.objects.filter(assignment__rater__kind__in=("human", "reference"))
    for response in theirs.exclude(assignment__rater__user=user):
        payload = {**response.payload, "comment": PLANTED[0]}
        Response.objects.filter(pk=response.pk).update(payload=payload, comment=PLANTED[0])
        for label in Label.objects.filter(response=response):
            if not label.spans.exists():
                Span.objects.create(label=label, field="report", quote=PLANTED[1])
            value = TURNED.get(label.value, label.value)
            Label.objects.filter(pk=label.pk).update(value=value)
