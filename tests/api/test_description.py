"""The API's description is complete and accurate, and is generated without a warning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from rest_framework.serializers import Serializer

from annotation.protocols import PROTOCOLS
from tests.api.cast import assert_error, script_of, stranger
from tests.api.test_roles import views
from tests.page_cast import Study, client_of


@cache
def description() -> dict[str, Any]:
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


def subclasses_of(kind: type[Serializer[Any]]) -> Iterator[type[Serializer[Any]]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses_of(each)


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in description()["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_description_is_generated_without_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    GENERATOR_STATS.reset()
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", "/dev/null")
    assert "Warning" not in capsys.readouterr().err
    validate_schema(description())


def test_the_description_contains_every_address_below_v1() -> None:
    paths = {path for path, _, _ in operations()}
    served = {re.sub(r"<[^>]+>", "{}", path) for path, _ in views()}
    assert {re.sub(r"\{[^}]+\}", "{}", path)[1:] for path in paths} == served


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("path", "method", "operation"),
    [pytest.param(*each, id=f"{each[1]} {each[0]}") for each in operations()],
)
def test_every_operation_says_what_it_does_with_an_example(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    assert operation["summary"]
    assert len(operation["description"]) > 20
    assert operation["tags"]
    assert operation["security"] == [{"token": []}, {"bearer": []}]
    responses = operation["responses"]
    assert {"401", "403", "404", "429", "503"} <= set(responses)
    media = [m for r in responses.values() for m in r.get("content", {}).values()]
    assert any("examples" in each for each in media)
    if "requestBody" in operation:
        assert all("examples" in m for m in operation["requestBody"]["content"].values())
        assert {"400", "413", "415"} <= set(responses)


DESCRIBED_IN_PART = {"batches_lineage", "runs_manifest"}


def unmatched(example: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    """Yield where an example lacks a required member, or has one that is not described."""
    if "$ref" in schema:
        schema = description()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if len(schema.get("allOf", ())) == 1:
        yield from unmatched(example, schema["allOf"][0], where)
    for each in example if isinstance(example, list) else ():
        yield from unmatched(each, schema.get("items", {}), where)
    members = schema.get("properties")
    if isinstance(example, dict) and members:
        yield from (f"{where}.{name}" for name in {*schema.get("required", ())} - {*example})
        for name, value in example.items():
            yield from (
                unmatched(value, members[name], f"{where}.{name}")
                if name in members
                else ([f"{where}.{name}"])
            )


def test_every_example_has_the_members_that_are_described() -> None:
    wrong = [
        each
        for _, _, operation in operations()
        if operation["operationId"] not in DESCRIBED_IN_PART
        for body in (*operation["responses"].values(), operation.get("requestBody", {}))
        for kind in body.get("content", {}).values()
        for example in kind.get("examples", {}).values()
        for each in unmatched(example["value"], kind["schema"], operation["operationId"])
    ]
    assert sorted(set(wrong)) == []


def test_every_kept_example_is_of_something_that_is_described() -> None:
    kept = json.loads(Path(settings.API_EXAMPLES).read_text("utf-8"))
    ids = {operation["operationId"] for _, _, operation in operations()}
    named = {each.__name__ for each in subclasses_of(Serializer)}
    assert kept["operations"].keys() <= ids
    assert kept["bodies"].keys() <= named


def test_every_operation_has_a_unique_id() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))


def test_the_description_names_every_protocol() -> None:
    schema = description()["components"]["schemas"]["NewCampaignRequest"]
    said = schema["properties"]["protocol"]["description"]
    assert [name for name in PROTOCOLS if name not in said] == []


@pytest.mark.django_db
def test_the_description_is_served_to_tokens_and_to_logged_in_browsers(study: Study) -> None:
    script = script_of(study.ada)
    by_token = script.get("/api/schema/?format=json")
    assert by_token.status_code == 200
    assert json.loads(by_token.content)["openapi"].startswith("3.")
    assert client_of(study.ada).get("/api/schema/?format=json").content == by_token.content
    assert stranger().get("/api/schema/").status_code == 401
    assert Client().get("/api/schema/").status_code == 401
    assert "openapi: 3." in script.get("/api/schema/").content.decode()


@pytest.mark.django_db
def test_the_description_refuses_unknown_parameters(study: Study) -> None:
    for query in ("lang=%00", "version=9", "x=1"):
        assert script_of(study.ada).get(f"/api/schema/?{query}").status_code == 400


@pytest.mark.django_db
def test_the_description_contains_no_stored_data(study: Study) -> None:
    whole = script_of(study.rita).get("/api/schema/?format=json").content.decode()
    for secret in ("harbour", "hidden-system", "Pilot", "ben"):
        assert f'"{secret}' not in whole


@pytest.mark.django_db
def test_the_page_of_the_description_requires_a_login(study: Study) -> None:
    assert Client().get("/api/docs/").headers["Location"].startswith("/login/")
    for user in (study.ada, study.rita, study.root):
        assert client_of(user).get("/api/docs/").status_code == 200
    assert_error(stranger().get("/api/v1/docs/"), 404)


def test_feedback_on_practice_may_have_no_pass_mark() -> None:
    fields = description()["components"]["schemas"]["Feedback"]["properties"]
    assert fields["qualify"]["nullable"]
    assert "nullable" not in fields["passed"]
