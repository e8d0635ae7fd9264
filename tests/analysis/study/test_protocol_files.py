"""A study whose campaign names a protocol's file: planned, stored once, and protected."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError

from analysis.models import Study
from analysis.study import Key, read_study, stages_of
from analysis.study.status import status_of
from annotation.models import Campaign, ProtocolFile
from datasets.models import Batch, Team
from tests import protocol_cast
from tests.cast import run, write_lines
from tests.protocol_cast import NAME, TEXT, labels_by, write_protocol

pytestmark = pytest.mark.django_db
STUDY = f"""\
[study]
name = "claims"
licence = "CC-BY-4.0"

[batch.bridges]
files = ["bridges.jsonl"]

[campaign.own]
protocol = "{NAME}.toml"
batch = "bridges"
raters_per_item = 2
labels = ["ada.jsonl"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_protocol(tmp_path)
    protocol_cast.write_batch(tmp_path)
    write_lines(tmp_path / "ada.jsonl", labels_by("ada"))
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    return tmp_path


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


def refused(*arguments: object) -> CommandError:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return error.value


def test_a_plan_says_what_the_file_would_add_and_stores_nothing(folder: Path) -> None:
    stage = stages_of(read_study(folder))[Key("campaign", "own")]
    assert [action.words for action in stage.actions] == [
        f"store the protocol {NAME}@1 of {NAME}.toml (3 variables, 1 measure)",
        f"create it ({NAME}@1 over bridges)",
        "import the labels of ada.jsonl",
    ]
    assert refused("plan_study", folder).returncode == 3
    assert not ProtocolFile.objects.exists()


def test_applying_stores_the_file_and_creates_the_campaign_on_it(folder: Path) -> None:
    assert refused("apply_study", folder).returncode == 3
    campaign = Campaign.objects.get()
    assert campaign.protocol_file == ProtocolFile.objects.get()
    assert campaign.items.count() == 6
    before = ProtocolFile.objects.get().pk
    assert refused("apply_study", folder).returncode == 3
    assert ProtocolFile.objects.get().pk == before


def test_a_stored_study_has_its_status_without_the_file(folder: Path) -> None:
    refused("apply_study", folder)
    (folder / f"{NAME}.toml").unlink()
    (stage,) = (s for s in status_of(Study.objects.get()).stages if s.key.kind == "campaign")
    assert stage.state == "waiting"
    assert stage.counts == {"items": 6, "asked": 12, "answered": 6}


def test_a_batch_is_derived_by_the_codes_of_a_file_beside_the_study(folder: Path) -> None:
    write_lines(folder / "ada.jsonl", [*labels_by("ada"), *labels_by("ben")])
    derived = """
[batch.useful]
rule = "by-codes"
from = ["own"]
set = { keep = "use>=2.5,faults!=rude" }
"""
    (folder / "study.toml").write_text(STUDY + derived, "utf-8")
    run("apply_study", folder)
    counts = Batch.objects.get(name="useful").lineage.counts
    assert counts["kept"]["reports"] == 2
    assert counts["dropped"]["reports"] == {"not use>=2.5": 2, "not faults!=rude": 2}
    change(folder / "study.toml", "{ keep", "{ kept")
    assert "by-codes has no option 'kept=use>=2.5'" in str(refused("plan_study", folder))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('"Cited claims"\nsummary', '"Claims"\nsummary', "was created with another file of its"),
        ('version = "1"', 'version = "2"', f"has protocol '{NAME}@1', and here it is '{NAME}@2'"),
    ],
)
def test_a_file_changed_after_apply_is_refused_and_changes_nothing(
    folder: Path, before: str, after: str, says: str
) -> None:
    refused("apply_study", folder)
    change(folder / f"{NAME}.toml", before, after)
    for command in ("plan_study", "apply_study"):
        error = refused(command, folder)
        assert error.returncode == 1
        assert str(error).startswith(f"{folder / 'study.toml'}, line 9: campaign 'own'")
        assert says in str(error)
        assert "continues = 'own'" in str(error)
    assert ProtocolFile.objects.get().text == TEXT
    assert Campaign.objects.get().protocol_version == "1"


def test_a_used_version_is_not_replaced_by_another_study(folder: Path) -> None:
    refused("apply_study", folder)
    change(folder / "study.toml", "own]", "other]")
    change(folder / f"{NAME}.toml", "Cited claims", "Claims")
    error = str(refused("plan_study", folder))
    assert error.startswith(f"{folder / 'study.toml'}, line 9: its protocol cannot be stored; ")
    assert f"{folder / f'{NAME}.toml'}, line 2: version 1 of {NAME} is used by campaign" in error
    assert "give it a new version" in error


def test_an_error_in_the_protocol_names_both_files_and_lines(folder: Path) -> None:
    change(folder / f"{NAME}.toml", '"ordinal"', '"ordinl"')
    error = str(refused("plan_study", folder))
    assert error.startswith(f"{folder / 'study.toml'}, line 9: its protocol has errors; correct")
    assert f"{folder / f'{NAME}.toml'}, line 15: variable.level is 'ordinl'; did you" in error
    change(folder / "study.toml", f"{NAME}.toml", "elsewhere.toml")
    assert "line 9: there is no file elsewhere.toml" in str(refused("plan_study", folder))


def test_an_unknown_protocol_is_named_with_its_line_and_what_it_may_be(folder: Path) -> None:
    change(folder / "study.toml", f'"{NAME}.toml"', '"report-covers"')
    error = str(refused("plan_study", folder))
    assert "study.toml, line 9: no protocol is called 'report-covers'; did you mean" in error


@pytest.mark.every_case
@pytest.mark.parametrize("name", [NAME, f"{NAME}@1"])
def test_a_study_may_name_a_protocol_that_the_team_has(folder: Path, name: str) -> None:
    change(folder / "study.toml", f'"{NAME}.toml"', f'"{name}"')
    assert f"line 9: no protocol is called '{name}'" in str(refused("plan_study", folder))
    run("protocol", "add", folder / f"{NAME}.toml")
    assert refused("apply_study", folder).returncode == 3
    assert "Nothing to do" in run("plan_study", folder)
    assert Campaign.objects.get().protocol_file == ProtocolFile.objects.get()


def test_two_teams_apply_studies_on_protocols_of_one_name(folder: Path) -> None:
    for name in ("bridges", "main"):
        Team.objects.create(name=name)
    assert "which team, by --team" in str(refused("plan_study", folder))
    refused("apply_study", folder, "--team", "bridges")
    text = (folder / "study.toml").read_text("utf-8")
    for name in ("own", "claims", "bridges]"):
        text = text.replace(name, f"their-{name}")
    (folder / "study.toml").write_text(text.replace('"bridges"', '"their-bridges"'), "utf-8")
    change(folder / f"{NAME}.toml", '"Cited claims"', '"Their claims"')
    change(folder / "study.toml", "cited-their-claims", NAME)
    refused("apply_study", folder, "--team", "main")
    titles = set(Campaign.objects.values_list("team__name", "protocol_file__title"))
    assert titles == {("bridges", "Cited claims"), ("main", "Their claims")}
