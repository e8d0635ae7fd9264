"""Scopes: a token may do what its account may, within the scopes that it was created with."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from knox.models import AuthToken

from datasets.access import EVERYBODY
from datasets.api.permissions import LEAST, MOST, SCOPES
from tests.api.cast import Script, assert_error, body, place, script_of
from tests.api.test_description import operations
from tests.api.test_roles import views
from tests.cast import run
from tests.page_cast import Study, client_of

pytestmark = pytest.mark.django_db
UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}


@pytest.mark.every_case
@pytest.mark.parametrize(("path", "view"), list(views()), ids=lambda each: str(each))
def test_every_address_says_which_scope_each_of_its_methods_needs(path: str, view: Any) -> None:
    methods = set(view.roles)
    assert methods <= set(view.scopes), f"{path}: name in `scopes` what {methods} need"
    if methods & UNSAFE:
        assert "scopes" in vars(view), f"{path}: a class with writes must set `scopes` itself"
    assert all(view.scopes[method] for method in methods)
    assert {scope for each in view.scopes.values() for scope in each} <= set(SCOPES)


def test_the_description_names_the_scopes_of_every_operation() -> None:
    for path, method, operation in operations():
        assert operation["x-scopes"], f"{method} {path}"
        assert set(operation["x-scopes"]) <= set(SCOPES)
        assert all(f"`{scope}`" in operation["description"] for scope in operation["x-scopes"])


def test_the_default_scopes_of_a_role_are_among_those_it_can_use() -> None:
    for role in EVERYBODY:
        assert set(LEAST[role]) <= set(MOST[role]) <= set(SCOPES)


def test_a_token_for_reading_changes_nothing(study: Study) -> None:
    reader = script_of(study.rita, "read")
    assert reader.get("campaigns/").status_code == 200
    assert reader.get(f"campaigns/{study.campaign.pk}/labels/").status_code == 200
    path = f"campaigns/{study.campaign.pk}/terms/"
    assert_error(reader.post(path, {"is_open": False}), 403)
    study.campaign.refresh_from_db()
    assert study.campaign.is_open


def test_the_root_lists_the_scopes_of_the_token(study: Study) -> None:
    assert script_of(study.rita, "judge", "read").get("").json()["scopes"] == ["read", "judge"]


def test_the_error_names_the_missing_scope(study: Study) -> None:
    answer = script_of(study.rita, "read").post("campaigns/", {})
    assert_error(answer, 403)
    assert "lacks the scope manage" in answer.json()["error"]


def test_a_token_for_labelling_can_label_but_not_read_studies(study: Study) -> None:
    labeller = script_of(study.ada, "label")
    item = labeller.post(f"campaigns/{study.campaign.pk}/next/").json()
    mine = study.assignment(study.ada)
    assert item["uid"] == str(mine.uid)
    assert labeller.put(place(mine, "response/"), body("no", "no", "no")).status_code == 201
    rita = script_of(study.rita, "label")
    assert_error(rita.get(f"campaigns/{study.campaign.pk}/labels/"), 403)
    assert_error(rita.get("batches/"), 403)


def test_the_scope_read_does_not_include_accounts(study: Study) -> None:
    assert_error(script_of(study.root, "read").get("people/"), 403)
    assert script_of(study.root, "people").get("people/").status_code == 200


def test_a_scope_gives_no_rights_beyond_the_role(study: Study) -> None:
    token = script_of(study.ada)
    AuthToken.objects.get(user=study.ada).grant.delete()
    assert_error(token.get("campaigns/"), 403)
    wide = script_of(study.ada)
    grant = AuthToken.objects.filter(user=study.ada, grant__isnull=False).get().grant
    grant.scopes = list(SCOPES)
    grant.save()
    assert_error(wide.get("batches/"), 403)


def test_a_token_without_a_grant_gives_no_access(study: Study) -> None:
    bare = Script(AuthToken.objects.create(study.rita)[1])
    assert_error(bare.get(""), 403)
    assert_error(bare.get("campaigns/"), 403)


class TestCommand:
    def test_without_scopes_it_grants_the_default_ones(self, study: Study) -> None:
        for name in ("ada", "rita", "root"):
            run("create_token", name)
        granted = {t.user.username: tuple(t.grant.scopes) for t in AuthToken.objects.all()}
        assert granted == {"ada": ("label",), "rita": ("read",), "root": ("read",)}

    def test_it_grants_the_named_scopes_and_lists_them(self, study: Study) -> None:
        run("create_token", "rita", "--scope", "manage", "--scope", "read", "--note", "nightly")
        grant = AuthToken.objects.get().grant
        listed = run("create_token", "rita", "--list")
        assert listed.startswith(f"{grant.pk}: tandem_")
        assert ", read manage, until 20" in listed
        assert listed.endswith(", nightly\n")

    def test_one_of_several_tokens_is_revoked_by_its_number(self, study: Study) -> None:
        kept, gone = (Script(run("create_token", "rita").strip()) for _ in range(2))
        newest = AuthToken.objects.order_by("grant__pk").last()
        assert newest is not None
        said = run("create_token", "rita", "--revoke", str(newest.grant.pk))
        assert said == f"Revoked token {newest.grant.pk} of 'rita'.\n"
        assert_error(gone.get(""), 401)
        assert kept.get("").status_code == 200


class TestPage:
    def made(self, client: Client, **fields: Any) -> Any:
        return client.post("/tokens/", {"scopes": ["read"], "days": "30", **fields})

    def test_only_scopes_that_the_role_can_use_are_offered_and_accepted(self, study: Study) -> None:
        client = client_of(study.ada)
        assert 'value="manage"' not in client.get("/tokens/").content.decode()
        assert self.made(client, scopes=["manage"]).status_code == 422
        assert self.made(client, days="366").status_code == 422
        assert self.made(client, scopes=[]).status_code == 422
        assert not AuthToken.objects.exists()
