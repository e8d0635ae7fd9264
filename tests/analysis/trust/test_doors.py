"""Plans through the page and the API: the same orders, recorded as the same events."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from django.urls import reverse

from annotation.models import TrustCertificate, TrustPlan, User
from audit.models import Event
from tandem.trust.certificate import verify_bytes
from tests.analysis.trust.cast import JUDGE, VARIABLE, all_answer, world
from tests.api.cast import script_of
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db
EVENTS = ["trust.planned", "trust.drawn", "trust.looked", "trust.ended"]


def rita() -> User:
    return User.objects.create_user("rita", role=User.Role.RESEARCHER)


def events() -> list[str]:
    found = Event.objects.filter(event__startswith="trust.").order_by("pk")
    return list(found.values_list("event", flat=True))


def test_the_page_commits_draws_looks_and_ends(tmp_path: Path) -> None:
    campaign, page = world(tmp_path), client_of(rita())
    address = reverse("trust", args=[campaign.pk])
    assert "Commit to the plan" in page.get(address).content.decode()
    plan = {"order": "commit", "variable": VARIABLE, "judge": JUDGE}
    assert page.post(address, plan).status_code == 302
    assert page.post(address, {"order": "draw", "queries": "40"}).status_code == 302
    all_answer(TrustPlan.objects.get(), {5})
    assert page.post(address, {"order": "look"}).status_code == 302
    shown = page.get(address).content.decode()
    assert "jude may decide 83% of the cells" in shown
    assert "certified after 29 queries" in shown
    assert page.post(address, {"order": "end", "reason": "done"}).status_code == 302
    assert "done" in page.get(address).content.decode()
    assert events() == EVENTS


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ({"order": "draw", "queries": "5"}, "No plan of c is running"),
        (
            {"order": "commit", "variable": VARIABLE, "judge": JUDGE, "people": "1"},
            "needs at least",
        ),
        ({"order": "commit", "variable": "colour", "judge": JUDGE}, "colour"),
    ],
)
def test_the_page_refuses_with_a_reason(tmp_path: Path, order: dict[str, str], reason: str) -> None:
    campaign, page = world(tmp_path, queries=20), client_of(rita())
    answer = page.post(reverse("trust", args=[campaign.pk]), order)
    assert answer.status_code == 422
    assert reason in answer.content.decode()
    assert not events()


def test_the_api_does_the_same(tmp_path: Path) -> None:
    campaign, script = world(tmp_path), script_of(rita())
    path = f"campaigns/{campaign.pk}/trust/"
    assert script.post(path, {"judge": JUDGE}).status_code == 400
    made = script.post(path, {"variable": VARIABLE, "judge": JUDGE})
    assert made.status_code == 201
    assert made.json()["digest"] == TrustPlan.objects.get().digest
    assert script.post(path, {"variable": VARIABLE, "judge": JUDGE}).status_code == 422
    drawn = script.post(f"{path}draws/", {"queries": 2}).json()["drawn"]
    assert len(drawn) == 2
    assert script.post(f"{path}certificates/", {}).status_code == 422
    assert script.get(f"{path}certificates/").json()["results"] == []
    look = script.post(f"{path}looks/", {}).json()["look"]
    assert (look["verdict"], look["drawn"], look["waiting"]) == ("not yet", 2, 2)
    assert "wrong" not in look
    assert script.post(f"{path}end/", {"reason": "done"}).json()["ended_at"]
    assert [each["number"] for each in script.get(path).json()["results"]] == [1]
    assert events() == EVENTS


def test_a_certificate_is_written_shown_and_kept_as_a_file(tmp_path: Path) -> None:
    campaign, page = world(tmp_path), client_of(rita())
    address = reverse("trust", args=[campaign.pk])
    page.post(address, {"order": "commit", "variable": VARIABLE, "judge": JUDGE})
    assert "Without one wrong cell, 29 queries certify" in page.get(address).content.decode()
    page.post(address, {"order": "draw", "queries": "40"})
    assert page.post(address, {"order": "certify"}).status_code == 422
    plan = TrustPlan.objects.get()
    all_answer(plan, {5})
    assert page.post(address, {"order": "certify"}).status_code == 302
    made = TrustCertificate.objects.get()
    shown = reverse("trust-certificate", args=[campaign.pk, made.digest])
    assert made.document["predicate"]["statement"] in page.get(address).content.decode()
    assert "may decide 83.3 %" in page.get(shown).content.decode()
    content = page.get(f"{shown}?format=json").content
    assert sha256(content).hexdigest() == made.digest
    assert verify_bytes(content, made.digest).verdict == "genuine"


def test_wrong_cells_are_shown_when_the_plan_has_ended(tmp_path: Path) -> None:
    campaign, page = world(tmp_path), client_of(rita())
    address = reverse("trust", args=[campaign.pk])
    page.post(address, {"order": "commit", "variable": VARIABLE, "judge": JUDGE})
    page.post(address, {"order": "draw", "queries": "3"})
    plan = TrustPlan.objects.get()
    all_answer(plan, {0, 5})
    wrong = reverse("trust-wrong", args=[campaign.pk, plan.uid])
    assert page.get(wrong).status_code == 422
    page.post(address, {"order": "end"})
    shown = page.get(wrong).content.decode()
    assert shown.count("no 3") == 3
    assert all(f"p{n}-5<" not in shown for n in range(60))
