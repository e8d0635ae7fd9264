"""A study's tables are the same on the page, in its files and in the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from pytest_django.fixtures import Settings

from analysis.models import Study
from annotation.models import Campaign, User
from tests.api.cast import script_of
from tests.page_cast import client_of
from tests.queue_cast import run_due_jobs, set_up

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def root(crux_study: str) -> User:
    return User.objects.create_user("root", password="x", role=User.Role.ADMIN)


@pytest.fixture
def place(crux_study: str) -> list[Any]:
    return [Study.objects.get(name=crux_study).pk, "crux"]


def test_the_page_opens_before_its_tables_are_computed(
    root: User, place: list[Any], settings: Settings, tmp_path: Path, monkeypatch: Any
) -> None:
    set_up(settings, tmp_path, monkeypatch)
    client, address = client_of(root), reverse("study-paper", args=place)
    assert "Tables: waiting" in client.get(address).content.decode()
    assert run_due_jobs() == 1
    body = client.get(address).content.decode()
    assert "Table 1" in body
    assert "cannot be computed from labels" in body


def test_files_and_the_api_have_the_same_tables(root: User, place: list[Any]) -> None:
    text = client_of(root).get(reverse("study-paper-file", args=[*place, "md"])).content.decode()
    assert text.startswith("# Tables: small")
    found = script_of(root).get(f"studies/{place[0]}/papers/crux/").json()
    assert [table["key"] for table in found["tables"]][:2] == ["table-1", "figure-4"]


def test_the_page_of_measures_links_to_the_tables(root: User, place: list[Any]) -> None:
    campaign = Campaign.objects.get(name="coverage")
    page = (
        client_of(root).get(reverse("measures", args=[campaign.pk]), follow=True).content.decode()
    )
    assert reverse("study-paper", args=place) in page


def test_an_unknown_paper_is_not_found(root: User, place: list[Any]) -> None:
    assert client_of(root).get(reverse("study-paper", args=[place[0], "x"])).status_code == 404
