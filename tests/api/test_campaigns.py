"""Creating campaigns through the API: the command's checks apply, and no other field can be set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError

from annotation.campaign_setup import creation
from annotation.models import Campaign, Item, User
from tests import cast
from tests.api.cast import Script, assert_error, script_of

pytestmark = pytest.mark.django_db

NEW: dict[str, Any] = {"name": "n", "protocol": "report-coverage", "batch": "b"}


@pytest.fixture
def rita(batch: Path) -> Script:
    return script_of(User.objects.create(username="rita", role="researcher"))


def test_the_api_creates_the_same_campaign_as_the_command(rita: Script) -> None:
    options = {
        "variables": ["answerable", "rating"],
        "order": "random",
        "seed": 7,
        "passages": "all",
    }
    sent = NEW | {"raters_per_item": 2, "overlap": 0.5, "human_share": 0.7, "options": options}
    made = rita.post("campaigns/", sent)
    assert made.status_code == 201
    arguments = ["--raters-per-item", "2", "--overlap", "0.5", "--human-share", "0.7"]
    for option in ("variables=answerable,rating", "order=random", "seed=7", "passages=all"):
        arguments += ["--option", option]
    by_command = cast.campaign_of("report-coverage", *arguments, name="m")
    by_api = Campaign.objects.get(name="n")
    same = ("protocol", "options", "raters_per_item", "overlap", "human_share", "seed", "batch")
    assert all(getattr(by_api, name) == getattr(by_command, name) for name in same)
    assert _items(by_api) == _items(by_command)
    study = made.json()["study"]
    assert study["batch"] == "b"
    assert study["items"] == len(_items(by_api))
    assert study["places"] == sum(quota for _, quota, _ in _items(by_api))


def _items(campaign: Campaign) -> list[tuple[Any, ...]]:
    rows = Item.objects.filter(campaign=campaign).order_by("position")
    return list(rows.values_list("key", "quota", "probability"))


def test_creating_the_same_campaign_again_changes_nothing(rita: Script) -> None:
    first, second = (rita.post("campaigns/", NEW) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert Campaign.objects.count() == 1


def test_a_campaign_is_for_named_people_unless_it_is_opened_to_all(rita: Script) -> None:
    rita.post("campaigns/", NEW)
    rita.post("campaigns/", NEW | {"name": "all", "pool": "open"})
    assert dict(Campaign.objects.values_list("name", "pool")) == {"n": "named", "all": "open"}
    assert_error(rita.post("campaigns/", NEW | {"pool": "open"}), 422)


def test_another_design_under_a_taken_name_is_refused(rita: Script) -> None:
    rita.post("campaigns/", NEW)
    (problem,) = assert_error(rita.post("campaigns/", NEW | {"raters_per_item": 3}), 422)
    assert "another design" in problem["wrong"]


def test_a_campaign_created_concurrently_is_compared_with_the_request(
    rita: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries, create = [], creation.create_campaign

    def racing(*arguments: Any, **more: Any) -> creation.CreatedCampaign:
        tries.append(arguments)
        made = create(*arguments, **more)
        if len(tries) == 1:
            raise IntegrityError
        return made

    monkeypatch.setattr(creation, "create_campaign", racing)
    assert rita.post("campaigns/", NEW).status_code == 200
    assert len(tries) == 2


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"is_open": False}, "is_open"),
        ({"id": 7}, "id"),
        ({"created_at": "2020-01-01"}, "created_at"),
        ({"protocol_version": "9"}, "protocol_version"),
        ({"study": {}}, "study"),
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"batch": "none"}, "batch"),
        ({"raters_per_item": -1}, "raters_per_item"),
        ({"raters_per_item": 1001}, "raters_per_item"),
        ({"overlap": 1.5}, "overlap"),
        ({"human_share": "nan"}, "human_share"),
        ({"options": {"prompt": "x"}}, "options.prompt"),
        ({"options": {"seed": -1}}, "options.seed"),
        ({"options": {"seed": 2**31}}, "options.seed"),
        ({"options": {"order": "reverse"}}, "options.order"),
        ({"options": {"categories": ["a,b"]}}, "options.categories.0"),
        ({"options": {"variables": []}}, "options.variables"),
        ({"options": []}, "options"),
    ],
)
def test_an_invalid_field_is_refused_and_named(
    rita: Script, more: dict[str, Any], field: str
) -> None:
    problems = assert_error(rita.post("campaigns/", NEW | more), 400)
    assert field in {problem["field"] for problem in problems}
    assert not Campaign.objects.exists()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"overlap": 0}, "overlap is not above 0"),
        ({"protocol": "none"}, "no protocol is called"),
        ({"options": {"passages": "some"}}, "option passages"),
        ({"options": {"passages": "relevant:none"}}, "does not apply"),
        ({"options": {"variables": ["none"]}}, "has no variable"),
        ({"options": {"variables": ["rating", "rating"]}}, "without repeats"),
        ({"options": {"categories": ["a"]}}, "does not apply"),
        ({"protocol": "answer-preference", "batch": "empty"}, "has nothing for"),
        ({"name": " \u2003"}, "its name is blank"),
    ],
)
def test_an_impossible_design_is_refused_as_by_the_command(
    rita: Script, tmp_path: Path, more: dict[str, Any], said: str
) -> None:
    cast.load(tmp_path, [{"id": "q", "text": "Alone?"}], name="empty")
    problems = assert_error(rita.post("campaigns/", NEW | more), 422)
    assert any(said in problem["wrong"] for problem in problems), problems
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("overlap", {"overlap": 0}),
        ("deadline", {"deadline": "soon"}),
        ("options.validates", {"options": {"validates": "nobody"}}),
        ("options.development", {"options": {"development": 0.6, "audit": 0.6}}),
        ("assumptions.kappa", {"assumptions": {"kappa": 0}}),
    ],
)
def test_a_problem_of_the_design_names_the_field_at_fault(
    rita: Script, field: str, more: dict[str, Any]
) -> None:
    (problem,) = assert_error(rita.post("campaigns/rehearsal/", NEW | more), 422)
    assert problem["field"] == field


def test_the_list_is_paged_and_sorted_by_name(rita: Script) -> None:
    for name in ("c2", "c1", "c3"):
        rita.post("campaigns/", NEW | {"name": name})
    first = rita.get("campaigns/?page_size=2").json()
    assert [row["name"] for row in first["results"]] == ["c1", "c2"]
    assert (first["count"], first["previous"]) == (3, None)
    last = rita.get(first["next"].removeprefix("http://testserver")).json()
    assert [row["name"] for row in last["results"]] == ["c3"]
    assert last["next"] is None
    assert last["previous"].endswith("page=1")


def test_the_list_takes_as_many_queries_for_one_campaign_as_for_many(
    rita: Script, django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        rita.post("campaigns/", NEW | {"name": f"c{number}"})
    with django_assert_max_num_queries(8):
        assert len(rita.get("campaigns/").json()["results"]) == 6
