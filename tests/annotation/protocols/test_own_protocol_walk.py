"""A campaign on a team's protocol goes the way of every other: labels, gold, exports, checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.models import Campaign, Label, ProtocolFile
from audit.sealed.checking import SealedCounts, find_changes
from tests import protocol_cast
from tests.cast import campaign_of, exported, run, write_lines
from tests.protocol_cast import NAME, labels_by, write_protocol

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A campaign `c` that two people and a judge have labelled."""
    run("protocol", "add", write_protocol(tmp_path))
    run("load_batch", protocol_cast.write_batch(tmp_path), "--name", "b")
    campaign_of(NAME, "--raters-per-item", "2")
    people = [*labels_by("ada"), *labels_by("ben", 1)]
    run("import_labels", write_lines(tmp_path / "people.jsonl", people), "--campaign", "c")
    answers = write_lines(tmp_path / "bot.jsonl", labels_by("bot", 2))
    run("create_judge", "bot", "--backend", "scripted", "--answers", answers)
    run("run_judge", "--judge", "bot", "--campaign", "c")
    return tmp_path


def values(campaign: str) -> set[tuple[str, ...]]:
    rows = Label.objects.filter(response__assignment__item__campaign__name=campaign)
    names = ("unit__kind", "unit__key", "variable", "value", "response__assignment__rater__name")
    return set(rows.values_list(*names))


def test_every_unit_has_a_label_of_each_rater(folder: Path) -> None:
    assert len(values("c")) == 3 * 6 * (3 + 2)
    assert {value for *_, variable, value, _ in values("c") if variable == "faults"} == {
        "[]",
        '["wordy"]',
        '["wordy", "rude"]',
    }


def test_the_site_and_its_audit_trail_are_sound(folder: Path) -> None:
    assert run("check_invariants") == "The invariants hold.\n"
    run("seal_audit")
    run("check_audit")
    ProtocolFile.objects.update(title="Another")
    (found,) = find_changes(SealedCounts())
    assert "title" in found.wrong


@pytest.mark.every_case
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_exported_labels_are_imported_again_unchanged(folder: Path, form: str) -> None:
    campaign_of(NAME, "--raters-per-item", "2", name="again")
    path = folder / f"labels.{form}"
    run("export", "--campaign", "c", "--what", "labels", "--format", form, "--output", path)
    run("import_labels", path, "--campaign", "again")
    assert {each[:4] for each in values("again")} == {each[:4] for each in values("c")}
    assert len(values("again")) == len(values("c"))


def test_label_studio_takes_the_labels_there_and_back(folder: Path) -> None:
    tasks = exported("c", "label-studio")
    assert {task["meta"]["protocol"] for task in tasks} == {NAME}
    campaign_of(NAME, "--raters-per-item", "2", name="again")
    path = folder / "tasks.json"
    path.write_text(json.dumps(tasks), "utf-8")
    run("import_labels", path, "--campaign", "again")
    assert {each[:4] for each in values("again")} == {each[:4] for each in values("c")}


def test_a_manifest_names_protocol_version_and_digest(folder: Path) -> None:
    run("export", "--campaign", "c", "--what", "dataset", "--output", folder / "out")
    facts = json.loads((folder / "out" / "manifest.json").read_text("utf-8"))["campaign"]
    stored = ProtocolFile.objects.get()
    assert (facts["protocol"], facts["protocol_version"]) == (NAME, "1")
    assert facts["protocol_sha256"] == stored.digest
    said = json.loads(run("judge_manifest", "--judge", "bot", "--campaign", "c"))
    assert stored.digest in json.dumps(said)
    assert "Cited claims" in (folder / "out" / "README.md").read_text("utf-8")


def test_known_answers_of_an_item_are_gold(folder: Path) -> None:
    lines = [line for line in labels_by("known") if line["item"] == "plain-1"]
    campaign_of(NAME, name="fresh")
    path = write_lines(folder / "known.jsonl", lines)
    assert "5 gold answers to 1 gold item" in run(
        "set_known", path, "--campaign", "fresh", "--use", "gold"
    )


def test_disputes_name_units_that_people_answered_differently(folder: Path) -> None:
    said = run("disputes", "--campaign", "c", "--variable", "support")
    assert said == "Campaign 'c': 18 units to decide, 0 decided.\n"


def test_a_new_version_continues_with_the_answers_given(folder: Path) -> None:
    newer = protocol_cast.TEXT.replace('version = "1"', 'version = "2"')
    run("protocol", "add", write_protocol(folder, newer))
    campaign_of(NAME, "--raters-per-item", "2", "--continues", "c", name="c2")
    campaign = Campaign.objects.get(name="c2")
    assert campaign.protocol_version == "2"
    assert values("c2") == values("c")


def test_options_and_rules_of_other_protocols_are_refused(folder: Path) -> None:
    with pytest.raises(CommandError, match="prerequisite"):
        campaign_of(NAME, "--option", "prerequisite=c", name="second")
    with pytest.raises(CommandError, match=f"which is {NAME}; use by-codes"):
        run("derive_batch", "d", "--batch", "b", "--from", "c", "--rule", "judged-passages")


def test_report_measures_and_status_follow_from_the_file(folder: Path) -> None:
    report = json.loads(run("report", "--campaign", "c", "--resamples", "20"))
    levels = {name: of["measurement"] for name, of in report["variables"].items()}
    assert levels == {"support": "ordinal", "faults": "set", "use": "interval"}
    assert "weighted-recall" in run("measures", "--campaign", "c", "--resamples", "20")
    assert "Cited claims" in run("show_campaign", "c")
    assert run("progress", "c")
