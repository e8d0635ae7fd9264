"""The release of a study on a team's protocol: it carries the file, and is verified by it alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from analysis.release.verify import verify
from tandem.protocols.protocol_file import read_path
from tests import protocol_cast
from tests.analysis.release.conftest import FREEZE
from tests.analysis.release.test_verify import flip, sign_again, verified_without_django
from tests.cast import run, write_lines
from tests.protocol_cast import GUIDELINE, NAME, TEXT, labels_by, write_protocol

STUDY = f"""\
[study]
name = "claims"
licence = "CC-BY-4.0"

[batch.bridges]
files = ["bridges.jsonl"]

[judge.bot]
backend = "scripted"
answers = "bot.jsonl"

[campaign.own]
protocol = "{NAME}.toml"
batch = "bridges"
raters_per_item = 2
labels = ["people.jsonl"]
judges = ["bot"]
"""
CARRIED = f"protocols/{NAME}-1"


@pytest.fixture(scope="module")
def written(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_protocol(folder)
    protocol_cast.write_batch(folder)
    write_lines(folder / "people.jsonl", [*labels_by("ada"), *labels_by("ben", 1)])
    write_lines(folder / "bot.jsonl", labels_by("bot", 2))
    (folder / "study.toml").write_text(STUDY, "utf-8")
    with django_db_blocker.unblock(), transaction.atomic():
        run("apply_study", folder)
        # What is released is what was stored, whatever the folder holds by now.
        (folder / "claims.md").write_text("Something else.", "utf-8")
        (folder / "study.toml").write_text(STUDY.replace(f"{NAME}.toml", f"{NAME}@1"), "utf-8")
        run("freeze_study", folder, "--output", folder / "release", *FREEZE)
        transaction.set_rollback(True)
    return folder / "release"


@pytest.fixture
def release(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "release"))


def test_the_release_carries_the_protocol_as_it_was_stored(release: Path) -> None:
    assert (release / CARRIED / f"{NAME}.toml").read_text("utf-8") == TEXT
    assert (release / CARRIED / "claims.md").read_text("utf-8") == GUIDELINE
    assert f"{CARRIED}/claims.md" in (release / "SHA256SUMS").read_text("utf-8")
    facts = json.loads((release / "release.json").read_text("utf-8"))["campaigns"][0]
    assert facts["protocol_file"] == f"{CARRIED}/{NAME}.toml"
    assert [(v["name"], v["level"], v["several"]) for v in facts["variables"]] == [
        ("support", "ordinal", False),
        ("faults", "nominal", True),
        ("use", "interval", False),
    ]


def test_its_labels_numbers_and_measures_are_verified(release: Path) -> None:
    found = verify(release)
    assert found.wrong == []
    assert f"the protocol {NAME} 1 of campaign own" in found.checked
    assert any("values of measures of campaign own" in line for line in found.checked)
    measures = json.loads((release / "campaigns/own/measures.json").read_text("utf-8"))
    assert set(measures["measures"]["weighted-recall"]["systems"]) == {"plain", "wide"}
    report = json.loads((release / "campaigns/own/report.json").read_text("utf-8"))
    assert report["variables"]["support"]["measurement"] == "ordinal"


@pytest.mark.long
def test_it_is_verified_without_django(release: Path) -> None:
    said = verified_without_django(release)
    assert f"the protocol {NAME} 1 of campaign own" in said


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (f"{NAME}.toml", "full = 1 }", "full = 0.9 }"),
        ("claims.md", "Read the", "Skip the"),
    ],
)
def test_a_changed_protocol_is_named_even_under_new_checksums(
    release: Path, name: str, before: str, after: str
) -> None:
    flip(release / CARRIED / name, before, after)
    assert f"{CARRIED}/{name} differs from its checksum" in verify(release).wrong
    sign_again(release)
    (wrong,) = verify(release).wrong
    assert wrong.startswith(f"campaign own: its protocol {CARRIED}/{NAME}.toml: is not the file")


def hide(release: Path, name: str = f"{NAME}.toml") -> None:
    """Sign the protocol's own digest as well, as somebody would who knows the form."""
    facts = json.loads((release / "release.json").read_text("utf-8"))
    facts["campaigns"][0]["protocol_sha256"] = read_path(release / CARRIED / name).digest
    (release / "release.json").write_text(json.dumps(facts), "utf-8")
    sign_again(release)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("full = 1 }", "full = 0.9 }", "weighted-recall of plain by"),
        ('["none", "partial", "full"]', '["full", "partial", "none"]', "support: codes is ['none'"),
        ('level = "ordinal"', 'level = "nominal"', "support: level is 'ordinal' in release.json"),
        ("several = true", "several = false", "faults: several is True in release.json"),
        ("to = 10, step = 2.5", "to = 5, step = 2.5", "use of unit "),
    ],
)
def test_what_follows_from_a_changed_protocol_is_compared_too(
    release: Path, before: str, after: str, says: str
) -> None:
    flip(release / CARRIED / f"{NAME}.toml", before, after)
    hide(release)
    assert any(says in line for line in verify(release).wrong), verify(release).wrong


def test_a_missing_protocol_is_named(release: Path) -> None:
    (release / CARRIED / f"{NAME}.toml").unlink()
    assert f"campaign own: its protocol {CARRIED}/{NAME}.toml: is missing; restore the file" in (
        verify(release).wrong
    )


def test_a_release_names_no_file_outside_of_itself(release: Path, tmp_path: Path) -> None:
    write_protocol(tmp_path)
    flip(release / "release.json", f"{CARRIED}/{NAME}.toml", f"../{NAME}.toml")
    sign_again(release)
    (wrong,) = verify(release).wrong
    assert "is not in the release; name a file of it" in wrong


def test_a_flipped_label_is_found_as_in_any_release(release: Path) -> None:
    flip(release / "campaigns/own/labels.jsonl", '"value": "partial"', '"value": "full"')
    sign_again(release)
    assert any("support of unit" in line for line in verify(release).wrong)


def test_a_label_that_is_no_code_of_the_protocol_is_named(release: Path) -> None:
    for name in ("labels.jsonl", "labels-wide.csv", "responses.jsonl"):
        path = release / "campaigns/own" / name
        path.write_text(path.read_text("utf-8").replace("2.5", "2.25"), "utf-8")
    sign_again(release)
    said = [line for line in verify(release).wrong if "does not allow" in line]
    assert said
    assert "is '2.25', which" in said[0]
