"""URLs of the API of campaigns and of a person's work."""

from __future__ import annotations

from annotation.api import (
    adjudication,
    answers,
    assignments,
    audit,
    campaigns,
    derivation,
    dry_run,
    exports,
    gold,
    imports,
    intake,
    items,
    people,
    progress,
    sample,
    teams,
)

MODULES = (
    adjudication,
    answers,
    assignments,
    audit,
    campaigns,
    derivation,
    dry_run,
    exports,
    gold,
    imports,
    intake,
    items,
    people,
    progress,
    sample,
    teams,
)
urlpatterns = [url for module in MODULES for url in module.api.urls]
