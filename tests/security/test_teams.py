"""A researcher learns nothing about the objects of a team that they do not belong to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Rater
from tests.api.cast import script_of
from tests.databases import assert_unchanged, rolling_back
from tests.extent import Extent
from tests.security.example_requests import EXAMPLES
from tests.security.routes import Route
from tests.security.rules import READERS, RESEARCHER, SAFE, UNSAFE
from tests.security.test_audited import BY_NAME, CASES, send
from tests.security.test_crawler import ROUTES, made, rule, world  # noqa: F401 - fixtures
from tests.security.world import CSRF, World, objects, provider
from tests.team_cast import join_team

pytestmark = pytest.mark.django_db
RITAS = ("Pilot", "Closed", "harbour", "planted-judge", "planted-comment", "rita")


class Olga:
    """The browser and the token of the other team's researcher."""

    def __init__(self, world: World) -> None:  # noqa: F811
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        self.client.cookies["csrftoken"] = CSRF
        self.client.force_login(world.olga)
        self.token = script_of(world.olga).token

    def ask(self, route: Route, method: str, address: str) -> Any:
        if not route.is_api:
            return self.client.generic(method, address, headers={"x-csrftoken": CSRF})
        sent = {"authorization": f"Token {self.token}"}
        body = "{}" if method in UNSAFE else ""
        return Client().generic(method, address, body, "application/json", headers=sent)


def of_a_team(world: World) -> Iterator[Route]:  # noqa: F811
    """Yield the routes whose address names an object of a team."""
    for route in ROUTES:
        found = [provider(route, name) for name in route.arguments]
        if any(fills(world, RESEARCHER).foreign for fills in found if fills):
            yield route


@pytest.mark.postgresql
def test_no_route_opens_objects_of_another_team(world: World) -> None:  # noqa: F811
    """Olga tries, by every method, the addresses that the crawler shows to work for Rita.

    `make test` tries the first object of each route.
    """
    olga, tried = Olga(world), 0
    each = slice(None if Extent.everything else 1)
    with assert_unchanged():
        for route in of_a_team(world):
            for method, who in rule(route).who.items():
                if who & READERS and RESEARCHER in who:
                    for address in objects(world, route, RESEARCHER).own[each]:
                        answer = olga.ask(route, method, str(address))
                        assert answer.status_code == 404, f"{method} {address} ({route.name})"
                        tried += 1
    assert tried > 150


@pytest.mark.postgresql
def test_no_list_or_count_reveals_another_team(world: World) -> None:  # noqa: F811
    olga = Olga(world)
    for route in ROUTES:
        who = rule(route).who.get("GET", frozenset())
        if route.arguments or RESEARCHER not in who or route.path.startswith("api/schema"):
            continue
        answer = olga.ask(route, SAFE[0], route.address({}))
        page = answer.content.decode(errors="replace")
        for name in RITAS:
            assert name not in page, f"{route.name} reveals {name}"
    for path in ("campaigns", "batches", "judges", "runs", "reports", "invitations"):
        script = script_of(world.olga)
        mine = {
            "campaigns": 2,
            "runs": 1,
            "batches": 1,
            "judges": 1,
            "reports": 1,
            "invitations": 1,
        }
        assert script.get(f"{path}/").json()["count"] == mine[path], path


TAKES_LABELS = (
    "export-file", "api-export", "api-labels", "api-units", "api-responses", "campaign-draws",
    "campaign-audit-file", "disagreements-file", "measures-zip",
)  # fmt: skip
CHANGES = ("campaign-turn", "campaign-invite", "upload-order", "api-upload-keep", "campaign-trials")


@pytest.mark.every_case
@pytest.mark.parametrize("name", [*TAKES_LABELS, *CHANGES])
def test_a_member_of_the_team_exports_and_changes_nothing(
    world: World,  # noqa: F811
    name: str,
) -> None:
    example = EXAMPLES[name][0](world)
    join_team(world.users[RESEARCHER], role="member")
    with assert_unchanged():
        assert send(world, BY_NAME[name], example).status_code == 403


@pytest.mark.long
def test_a_member_may_only_read_reports_and_change_their_own_objects(
    world: World,  # noqa: F811
) -> None:
    for name, build in CASES:
        with rolling_back():
            example = build(world)
            if example.role != RESEARCHER:
                continue
            join_team(world.users[RESEARCHER], role="member")
            answer = send(world, BY_NAME[name], example)
            if name not in OWN_OBJECTS and not name.startswith(REPORTS):
                assert answer.status_code in (403, 404, 422), f"{example.method} {name}"


OWN_OBJECTS = {
    "tokens", "token-take-back", "upload-order", "api-upload-discard",
    # The person is named as a researcher of the step's campaign.
    "preparation-accept", "api-preparation-accept", "review", "api-review",
}  # fmt: skip
REPORTS = (
    "report-", "measures-", "frozen-", "judge-bench-file", "judge-run-manifest", "study-paper-file",
    "api-report", "api-measures", "api-frozen", "api-bench", "api-figure", "api-paper",
    "api-run-manifest",
)  # fmt: skip


def test_a_taken_name_reveals_only_that_it_is_taken(world: World) -> None:  # noqa: F811
    script = script_of(world.olga)
    new = {"name": "Pilot", "protocol": "report-coverage", "batch": "quay"}
    problems = script.post("campaigns/", new).json()["problems"]
    assert [each["wrong"] for each in problems] == ["the name 'Pilot' is taken; choose another"]
    judge = {"name": "planted-judge", "backend": "lexical"}
    (wrong,) = script.post("judges/", judge).json()["problems"]
    assert wrong["wrong"] == "A rater has this name already; choose another."


def test_changing_members_returns_the_new_members(world: World) -> None:  # noqa: F811
    team = world.users[RESEARCHER].teams.get().team_id
    rita = script_of(world.users[RESEARCHER])
    for name, role in (("ben", "member"), ("rita", "owner"), ("ben", None)):
        changed = rita.put(f"teams/{team}/members/", {"name": name, "role": role}).json()
        assert changed == rita.get(f"teams/{team}/").json()
        assert {each["name"]: each["role"] for each in changed["members"]}.get(name) == role


def test_a_design_cannot_name_objects_of_another_team(world: World) -> None:  # noqa: F811
    """The error is the same as for a name that does not exist."""
    olga, script = Olga(world), script_of(world.olga)
    imported = Rater.objects.create(name="planted file", kind="judge")
    Assignment.objects.create(
        item=world.closed.items.all()[0], rater=imported, scope="file", asked=[]
    )
    new = {"name": "Second", "protocol": "report-coverage", "batch": "quay"}
    first = {"prerequisite": "Named"}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("Pilot", {"practice_of": "Pilot"}),
        ("Pilot", {"continues": "Pilot"}),
        ("Pilot", {"options": {"prerequisite": "Pilot"}}),
        ("Pilot", {"options": {"validates": "others' judge@Pilot"}}),
        ("planted-judge", {"options": {"validates": "planted-judge"}}),
        ("planted file", {"options": {"validates": "planted file"}}),
        (
            "planted-judge",
            {"protocol": "rubric-passage", "options": {"strata": "planted-judge", **first}},
        ),
    ]
    for name, named in cases:
        body = json.dumps({**new, **named})
        foreign = script.post("campaigns/", json.loads(body))
        missing = script.post("campaigns/", json.loads(body.replace(name, "nowhere")))
        assert foreign.status_code == missing.status_code == 422, named
        assert foreign.content.decode().replace(name, "nowhere") == missing.content.decode()
    address = f"{reverse('campaign-new')}?batch=quay&protocol=rubric-passage"
    form = olga.client.get(address).content.decode()
    assert "others&#x27; judge" in form
    assert "planted" not in form
    mine = {**new, "options": {"validates": "others' judge"}}
    assert script.post("campaigns/", mine).status_code == 201


def test_shared_objects_are_read_only_unless_shared_for_managing(
    world: World,  # noqa: F811
) -> None:
    olga, root = Olga(world), script_of(world.users["admin"])
    team, pk = world.olga.teams.get().team_id, world.study.campaign.pk
    page, close = reverse("campaign", args=[pk]), reverse("campaign-turn", args=[pk])
    batch = reverse("batch", args=[world.study.campaign.batch_id])
    sent = {"to": "closed"}, {"x-csrftoken": CSRF}
    given = {"kind": "campaign", "name": "Pilot", "right": "read"}
    assert root.put(f"teams/{team}/shares/", given).status_code == 200
    assert olga.client.get(page).status_code == 200
    assert olga.client.get(batch).status_code == 200
    refused = olga.client.post(close, sent[0], headers=sent[1])
    assert refused.status_code == 403
    assert "only the owner and the managers" in refused.content.decode().lower()
    assert olga.client.get(reverse("exports", args=[pk])).status_code == 403
    root.put(f"teams/{team}/shares/", given | {"right": "manage"})
    assert olga.client.post(close, sent[0], headers=sent[1]).status_code == 302
    root.put(f"teams/{team}/shares/", given | {"right": None})
    assert olga.client.get(page).status_code == 404


def test_only_admins_share_and_move_objects(world: World) -> None:  # noqa: F811
    script, team = script_of(world.olga), world.olga.teams.get().team_id
    for path, method in (("shares", script.put), ("moves", script.post)):
        given = {"kind": "campaign", "name": "Pilot", "right": "manage"}
        assert method(f"teams/{team}/{path}/", given).status_code == 403
    given = {"order": "give", "kind": "campaign", "name": "Pilot", "what": "move"}
    sent = {"x-csrftoken": CSRF}
    address = reverse("team-change", args=[team])
    assert Olga(world).client.post(address, given, headers=sent).status_code == 403
