"""A list shows an item whose texts were changed in the database with a message, and all others."""

from __future__ import annotations

import pytest
from django.test import Client

from analysis.models import UnitTag
from annotation.models import Campaign, Item, Unit, User
from annotation.presentation import CHANGED

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def rita() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="rita", role="researcher"))
    return client


@pytest.fixture
def changed(labelled: Campaign) -> Unit:
    """A unit of an item whose texts no longer match the batch."""
    Item.objects.filter(campaign=labelled, key="q1#long").update(key="q1#changed")
    found = Unit.objects.filter(item__campaign=labelled, item__key="q1#changed").first()
    assert found is not None
    return found


def test_the_list_shows_the_changed_item_with_a_message_and_all_others(
    rita: Client, labelled: Campaign, changed: Unit
) -> None:
    page = rita.get(f"/campaigns/{labelled.pk}/disagreements/?show=all&rows=100")
    words = {row["unit"].pk: row["words"] for row in page.context["rows"]}
    of_item = set(Unit.objects.filter(item=changed.item).values_list("pk", flat=True))
    assert {pk for pk, said in words.items() if said == CHANGED} == of_item & set(words)
    assert set(words) - of_item
    assert CHANGED in page.content.decode()


def test_the_changed_item_opens_in_place_with_its_answers_and_without_its_texts(
    rita: Client, labelled: Campaign, changed: Unit
) -> None:
    address = f"/campaigns/{labelled.pk}/disagreements/{changed.pk}/"
    page = rita.get(address, headers=HTMX)
    assert page.status_code == 200
    text = page.content.decode()
    assert CHANGED in text
    assert "<bdi>ada</bdi>" in text
    assert 'class="text-of-unit"' not in text


def test_tagged_units_of_a_changed_item_are_still_collected_for_a_draft(
    rita: Client, labelled: Campaign, changed: Unit
) -> None:
    UnitTag.objects.create(unit=changed, variable="answerable", tag="ambiguous")
    page = rita.get(f"/campaigns/{labelled.pk}/drafts/")
    assert page.status_code == 200
    assert CHANGED in page.content.decode()
