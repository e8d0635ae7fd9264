"""Actions on a list: how many units are taken and why not the rest, by page, command and API."""

from __future__ import annotations

import pytest
from django.core.management.base import CommandError
from django.test import Client

from annotation.adjudication import QueuePart, queue
from annotation.models import (
    AdjudicationRequest,
    Campaign,
    GoldAnswer,
    Item,
    Membership,
    QuerySampling,
    User,
)
from audit.models import Event
from judging.models import ChosenExample
from tests.analysis.conftest import run
from tests.api.cast import script_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="rita", role="researcher"))
    return client


def address(campaign: Campaign, action: str, query: str = "show=all") -> str:
    return f"/campaigns/{campaign.pk}/disagreements/actions/{action}/?{query}"


def test_disputed_units_sent_to_adjudicators_are_assigned_to_them_first(
    rita: Client, labelled: Campaign
) -> None:
    shown = rita.get(address(labelled, "adjudicate")).context["found"]
    assert set(shown.refused) == {"no rater disagrees with people about them"}
    rita.post(address(labelled, "adjudicate", "show=people"))
    sent = set(AdjudicationRequest.objects.values_list("unit", flat=True))
    assert 0 < len(sent) < len(shown.units)
    dora = User.objects.create(username="dora", role="annotator")
    role = Membership.Role.ADJUDICATOR
    Membership.objects.create(campaign=labelled, user=dora, role=role)
    waiting = queue(labelled, dora, QueuePart(of="sent"))
    assert {each.unit for each in waiting} == sent
    first = dict.fromkeys(each.item for each in waiting)
    assert [*dict.fromkeys(each.item for each in queue(labelled, dora))][: len(first)] == [*first]
    again = rita.post(address(labelled, "adjudicate", "show=people"))
    assert again.status_code == 422
    assert "they were sent before" in again.content.decode()
    assert Event.objects.filter(event="adjudication.sent").count() == 1


def test_decided_units_become_gold_of_a_campaign_that_nobody_has_started(
    rita: Client, labelled: Campaign
) -> None:
    assert "Create one over the same batch" in rita.get(address(labelled, "gold")).content.decode()
    again = ("create_campaign", "again", "--protocol", labelled.protocol, "--batch", "ferries")
    run(*again)
    where = address(labelled, "gold", "show=several&into=again")
    found = rita.get(where).context["found"]
    assert "they are undecided" in next(iter(found.refused))
    rita.post(where, {"into": "again"})
    gold = GoldAnswer.objects.filter(unit__item__campaign__name="again")
    assert gold.count() == len(found.units) > 0
    assert "people agreed in ferries" in gold[0].reason
    items = Item.objects.filter(campaign__name="again", use=Item.Use.GOLD)
    assert set(items) == {each.unit.item for each in gold.select_related("unit__item")}
    assert not GoldAnswer.objects.filter(unit__item__campaign=labelled).exists()


def test_examples_are_taken_from_development_queries_only(rita: Client, labelled: Campaign) -> None:
    audit, *others = QuerySampling.objects.filter(campaign=labelled).order_by("query")
    QuerySampling.objects.filter(pk=audit.pk).update(role="audit")
    QuerySampling.objects.filter(pk__in=[row.pk for row in others[1:]]).update(role="development")
    found = rita.get(address(labelled, "examples")).context["found"]
    assert "their queries are for the audit, which is left aside" in found.refused
    assert any("for evaluation" in reason for reason in found.refused)
    rita.post(address(labelled, "examples"))
    chosen = ChosenExample.objects.select_related("unit__item")
    assert chosen.count() == len(found.units) > 0
    assert {each.unit.item.query_id for each in chosen} <= {row.query_id for row in others[1:]}


def test_command_and_api_carry_out_the_same_actions_as_the_page(
    rita: Client, labelled: Campaign
) -> None:
    found = rita.get(address(labelled, "adjudicate", "show=judge")).context["found"]
    options = ("disagreements", "--campaign", labelled.name, "--show", "judge")
    printed = run(*options, "--do", "adjudicate", "--dry-run")
    assert f"{len(found.units)} of {len(found.units)} questions can be sent" in printed
    api = script_of(User.objects.get(username="rita"))
    where = f"/api/v1/campaigns/{labelled.pk}/disagreements/"
    body = {"action": "adjudicate", "show": "judge", "dry_run": True}
    dry = api.post(where, body).json()
    assert (dry["units"], dry["refused"]) == (len(found.units), [])
    assert f"{len(found.units)} questions sent to adjudication" in run(
        *options, "--do", "adjudicate"
    )
    refused = api.post(where, body | {"dry_run": False})
    assert refused.status_code == 422
    with pytest.raises(CommandError, match="they were sent before"):
        run(*options, "--do", "adjudicate")


def test_an_account_that_does_not_manage_the_campaign_cannot_use_actions(
    labelled: Campaign,
) -> None:
    ada = Client()
    ada.force_login(User.objects.create(username="ada2", role="annotator"))
    assert ada.post(address(labelled, "adjudicate")).status_code in (403, 404)
    assert not AdjudicationRequest.objects.exists()
