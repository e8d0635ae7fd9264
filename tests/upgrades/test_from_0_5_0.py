"""A database of version 0.5.0 with a running campaign is upgraded, and the work goes on.

On SQLite `test_teams` runs the same tests on a database that holds more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Campaign
from datasets.models import Team
from judging.models import Judge
from tests.migrating import quickly
from tests.upgrades.version_0_5_0 import installed
from tests.upgrades.work import WorkGoesOn

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql(only=True)]


@pytest.fixture(scope="module", autouse=True)
def upgraded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The database as version 0.5.0 left it, migrated to this version."""
    with installed(django_db_blocker):
        with quickly():
            call_command("migrate", verbosity=0)
        yield


def test_the_only_account_that_could_create_anything_owns_everything() -> None:
    team = Team.objects.get()
    assert (team.name, Campaign.objects.get().team, Judge.objects.get().team) == (
        "rita",
        team,
        team,
    )
    roles = dict(team.members.values_list("user__username", "role"))
    assert roles == {"rita": "owner", "ada": "member", "ben": "member"}


class TestWork(WorkGoesOn):
    """Work on the upgraded database."""
