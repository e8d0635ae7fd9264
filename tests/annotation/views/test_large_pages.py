"""No page grows with the data of the site: lists have pages, and long texts are shortened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoDbBlocker

from annotation.models import (
    Assignment,
    Campaign,
    Membership,
    Participant,
    ProlificStudy,
    Rater,
    User,
)
from datasets.db.bulk import refresh_statistics
from datasets.models import Batch, Grounding, KeyPoint, Passage, Query, Question, Ranking, Report
from judging.models import Judge
from tests.databases import rolled_back
from tests.page_cast import Study, make_study
from tests.security.routes import Route, routes

pytestmark = pytest.mark.django_db

MOST_BYTES = 1_000_000
MANY = 600
SYSTEMS = 40
# Files, and pages of results that a worker computes.
NO_PAGES = (
    "-file", "-csv", "-json", "-md", "-tex", "-zip", "draws", "format", "schema", "-body", "-docs"
)  # fmt: skip


@dataclass(frozen=True)
class Full:
    study: Study
    query: Query
    values: dict[str, object]


@pytest.fixture(scope="module")
def questions(request: pytest.FixtureRequest) -> int:
    return 200_000 if request.config.getoption("--all") else 10_000


@pytest.fixture(scope="module")
def full(
    questions: int, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Full]:
    """Lists of each kind, each far longer than a page, and a query with lists as long."""
    with rolled_back(django_db_blocker):
        study = make_study()
        query = _long_query(study.campaign.batch, questions)
        _many_of_each(study)
        # PostgreSQL checks foreign keys late, which takes longer than a page's statement may.
        connection.check_constraints()
        refresh_statistics(Question, Grounding, Report)
        campaign = study.campaign
        values = {
            "pk": campaign.pk, "position": query.position, "uid": study.assignment(study.ada).uid
        }  # fmt: skip
        yield Full(study, query, values)


def _long_query(batch: Batch, questions: int) -> Query:
    query = Query.objects.create(batch=batch, key="long", position=1, text="What of all? " * 9_000)
    batch.counts |= {"queries": 2}
    batch.save()
    Question.objects.bulk_create(
        (Question(batch=batch, query=query, key=f"l:{n}", position=n, text=f"And of {n} <&>?")
         for n in range(questions)),
        batch_size=5_000,
    )  # fmt: skip
    Report.objects.bulk_create(
        Report(batch=batch, query=query, key=f"r:{n}", position=n, text="<&'> " * 9_000,
               system=f"s{n}", citations=[f"p:{m}" for m in range(500)])
        for n in range(60)
    )  # fmt: skip
    passages = Passage.objects.bulk_create(
        Passage(batch=batch, key=f"p:{n}", text=f"Passage {n}. " + "Words of it. " * 400)
        for n in range(300)
    )
    Grounding.objects.bulk_create(
        Grounding(query=query, passage=each, position=n) for n, each in enumerate(passages)
    )
    KeyPoint.objects.bulk_create(
        KeyPoint(batch=batch, query=query, key=f"k:{n}", position=n, text="A point. " * 20,
                 passage=passages[0])
        for n in range(MANY)
    )  # fmt: skip
    ids = [f"p:{n}" for n in range(300)]
    Ranking.objects.bulk_create(
        Ranking(query=query, position=n, system=f"s{n}", passages=ids) for n in range(SYSTEMS)
    )
    return query


def _many_of_each(study: Study) -> None:
    campaign, team = study.campaign, study.campaign.team
    users = User.objects.bulk_create(
        User(username=f"somebody-{n}", role="annotator") for n in range(MANY)
    )
    raters = Rater.objects.bulk_create(
        Rater(name=f"rater-{n}", kind="human", user=user) for n, user in enumerate(users)
    )
    Membership.objects.bulk_create(
        Membership(campaign=campaign, user=user, role="annotator") for user in users
    )
    Batch.objects.bulk_create(
        Batch(name=f"batch {n}", format="native", digest=f"{n:064}", team=team) for n in range(MANY)
    )
    Campaign.objects.bulk_create(
        Campaign(name=f"campaign {n}", batch=campaign.batch, protocol="report-coverage", team=team)
        for n in range(MANY)
    )
    judges = Rater.objects.bulk_create(Rater(name=f"judge-{n}", kind="judge") for n in range(MANY))
    Judge.objects.bulk_create(Judge(rater=each, backend="lexical", team=team) for each in judges)
    prolific = ProlificStudy.objects.create(campaign=campaign, study_id="5" * 24, most_people=9)
    Participant.objects.bulk_create(
        Participant(study=prolific, user=user, pid=f"{n:024}") for n, user in enumerate(users)
    )
    items = list(campaign.items.all())
    Assignment.objects.bulk_create(
        Assignment(item=items[n % len(items)], rater=each, asked=[], status="done")
        for n, each in enumerate(raters)
    )


@pytest.fixture
def rita(full: Full, client: Client) -> Client:
    client.force_login(full.study.rita)
    return client


def pages() -> list[Route]:
    return [route for route in routes() if not route.is_api and not route.name.endswith(NO_PAGES)]


@pytest.mark.first_case
@pytest.mark.parametrize("who", ["rita", "root", "ada"])
def test_no_page_is_larger_than_a_megabyte(full: Full, client: Client, who: str) -> None:
    client.force_login(getattr(full.study, who))
    opened: dict[str, int] = {}
    for route in pages():
        if not set(route.arguments) <= set(full.values):
            continue
        answer = client.get(route.address({name: full.values[name] for name in route.arguments}))
        if answer.status_code == 200 and not answer.streaming:
            opened[route.name] = len(answer.content)
    assert {name: size for name, size in opened.items() if size > MOST_BYTES} == {}
    assert len(opened) > 5


def test_all_parts_of_a_large_query_can_be_reached_page_by_page(full: Full, rita: Client) -> None:
    where = f"/batches/{full.query.batch_id}/queries/{full.query.position}/"
    first = rita.get(where).content.decode()
    assert "l:0<" in first
    assert "l:100<" not in first
    address = re.search(r'href="\?questions=(\d+)#questions">Next', first)
    assert address is not None
    second = rita.get(f"{where}?questions={address[1]}&reports=2").content.decode()
    assert "l:100<" in second
    assert "r:10<" in second
    # The other lists stay on their own pages.
    assert "?reports=2&amp;questions=3#questions" in second


def test_a_search_result_leads_to_the_page_of_its_passage(full: Full, rita: Client) -> None:
    batch = f"/batches/{full.query.batch_id}/"
    found = rita.get(batch, {"q": '"Passage 217."'}).content.decode()
    address = re.search(r'href="([^"]+passage=[^"#]+)#passages"', found)
    assert address is not None
    page = rita.get(address[1].replace("&amp;", "&")).content.decode()
    assert "<mark>Passage 217.</mark>" in page
