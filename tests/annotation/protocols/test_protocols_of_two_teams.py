"""Two teams may have a protocol of one name: nothing that goes by the protocol mixes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.adjudication.gold import gold_targets
from annotation.models import Campaign, ProtocolFile
from annotation.protocol_files import find_task
from audit.sealed.digests import find_wrong_digests
from datasets.models import Batch, Team
from tests import protocol_cast
from tests.cast import run
from tests.protocol_cast import NAME, TEXT, write_protocol

pytestmark = pytest.mark.django_db


@pytest.fixture
def teams(tmp_path: Path) -> tuple[Team, Team]:
    """Two teams, each with a protocol of the same name, and a batch of the first one."""
    made = Team.objects.create(name="one"), Team.objects.create(name="two")
    path = protocol_cast.write_batch(tmp_path)
    for team in made:
        titled = TEXT.replace('"Cited claims"', f'"Claims of {team.name}"')
        run("protocol", "add", write_protocol(tmp_path, titled), "--team", team.name)
        run("load_batch", path, "--name", f"of-{team.name}", "--team", team.name)
    return made


def campaign(name: str, team: Team) -> Campaign:
    batch = f"of-{team.name}"
    run("create_campaign", name, "--protocol", NAME, "--batch", batch, "--team", team.name,
        "--pool", "open")  # fmt: skip
    return Campaign.objects.get(name=name)


def test_each_team_finds_its_own(teams: tuple[Team, Team]) -> None:
    assert [find_task(NAME, team).title for team in teams] == ["Claims of one", "Claims of two"]
    for team in teams:
        found = campaign(f"c-{team.name}", team)
        assert found.protocol_file == ProtocolFile.objects.get(team=team)


def test_gold_goes_to_campaigns_of_the_same_protocol_in_any_version(
    teams: tuple[Team, Team], tmp_path: Path
) -> None:
    first, other = campaign("a", teams[0]), campaign("b", teams[1])
    newer = write_protocol(tmp_path, TEXT.replace('version = "1"', 'version = "2"'))
    run("protocol", "add", newer, "--team", "one")
    same = campaign("a2", teams[0])
    assert (first.protocol_version, same.protocol_version) == ("1", "2")
    assert gold_targets(first, None) == [same]
    assert gold_targets(other, None) == []


def test_a_campaign_is_not_continued_on_another_teams_protocol(
    teams: tuple[Team, Team], tmp_path: Path
) -> None:
    first = campaign("a", teams[0])
    # The campaign was handed over, with the protocol that it was created with.
    Campaign.objects.filter(pk=first.pk).update(team=teams[1])
    with pytest.raises(CommandError, match="cannot be continued by"):
        run("create_campaign", "c", "--protocol", NAME, "--batch", "of-two", "--team", "two",
            "--continues", "a", "--pool", "open")  # fmt: skip
    assert Batch.objects.count() == 2


def test_a_campaign_keeps_its_protocol_when_it_moves_to_another_team(
    teams: tuple[Team, Team],
) -> None:
    first = campaign("a", teams[0])
    run("team", "move", "campaign", "a", "--to", "two")
    first.refresh_from_db()
    assert first.team == teams[1]
    assert first.protocol_file == ProtocolFile.objects.get(team=teams[0])
    with pytest.raises(CommandError, match="is used by campaign 'a'"):
        run("protocol", "delete", f"{NAME}@1", "--team", "one")
    # The other team's version of the same name is free.
    run("protocol", "delete", f"{NAME}@1", "--team", "two")
    assert run("show_campaign", "a")


def test_a_stored_protocol_that_was_changed_in_the_database_is_found(
    teams: tuple[Team, Team],
) -> None:
    assert list(find_wrong_digests()) == []
    rows = ProtocolFile.objects.filter(team=teams[0])
    rows.update(text=TEXT.replace("full = 1", "full = 2"))
    (found,) = find_wrong_digests()
    assert "its text has another digest than digest says" in str(found.wrong)
    rows.delete()
    ProtocolFile.objects.update(parts={"claims.md": "Something else."})
    assert len(list(find_wrong_digests())) == 1
