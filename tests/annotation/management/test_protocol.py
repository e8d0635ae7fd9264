"""`protocol`: a team's own tasks are checked, added, listed, shown and deleted as files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design, DesignError
from annotation.models import Campaign, ProtocolFile, Unit
from annotation.protocol_files import ProtocolError, find_task
from annotation.registry import get_protocol
from datasets.loading import load_batch
from datasets.models import Batch, Team

pytestmark = pytest.mark.django_db

TONE = """
name = "tone"
version = "1"
title = "Tone"

[item]
each = "report"
shows = ["report"]

[[variable]]
name = "tone"
unit = "report"
question = "How does it sound?"
codes = ["warm", "cold"]

[guideline]
en = "Read it aloud."
"""
REPORTS = [{"id": "x", "text": "Ada."}, {"id": "y", "text": "Bo."}]
QUERY = {"id": "q", "text": "Who?", "reports": REPORTS}


def run(*words: str) -> str:
    said = io.StringIO()
    call_command(*words, stdout=said)
    return said.getvalue()


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps(QUERY), "utf-8")
    load_batch([path], "tones")
    return Batch.objects.get(name="tones")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tone.toml"
    path.write_text(TONE, "utf-8")
    return path


def campaign(name: str, batch: Batch, protocol: str = "tone", team: Team | None = None) -> Campaign:
    return create_campaign(name, protocol, batch, Design(), team=team).campaign


def test_check_says_what_a_file_would_ask_and_stores_nothing(file: Path, batch: Batch) -> None:
    said = run("protocol", "check", str(file), "--batch", "tones")
    assert "tone 1: 1 variable, 0 measures. The file is right." in said
    assert "It fits 'tones': 2 units of 2 reports." in said
    assert not ProtocolFile.objects.exists()


def test_check_says_why_a_batch_does_not_fit(file: Path, batch: Batch) -> None:
    file.write_text(
        TONE.replace('each = "report"', 'each = "passage"')
        .replace('shows = ["report"]', 'shows = ["passage"]')
        .replace('unit = "report"', 'unit = "passage"')
    )
    said = run("protocol", "check", str(file), "--batch", "tones")
    assert "It does not fit 'tones': It has no passages." in said


def test_a_wrong_file_is_refused_with_each_line(file: Path) -> None:
    file.write_text(TONE.replace("codes", "code"), "utf-8")
    with pytest.raises(CommandError, match=r"tone\.toml, line 14: 'code' is not a key of variable"):
        run("protocol", "add", str(file))
    assert not ProtocolFile.objects.exists()


def test_an_added_protocol_is_a_task_of_campaigns(file: Path, batch: Batch) -> None:
    run("protocol", "add", str(file))
    assert "tone@1  Tone" in run("protocol", "list")
    assert run("protocol", "show", "tone").strip() == TONE.strip()
    mine = campaign("first", batch)
    assert (mine.protocol, mine.protocol_version) == ("tone", "1")
    assert get_protocol(mine).guideline == "Read it aloud."
    assert sorted(Unit.objects.values_list("key", flat=True)) == ["x", "y"]


def test_a_version_that_is_used_never_changes(file: Path, batch: Batch) -> None:
    run("protocol", "add", str(file))
    mine = campaign("first", batch)
    file.write_text(TONE.replace("aloud", "twice"), "utf-8")
    with pytest.raises(CommandError, match="is used by campaign 'first', and the file has changed"):
        run("protocol", "add", str(file))
    with pytest.raises(CommandError, match="is used by campaign 'first', and stays"):
        run("protocol", "delete", "tone@1")
    assert get_protocol(Campaign.objects.get(pk=mine.pk)).guideline == "Read it aloud."
    file.write_text(TONE.replace("aloud", "twice").replace('version = "1"', 'version = "2"'))
    run("protocol", "add", str(file))
    assert get_protocol(campaign("second", batch)).guideline == "Read it twice."
    assert get_protocol(campaign("third", batch, "tone@1")).guideline == "Read it aloud."
    assert get_protocol(Campaign.objects.get(pk=mine.pk)).guideline == "Read it aloud."


def test_a_version_that_nobody_uses_is_replaced_and_deleted(file: Path) -> None:
    run("protocol", "add", str(file))
    run("protocol", "add", str(file))
    file.write_text(TONE.replace("aloud", "twice"), "utf-8")
    run("protocol", "add", str(file))
    (stored,) = ProtocolFile.objects.all()
    assert "twice" in stored.text
    run("protocol", "delete", "tone@1")
    assert not ProtocolFile.objects.exists()


def test_the_names_of_the_site_are_taken(file: Path) -> None:
    file.write_text(TONE.replace('"tone"', '"report-coverage"', 1), "utf-8")
    with pytest.raises(CommandError, match="is a protocol of the site"):
        run("protocol", "add", str(file))


def test_two_teams_may_have_one_name_each(file: Path, batch: Batch) -> None:
    main = Team.objects.get()
    other = Team.objects.create(name="other")
    run("protocol", "add", str(file), "--team", main.name)
    file.write_text(TONE.replace("aloud", "twice"), "utf-8")
    run("protocol", "add", str(file), "--team", "other")
    assert find_task("tone", main).guideline == "Read it aloud."
    assert find_task("tone", other).guideline == "Read it twice."


def test_a_name_that_only_another_team_has_is_unknown(file: Path, batch: Batch) -> None:
    Team.objects.create(name="other")
    run("protocol", "add", str(file), "--team", "other")
    with pytest.raises(ProtocolError, match="no protocol is called 'tone'"):
        find_task("tone", batch.team)
    with pytest.raises(DesignError, match="no protocol is called 'tone'"):
        campaign("first", batch)


def test_the_schema_is_json() -> None:
    assert json.loads(run("protocol", "schema"))["type"] == "object"
