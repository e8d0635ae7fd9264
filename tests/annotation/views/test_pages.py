"""Who may open which page, and where each step of the work leads."""

from __future__ import annotations

import re
import uuid

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation.models import Assignment, Response
from tests.once import once
from tests.page_cast import OPEN_TO, PASSWORD, Study, answers, client_of, make_study, page, plant

pytestmark = pytest.mark.django_db

HIDDEN = ("planted-judge", "planted-comment-of-ben", "planted-draft-of-ben")


@once
def study() -> Study:
    return make_study()


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> list[tuple[str, str]]:
    """Every address of the site, as (name, path with its placeholders)."""
    found: list[tuple[str, str]] = []
    for each in patterns:
        path = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            found += routes(each.url_patterns, path)
        else:
            found.append((str(each.name), path))
    return found


def addresses(path: str, uids: list[uuid.UUID]) -> list[str]:
    path = re.sub(r"<(?!uuid)[^>]+>", "1", path)
    found = ["/" + re.sub(r"<uuid:[^>]+>", str(uid), path) for uid in uids]
    return list(dict.fromkeys(found))


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


# The crawler of tests/security asks each page in each role, so `make test` needs few cases here.
@pytest.mark.parametrize("role", ["anonymous", "annotator", "researcher", "admin"])
@pytest.mark.parametrize("name", list(OPEN_TO))
def test_each_page_is_open_to_its_roles_only(study: Study, name: str, role: str) -> None:
    user = {"annotator": study.ada, "researcher": study.rita, "admin": study.root}.get(role)
    client = client_of(user) if user else Client()
    pk = study.campaign.pk
    one = {"finished": [pk], "campaign": [pk], "batch": [study.campaign.batch_id]}
    answer = client.get(reverse(name, args=one.get(name, [])))
    if role in OPEN_TO[name]:
        assert answer.status_code in {200, 302}
        assert "/login/" not in answer.headers.get("Location", "")
    elif role == "anonymous":
        assert answer.headers["Location"].startswith("/login/")
    else:
        assert answer.status_code == 403


def test_taking_an_item_after_the_session_ended_leads_to_the_log_in(study: Study) -> None:
    answer = Client().post(reverse("take-next", args=[study.campaign.pk]))
    assert answer.headers["Location"].startswith("/login/")
    assert not Assignment.objects.exists()


def test_an_annotator_sees_nobody_elses_answers_at_any_address(study: Study) -> None:
    mine = study.assignment(study.ada)
    foreign = plant(study)
    client = client_of(study.ada)
    client.raise_request_exception = False
    for name, path in routes(get_resolver().url_patterns):
        if name == "logout":
            continue
        for address in addresses(path, [mine.uid, *(a.uid for a in foreign)]):
            for answer in (client.get(address), client.post(address, {"key": "1"})):
                body = answer.content.decode(errors="replace") + str(answer.headers)
                assert not any(secret in body for secret in HIDDEN), f"{address} tells"


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["item", "draft", "submit", "guideline", "progress"])
def test_an_assignment_of_another_person_is_404_by_any_method(study: Study, name: str) -> None:
    study.assignment(study.ada)
    for other in plant(study):
        for user in (study.ada, study.rita):
            client = client_of(user)
            asked = client.post if name in {"draft", "submit"} else client.get
            assert asked(page(name, other), answers("no", "no", "no")).status_code == 404
    assert Response.objects.count() == 2


def test_an_assignment_cannot_be_opened_without_logging_in(study: Study) -> None:
    mine = study.assignment(study.ada)
    assert Client().get(page("item", mine)).status_code == 302
    script = Client().post(
        page("draft", mine), answers("no"), headers={"accept": "application/json"}
    )
    assert script.status_code == 401


def test_saving_requires_a_csrf_token(study: Study) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(study.ada)
    mine = study.assignment(study.ada)
    for name in ("draft", "submit"):
        assert client.post(page(name, mine), answers("no", "no", "no")).status_code == 403


def test_nothing_is_saved_by_a_get_request(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    for name in ("draft", "submit"):
        assert client.get(page(name, mine)).status_code == 405
    assert client.get(reverse("take-next", args=[study.campaign.pk])).status_code == 405


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
