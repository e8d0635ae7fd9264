"""Which rows PostgreSQL locks for a decision that depends on them; SQLite locks the whole file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.answers.drafts import save_draft
from annotation.answers.submission import fail, submit
from annotation.assignments.queue import reclaim
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.imports.gold import store_gold_answers
from annotation.models import Assignment, Campaign, Item, ProlificStudy, Rater, User
from annotation.people.accounts import change_role, switch_off
from annotation.people.leases import free, release_expired, set_lease
from annotation.people.membership import end_membership
from annotation.people.prolific import Arrival, enter, set_study
from tandem.labels.file.rows import LabelRow
from tests.databases import ON_POSTGRESQL
from tests.page_cast import Study, make_study, payload

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.postgresql,
    pytest.mark.skipif(not ON_POSTGRESQL, reason="a file has one lock"),
]


def locked(sql: Iterable[str]) -> set[str]:
    """The tables whose rows were locked."""
    held = [re.search(r'FROM "(\w+)"', each) for each in sql if "FOR UPDATE" in each]
    return {found[1] for found in held if found}


def answered(study: Study) -> Callable[[], object]:
    mine = study.assignment(study.ada)
    return lambda: submit(mine, payload("no"), "page")


def failed(study: Study) -> Callable[[], object]:
    mine = study.assignment(study.ada)
    return lambda: fail(mine, "timeout")


def drafted(study: Study) -> Callable[[], object]:
    mine = study.assignment(study.ada)
    return lambda: save_draft(mine, payload("no"), 0, 0)


def taken(study: Study) -> Callable[[], object]:
    return lambda: study.assignment(study.ada)


def taken_again(study: Study) -> Callable[[], object]:
    set_lease(study.campaign, 60)
    mine = study.assignment(study.ada)
    past = timezone.now() - timedelta(seconds=1)
    Assignment.objects.update(held_until=past)
    assert release_expired(study.campaign) == 1
    mine.refresh_from_db()
    return lambda: reclaim(mine)


def freed(study: Study) -> Callable[[], object]:
    mine = study.assignment(study.ada)
    return lambda: free(study.campaign, mine.rater_id)


def put_out(study: Study) -> Callable[[], object]:
    study.assignment(study.ada)
    return lambda: end_membership(study.campaign, study.ada)


def off(study: Study) -> Callable[[], object]:
    return lambda: switch_off(study.ada)


def promoted(study: Study) -> Callable[[], object]:
    return lambda: change_role(study.ada, "researcher")


def known(study: Study) -> Callable[[], object]:
    item = study.campaign.items.all()[0]
    row = LabelRow(item.key, "q:0", "answerable", "a", value="no")
    return lambda: store_gold_answers([row], study.campaign, Item.Use.GOLD)


def arrived(study: Study) -> Callable[[], object]:
    there = set_study(study.campaign, "study1", "CODE", 2)
    return lambda: enter(there, Arrival("p1", "study1", "s1"))


def closed(study: Study) -> Callable[[], object]:
    return lambda: change(study.campaign, CampaignSettings(), is_open=False)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("action", "tables"),
    [
        (answered, {Assignment}),
        (failed, {Assignment}),
        (drafted, {Assignment}),
        (taken, {Rater}),
        (taken_again, {Rater, Assignment}),
        (freed, {Assignment}),
        (put_out, {Assignment, Rater}),
        (off, {User}),
        (promoted, {User}),
        (known, {Campaign, Item}),
        (arrived, {ProlificStudy}),
        (closed, {Campaign}),
    ],
)
def test_a_row_that_decides_something_is_locked(
    action: Callable[[Study], Callable[[], object]], tables: set[type[Model]]
) -> None:
    do = action(make_study())
    with CaptureQueriesContext(
        connection,
    ) as asked:
        do()
    found = locked(each["sql"] for each in asked.captured_queries)
    assert {table._meta.db_table for table in tables} <= found
