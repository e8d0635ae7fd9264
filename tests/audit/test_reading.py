"""Reading the trail: permissions, what is shown, filters and paging."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.audit_log import visible_events
from annotation.models import Rater
from annotation.people.accounts import forget
from annotation.people.membership import add_member, end_membership
from audit.models import Event
from audit.recording import Actor, on_behalf, record
from audit.seals import seal
from tests.api.cast import script_of
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study()


@pytest.fixture
def mine(study: Study) -> str:
    """Let Ada answer and then change the answer; return her pseudonym."""
    assignment = study.assignment(study.ada)
    submit(assignment, payload("no"), "page")
    with on_behalf(Actor(lambda: study.ada.pk, "r1", "public")):
        submit(assignment, payload("no", "changed"), "page")
    return str(Rater.objects.get(user=study.ada).name)


def text(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return " ".join(answer.content.decode().split())


def of(study: Study) -> str:
    return reverse("campaign-audit", args=[study.campaign.pk])


def rows(answer: Any) -> list[dict[str, Any]]:
    body = b"".join(answer) if answer.streaming else answer.content
    return [json.loads(line) for line in body.decode().splitlines()]


def test_a_researcher_reads_a_campaign_and_an_admin_the_site(study: Study) -> None:
    made = "Campaign created"
    assert made in text(client_of(study.rita).get(of(study)))
    assert client_of(study.rita).get("/audit/").status_code == 403
    assert client_of(study.ada).get(of(study)).status_code == 403
    whole = text(client_of(study.root).get("/audit/"))
    assert made in whole
    assert "Logged in" in whole
    assert "Logged in</span>" not in text(client_of(study.root).get(of(study)))


def test_researchers_see_a_rater_under_the_pseudonym_only(study: Study, mine: str) -> None:
    with on_behalf(Actor(lambda: study.ada.pk, "r2", "public")):
        record("invitation.used", study.campaign.pk)
    with on_behalf(Actor(lambda: study.rita.pk, "r3", "public")):
        add_member(study.campaign, study.ada, "annotator", study.rita)
    shown = rows(client_of(study.rita).get(f"/campaigns/{study.campaign.pk}/audit.jsonl"))
    by_event = {row["event"]: row for row in shown}
    assert by_event["answer.changed"]["who"] == mine
    assert by_event["invitation.used"]["who"] == "an annotator"
    assert (by_event["member.added"]["who"], by_event["member.added"]["object"]) == (
        "rita",
        "an annotator",
    )
    assert not [row for row in shown if "ada" in (row["who"], row["object"])]
    whole = rows(client_of(study.root).get("/audit.jsonl?event=answer.changed"))
    assert [row["who"] for row in whole] == ["ada"]


def test_the_filter_by_person_reveals_no_more_than_the_list(study: Study, mine: str) -> None:
    with on_behalf(Actor(lambda: study.rita.pk, "r3", "public")):
        add_member(study.campaign, study.ben, "annotator", study.rita)

    def found(client: Client, person: str) -> list[str]:
        answer = client.get(f"/campaigns/{study.campaign.pk}/audit.jsonl?person={person}")
        return [row["event"] for row in rows(answer)]

    rita = client_of(study.rita)
    assert found(rita, mine) == ["answer.changed"]
    assert found(rita, "ada") == []
    assert "member.added" in found(rita, "rita")
    own = Rater.objects.create(name="person-of-rita", user=study.rita).name
    assert found(rita, own) == []


def test_an_admin_filters_the_whole_trail_by_account(study: Study, mine: str) -> None:
    root = client_of(study.root)
    events = rows(root.get("/audit.jsonl?person=ada&event=answer.changed"))
    assert [row["who"] for row in events] == ["ada"]
    assert rows(root.get(f"/audit.jsonl?person={mine}&event=answer.changed")) == []


def test_events_are_hidden_from_accounts_that_may_not_read_the_campaign(study: Study) -> None:
    assert visible_events(study.rita, study.campaign).exists()
    assert not visible_events(study.ada, study.campaign).exists()
    assert visible_events(study.root).exists()
    assert not visible_events(study.rita).exists()


def test_an_event_is_shown_with_its_time_and_its_seal(study: Study) -> None:
    seal()
    end_membership(study.campaign, study.ben)
    page = text(client_of(study.rita).get(of(study)))
    assert "Seal 1 of" in page
    assert "1 event waits for the next seal" in page
    shown = rows(client_of(study.rita).get(f"/campaigns/{study.campaign.pk}/audit.jsonl"))
    first, second = [row for row in shown if row["event"] != "export"]
    assert (first["event"], first["seal"]) == ("member.ended", None)
    assert (second["event"], second["seal"]) == ("campaign.made", 1)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("query", "found"),
    [("event=campaign.made", 1), ("event=login", 0), ("since=2999-01-01T00:00", 0),
     ("until=2999-01-01T00:00", 1), ("until=2000-01-01", 0), ("before=0", 0),
     ("user__password__startswith=a", 1), ("ordering=who", 1)],
)  # fmt: skip
def test_the_download_takes_the_same_filters_as_the_list(
    study: Study, query: str, found: int
) -> None:
    answer = client_of(study.rita).get(f"/campaigns/{study.campaign.pk}/audit.jsonl?{query}")
    events = [row["event"] for row in rows(answer)]
    assert events.count("campaign.made") == found


@pytest.mark.every_case
@pytest.mark.parametrize(
    "query",
    ["event=nothing", "since=soon", "before=-1", "before=x", f"before={10**30}",
     "person=" + "x" * 200, "since=%00", "person=a%00b"],
)  # fmt: skip
def test_an_invalid_filter_is_refused(study: Study, query: str) -> None:
    for address in (of(study), f"/campaigns/{study.campaign.pk}/audit.jsonl"):
        assert client_of(study.rita).get(f"{address}?{query}").status_code == 422
    assert script_of(study.root).get(f"audit/?{query}").status_code == 400


def test_older_events_are_on_the_next_page_and_no_event_appears_twice(study: Study) -> None:
    for number in range(60):
        record("run.changed", study.campaign.pk, concurrency=number)
    client, seen, address = client_of(study.rita), [], of(study)
    for _ in range(3):
        answer = client.get(address)
        seen += [row.event.pk for row in answer.context["rows"]]
        record("run.changed", study.campaign.pk, concurrency=1)
        if answer.context["older"] is None:
            break
        address = f"{of(study)}?before={answer.context['older']}"
    assert len(seen) == len(set(seen)) == 61
    assert seen == sorted(seen, reverse=True)


def test_the_api_links_the_next_page_by_the_last_events_id(study: Study) -> None:
    root = script_of(study.root)
    first = root.get("audit/?page_size=1&event=campaign.made")
    assert [row["event"] for row in first.json()["results"]] == ["campaign.made"]
    assert first.json()["next"] is None
    record("campaign.closed", study.campaign.pk)
    page = script_of(study.rita).get(f"campaigns/{study.campaign.pk}/audit/?page_size=1").json()
    assert page["results"][0]["event"] == "campaign.closed"
    assert page["next"].endswith(f"?page_size=1&before={page['results'][0]['id']}")
    assert root.get("audit/?who=1").status_code == 400


def test_a_deleted_account_is_shown_as_deleted(study: Study, mine: str) -> None:
    forget(study.ada)
    campaign = rows(client_of(study.rita).get(f"/campaigns/{study.campaign.pk}/audit.jsonl"))
    changed = next(row for row in campaign if row["event"] == "answer.changed")
    assert changed["who"] == "a deleted account"
    pk = Event.objects.get(event="answer.changed").who
    whole = rows(client_of(study.root).get("/audit.jsonl?event=answer.changed"))
    assert whole[0]["who"] == f"account {pk}, deleted"


def test_a_page_takes_the_same_queries_for_one_event_as_for_many(
    study: Study, django_assert_max_num_queries: Any
) -> None:
    client = client_of(study.root)
    for user in (study.ada, study.ben, study.rita, study.root):
        record("account.on", of=("account", user.pk), by=user.pk)
    with django_assert_max_num_queries(11):
        client.get("/audit/")
