"""Where logging in and each step of the work lead; tests/security asks who may open which page."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment
from tests.once import once
from tests.page_cast import PASSWORD, Study, answers, client_of, make_study, page

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study()


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("name", "home"), [("ada", "/tasks/"), ("rita", "/campaigns/"), ("root", "/batches/")]
)
def test_logging_in_leads_each_role_to_its_home_page(study: Study, name: str, home: str) -> None:
    answer = Client().post("/login/", {"username": name, "password": PASSWORD}, follow=True)
    assert answer.redirect_chain[-1][0] == home


def test_a_failed_log_in_does_not_say_whether_name_or_password_was_wrong(study: Study) -> None:
    known = Client().post("/login/", {"username": "ada", "password": "wrong"})
    unknown = Client().post("/login/", {"username": "nobody", "password": "wrong"})
    messages = [re.findall(r'role="alert">([^<]+)<', a.content.decode()) for a in (known, unknown)]
    assert messages[0] == messages[1]
    assert messages[0]


def test_logging_out_requires_a_post(study: Study) -> None:
    client = client_of(study.ada)
    assert client.get("/logout/").status_code == 405
    assert client.get("/tasks/").status_code == 200
    client.post("/logout/")
    assert client.get("/tasks/").status_code == 302


def test_the_page_names_neither_system_nor_report(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    client.post(page("submit", mine), answers("no", "no", "no"))
    for address in (page("item", mine), "/tasks/"):
        assert "hidden-system" not in client.get(address).content.decode()


def test_my_work_shows_progress_and_leads_to_the_next_item(study: Study) -> None:
    client = client_of(study.ada)
    assert "0 of 2" in client.get("/tasks/").content.decode()
    begun = client.post(reverse("take-next", args=[study.campaign.pk]))
    assert begun.headers["Location"] == page("item", Assignment.objects.get())
    assert "1 started" in client.get("/tasks/").content.decode()
    client.post(page("submit", Assignment.objects.get()), answers("no", "no", "no"))
    listed = client.get("/tasks/").content.decode()
    assert "1 of 2" in listed
    assert page("item", Assignment.objects.get(status="done")) in listed


def test_after_the_last_item_the_page_says_all_done(study: Study) -> None:
    client = client_of(study.ada)
    study.assignment(study.ada)
    for _ in range(2):
        waiting = Assignment.objects.get(rater__user=study.ada, status="open")
        answer = client.post(page("submit", waiting), answers("no", "no", "no")).json()
    assert answer["next"] == reverse("finished", args=[study.campaign.pk])
    assert "All done" in client.get(answer["next"]).content.decode()


def test_my_work_says_if_there_is_nothing_to_do(study: Study) -> None:
    study.campaign.items.update(quota=0)
    assert "Nothing to label yet" in client_of(study.ada).get("/tasks/").content.decode()


def test_previous_and_next_are_ones_own_items(study: Study) -> None:
    first = study.assignment(study.ada)
    client = client_of(study.ada)
    answer = client.post(page("submit", first), answers("no", "no", "no")).json()
    second = Assignment.objects.get(rater__user=study.ada, status="open")
    assert answer["next"] == page("item", second)
    assert page("item", first) in client.get(page("item", second)).content.decode()
    assert page("item", second) in client.get(page("item", first)).content.decode()


def test_a_campaign_with_items_left_is_not_called_done(study: Study) -> None:
    shown = client_of(study.ada).get(reverse("finished", args=[study.campaign.pk]))
    assert "2 items left" in shown.content.decode()
    assert "All done" not in shown.content.decode()
