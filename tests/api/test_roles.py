"""What an account finds, and what it learns of others; tests/security asks who may use what."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation.assignments.queue import next_assignment
from annotation.models import Campaign, rater_of
from config.api import LISTS
from datasets.access import EVERYBODY
from datasets.api.permissions import WORDS
from datasets.api.routes import Resource
from datasets.models import Batch
from tests.api.cast import Script, assert_error, body, place, script_of, stranger
from tests.cast import ROOT
from tests.page_cast import Study, plant

pytestmark = pytest.mark.django_db

PLANTED = ("planted-judge", "planted-comment-of-ben", "planted-draft-of-ben", "hidden-system")
BELOW = ("", "guideline/", "response/")


@pytest.fixture
def ada(study: Study) -> Script:
    return script_of(study.ada)


def views() -> Iterator[tuple[str, Any]]:
    """Every address below /api/v1/ with the class that serves it."""

    def walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[tuple[str, Any]]:
        for each in patterns:
            path = prefix + str(each.pattern)
            if isinstance(each, URLResolver):
                yield from walk(each.url_patterns, path)
            elif path.startswith("api/v1/"):
                yield path, each.callback.cls  # type: ignore[attr-defined]

    return walk(get_resolver().url_patterns, "")


@pytest.mark.parametrize("finished", [False, True], ids=["before her own", "after her own"])
def test_an_annotator_learns_nothing_about_others(study: Study, finished: bool) -> None:
    ada, mine = script_of(study.ada), study.assignment(study.ada)
    planted = plant(study)
    assert mine.item == planted[0].item
    if finished:
        assert ada.put(place(mine, "response/"), body("no", "no", "no")).status_code == 201
    told_by = [ada.get(place(mine, rest)) for rest in BELOW]
    told_by += [ada.get("assignments/"), ada.post(f"campaigns/{study.campaign.pk}/next/")]
    told_by += [ada.put(place(mine, "response/"), body("yes", "no", "no"))]
    told_by += [ada.put(place(mine, "response/"), body("invalid", "no", "no", revision=9))]
    for answer in told_by:
        whole = answer.content.decode() + str(answer.headers)
        assert not any(secret in whole for secret in PLANTED)


def test_answers_of_others_change_nothing_that_an_annotator_sees(study: Study) -> None:
    ada, mine = script_of(study.ada), study.assignment(study.ada)
    paths = ["", "campaigns/", "assignments/", *(place(mine, rest) for rest in BELOW)]
    before = [ada.get(path).content for path in paths]
    plant(study)
    assert [ada.get(path).content for path in paths] == before


def test_an_annotator_sees_no_design_and_no_counts_of_others(study: Study, ada: Script) -> None:
    plant(study)
    (campaign,) = ada.get("campaigns/").json()["results"]
    assert campaign["study"] is None
    (told_to_rita,) = script_of(study.rita).get("campaigns/").json()["results"]
    assert told_to_rita["study"]["people_done"] == 1
    assert told_to_rita["study"]["judges"] == 1
    assert script_of(study.root).get("campaigns/").json()["results"][0]["work"] is None


def test_a_campaign_without_work_for_the_annotator_is_not_found(study: Study) -> None:
    study.campaign.items.update(quota=1)
    ada, ben = script_of(study.ada), script_of(study.ben)
    while next_assignment(study.campaign, rater_of(study.ben)):
        mine = study.assignment(study.ben)
        assert ben.put(place(mine, "response/"), body("no", "no", "no")).status_code == 201
    assert ada.get("campaigns/").json()["count"] == 0
    assert_error(ada.get(f"campaigns/{study.campaign.pk}/"), 404)
    assert ben.get("campaigns/").json()["count"] == 1
    assert ada.post(f"campaigns/{study.campaign.pk}/next/").status_code == 204


def test_a_closed_campaign_is_shown_to_its_annotators_only(study: Study) -> None:
    study.assignment(study.ada)
    study.campaign.is_open = False
    study.campaign.save()
    assert script_of(study.ada).get("campaigns/").json()["count"] == 1
    assert script_of(study.ben).get("campaigns/").json()["count"] == 0


def test_a_query_is_not_found_under_another_batch(study: Study) -> None:
    other = make_batch_beside(study)
    rita = script_of(study.rita)
    assert rita.get(f"batches/{study.campaign.batch_id}/queries/0/").status_code == 200
    assert_error(rita.get(f"batches/{other}/queries/0/"), 404)


def make_batch_beside(study: Study) -> int:
    return Batch.objects.create(name="empty", format="native", digest="1" * 64).pk


@pytest.mark.every_case
@pytest.mark.parametrize(
    "query",
    [
        "name__startswith=P",
        "batch__name=harbour",
        "assignments__rater__user__password__startswith=a",
        "ordering=password",
        "search=x",
        "updated_by__password__startswith=a",
        "is_open=maybe",
        "name=%00",
        "page_size=201",
        "page_size=0",
        "page=0",
        "page=x",
        "format=xml",
    ],
)
def test_a_parameter_that_is_not_allowed_is_refused(study: Study, query: str) -> None:
    answer = script_of(study.rita).get(f"campaigns/?{query}")
    assert answer.status_code in {400, 404}
    assert json.loads(answer.content)["error"]


def test_a_campaign_is_found_by_its_exact_name_only(study: Study) -> None:
    rita = script_of(study.rita)
    counts = [rita.get(f"campaigns/?name={n}").json()["count"] for n in ("Pilot", "pilot", "Pil")]
    assert counts == [1, 0, 0]


def test_every_address_says_who_may_use_each_of_its_methods() -> None:
    found = dict(views())
    assert len(found) >= 14
    for path, view in found.items():
        assert issubclass(view, Resource), path
        methods = {m.upper() for m in view.http_method_names if m != "head" and hasattr(view, m)}
        assert set(view.roles) == methods, path
        assert all(set(roles) <= set(EVERYBODY) and roles for roles in view.roles.values()), path


def test_objects_are_reached_only_through_what_an_account_may_see() -> None:
    """In the API's modules `Model.objects` is used only in `visible_` functions, given the user."""
    modules = [
        path
        for path in (each.relative_to(ROOT) for each in ROOT.rglob("*.py"))
        if "api" in {*path.parts, path.stem} and path.parts[0] != "tests"
        and path.parts[0][0] != "."
    ]  # fmt: skip
    apps = {path.parts[0] for path in modules}
    assert apps >= {"datasets", "annotation", "judging", "analysis", "config"}
    wrong = [
        f"{path}:{line}" for path in modules for line in loose_objects((ROOT / path).read_text())
    ]
    assert wrong == []


MINE_ALREADY = {"_with_answers", "describe_assignment", "_store"}


def loose_objects(source: str) -> list[int]:
    """Lines with `.objects` outside such a function, or with `.objects.all()` anywhere."""
    found: list[int] = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            given = {argument.arg for argument in function.args.args}
            free = function.name in MINE_ALREADY or (
                function.name.startswith("visible_") and "user" in given
            )
            found += [
                node.lineno
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and node.attr == "objects" and not free
            ]
    found += [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and ast.unparse(node).endswith(".objects.all")
    ]
    return found


def test_the_check_of_objects_finds_an_unfiltered_view() -> None:
    assert loose_objects("def get(self):\n    return Campaign.objects.filter(pk=1)") == [2]
    assert loose_objects("def visible_x(user):\n    return X.objects.all()") == [2]
    assert loose_objects("def visible_x(user):\n    return X.objects.filter(user=user)") == []


def test_unsupported_methods_are_answered_by_405(study: Study, ada: Script) -> None:
    for method in ("DELETE", "PATCH", "OPTIONS", "TRACE", "PUT"):
        answer = ada.send(method, "campaigns/")
        assert answer.status_code == 405, method
        assert "GET" in answer["Allow"]
    assert Campaign.objects.count() == 1


def test_unsupported_methods_count_against_no_limit(study: Study) -> None:
    ada, rita = script_of(study.ada), script_of(study.rita)
    export = f"campaigns/{study.campaign.pk}/labels/?format=jsonl"
    for script in (ada, rita):
        assert {script.send("POST", export).status_code for _ in range(13)} == {405}
    assert {ada.get(export).status_code for _ in range(13)} == {403}
    assert rita.get(export).status_code == 200


def test_head_is_answered_like_get(study: Study, ada: Script) -> None:
    assert ada.send("HEAD", "campaigns/").status_code == 200
    assert script_of(study.root).send("HEAD", "assignments/").status_code == 403


def test_a_disabled_account_has_no_access(study: Study, ada: Script) -> None:
    study.ada.is_active = False
    study.ada.save()
    assert_error(ada.get("campaigns/"), 401)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "value",
    [
        *(f"{word}{rest}" for word in WORDS for rest in ("", " x", " a b", " é", f" {'a' * 9999}")),
        "Basic YTpi",
        "Tokens x",
    ],
)
def test_an_invalid_token_is_refused(study: Study, value: str) -> None:
    assert_error(stranger().get("campaigns/", Authorization=value), 401)


def test_an_unknown_address_is_answered_in_json(study: Study, ada: Script) -> None:
    for path in ("nothing/", f"campaigns/{10**30}/", "batches/x/", "assignments/1/"):
        answer = ada.get(path)
        assert answer.status_code in {403, 404}
        assert answer.json()["problems"] == []


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_a_missing_trailing_slash_is_an_error_and_not_a_redirect(
    study: Study, ada: Script, method: str
) -> None:
    mine = study.assignment(study.ada)
    answer = ada.send(method, place(mine, "response"), body("no", "no", "no"))
    assert assert_error(answer, 404) == []
    assert "ends with a slash" in answer.json()["error"]


def test_the_root_links_to_the_lists_of_the_role(study: Study, ada: Script) -> None:
    for script, lists in (
        (ada, {"campaigns", "assignments"}),
        (script_of(study.root), set(LISTS) - {"assignments"}),
    ):
        root = script.get("").json()
        assert set(root["lists"]) == lists
        for address in root["lists"].values():
            assert script.get(address.removeprefix("http://testserver")).status_code == 200


def test_the_api_leaves_the_addresses_of_pages_unchanged(study: Study) -> None:
    assert reverse("campaigns") == "/campaigns/"
    assert Client().get("/campaigns/").status_code == 302
