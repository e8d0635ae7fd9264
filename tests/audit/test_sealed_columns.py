"""Each column of each model is sealed, or excluded with a reason."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import models

from audit.recording import EVENTS
from audit.sealed.digests import STORED
from audit.sealed.fingerprints import states
from audit.sealed.kinds import EXCLUDED, KINDS, Kind, sealed_columns

APPS = ("annotation", "judging", "datasets", "analysis")
MODELS = [model for app in APPS for model in apps.get_app_config(app).get_models()]


@pytest.mark.every_case
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_each_column_is_sealed_or_excluded_with_a_reason(model: type[models.Model]) -> None:
    columns = {field.name for field in model._meta.concrete_fields}
    sealed, excluded = sealed_columns().get(model, set()), EXCLUDED.get(model, {})
    if "*" in excluded:
        assert not sealed
        return
    undecided = columns - sealed - set(excluded)
    assert not undecided, f"decide in the app's sealed.py: is {sorted(undecided)} sealed?"
    assert not sealed & set(excluded)
    assert set(excluded) <= columns
    assert all(reason.strip() for reason in excluded.values())


def test_only_events_that_exist_explain_a_change() -> None:
    for kind in KINDS.values():
        assert kind.explaining | set(kind.made or ()) | set(kind.gone or ()) <= set(EVENTS)


def test_each_kind_names_its_objects() -> None:
    for name, kind in KINDS.items():
        assert kind.where
        assert len(name) <= 20


@pytest.mark.django_db
@pytest.mark.postgresql
@pytest.mark.every_case
@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_paths_of_each_kind_exist(kind: Kind) -> None:
    assert states(kind, [1]) == {}
    assert list(kind.model._base_manager.filter(kind.only).values_list(*kind.where.values())) == []


def test_each_stored_digest_of_a_text_beside_it_is_compared() -> None:
    """Digests of a batch and its texts have a check of their own (`texts`)."""
    compared = {(each.model, each.column) for each in STORED if "__" not in each.column}
    apart = {
        "batch", "query digest", "lineage", "labels read", "look", "invitation", "job", "upload",
        "judge run", "login count", "rendering",
    }  # fmt: skip
    found = {
        (model, field.name)
        for model in MODELS
        for field in model._meta.concrete_fields
        if field.name in ("digest", "sha256") or field.name.endswith("_sha256")
        if model._meta.verbose_name not in apart and field.name != "inputs_sha256"
    }
    assert found == compared
